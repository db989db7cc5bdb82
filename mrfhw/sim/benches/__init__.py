"""cocotb benches, one module a component; `mrfhw.sim.support.runner.run_bench` runs them. Not installed."""

import sys

if "cocotb" in sys.modules and "scipy" not in sys.modules:
    # numba would import it for linear algebra, which no bench has and which takes a third of most benches' time.
    sys.modules["scipy"] = None  # type: ignore[assignment]
