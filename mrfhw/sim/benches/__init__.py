"""cocotb benches, one module a component; `mrfhw.sim.support.runner.run_bench` runs them. Not installed."""
