"""cocotb benches, one module a component; `sim.support.runner.run_bench` runs them."""
