"""cocotb benches, one module a component; `mrfhw.sim.runner.run_bench` runs them."""
