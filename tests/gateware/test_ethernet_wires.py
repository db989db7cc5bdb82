"""The wires of a board with Ethernet under Icarus, against a PHY and packets from elsewhere."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from mrfhw.fpga.tools import find_tool, run_step
from mrfhw.generation.verilog import TOP
from mrfhw.machine.config import Config
from mrfhw.simulation.compiled import PINS, ethernet_text
from sim.support.runner import run_bench


@pytest.mark.tools
@pytest.mark.claim("DatagramReceiver", "whole and undamaged datagrams of one frame and no others, however long")
@pytest.mark.claim("EthernetTop",
    "ARP, ping and UDP as another's PHY and packets expect them; the unmodified driver over UDP gives the model's labels and log")
def test_wires(tmp_path: Path) -> None:
    """The core's text, as LiteX writes it, never comes to rest in Icarus; Yosys writes the same without blocks that wake each
    other."""
    config = Config.preset("smallest")
    (tmp_path / "board.v").write_text(ethernet_text(config, log_bytes=2048))
    (tmp_path / "board.ys").write_text("read_verilog board.v\nproc\nopt_clean\nwrite_verilog -noattr settled.v\n")
    run_step(find_tool("yosys"), ["-q", "-l", "board.log", "board.ys"], tmp_path)
    run_bench(SimpleNamespace(config=config), TOP, "sim.benches.bench_ethernet",
              verilog="`timescale 1ns / 1ps\n" + (tmp_path / "settled.v").read_text() + PINS.read_text())
