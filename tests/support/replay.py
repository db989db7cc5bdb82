"""A machine's Verilog under Icarus, its bus driven from a list: quick to make, for machines that few problems run on."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np

from mrfhw.field.result import Result
from mrfhw.generation.verilog import TOP, verilog_text
from mrfhw.machine.address_map import AddressMap
from mrfhw.machine.config import Config
from mrfhw.machine.registers import CONTROL_BITS, STATUS_BITS, register
from mrfhw.placement.placement import Placement
from mrfhw.sessions.driver import Driver
from mrfhw.sessions.readout import read_result

__all__ = ["replay"]

_WRITE, _READ, _WAIT = range(3)
_LIMIT = 200_000  # cycles of a simulation

_BENCH = """
module replay;
  reg clk = 0, rst = 1, cyc = 0, we = 0;
  reg [{address}-1:0] adr = 0;
  reg [31:0] dat_w = 0;
  wire [31:0] dat_r;
  wire ack, err, tvalid, tlast;
  wire [{line}-1:0] tdata;
  reg [65:0] commands [0:{count}-1];
  integer i;
  {top} dut (.clk(clk), .rst(rst), .bus_cyc(cyc), .bus_stb(cyc), .bus_we(we), .bus_adr(adr), .bus_dat_w(dat_w),
    .bus_dat_r(dat_r), .bus_ack(ack), .bus_err(err),
    .lines_tdata(tdata), .lines_tvalid(tvalid), .lines_tlast(tlast), .lines_tready(1'b1));
  always #5 clk = ~clk;
  always @(posedge clk) if (tvalid && !rst) $display("line %h", tdata);
  task access;
    begin
      cyc <= 1;
      @(posedge clk);
      while (!ack && !err) @(posedge clk);
      cyc <= 0;
      if (err) begin $display("refused %h", adr); $finish; end
      @(posedge clk);
    end
  endtask
  initial begin
    $readmemh("commands", commands);
    repeat (3) @(posedge clk);
    rst <= 0;
    @(posedge clk);
    for (i = 0; i < {count}; i = i + 1) begin
      we <= commands[i][65:64] == {write};
      adr <= commands[i][63:32];
      dat_w <= commands[i][31:0];
      access;
      if (commands[i][65:64] == {wait_}) while (dat_r[{busy}]) access;
      if (commands[i][65:64] == {read}) $display("read %h", dat_r);
    end
    $display("end");
    $finish;
  end
  initial begin #{limit} $display("late"); $finish; end
endmodule
"""


class _Script:
    """A chip (`mrfhw.sessions.driver.Chip`) that keeps its accesses, or answers them with what was read."""

    def __init__(self, words: list[int] | None = None):
        self.commands: list[tuple[int, int, int]] = []
        self.words = words

    def write(self, addresses: np.ndarray, data: np.ndarray) -> None:
        self.commands += [(_WRITE, int(a), int(d)) for a, d in zip(addresses, data, strict=True)]

    def read(self, addresses: np.ndarray) -> np.ndarray:
        self.commands += [(_READ, int(a), 0) for a in addresses]
        if self.words is None:
            return np.zeros(len(addresses), np.uint32)
        taken, self.words[:len(addresses)] = np.array(self.words[:len(addresses)], np.uint32), []
        return taken


def _commands(placement: Placement) -> list[tuple[int, int, int]]:
    """Load, start, wait for the end, read back."""
    script = _Script()
    driver = Driver(placement.config, script)
    driver.load(placement)
    control, status = register("control"), register("status")
    script.commands += [(_WRITE, control, 1 << CONTROL_BITS["start"]), (_WAIT, status, 0)]
    driver.lmem(placement)
    driver.counters()
    return script.commands


def replay(config: Config, placements: list[Placement], directory: Path) -> list[Result]:
    """What the machine of `config` makes of the problems, one after the other, its log always taken.

    Raises AssertionError where the machine refuses an access or does not end.
    """
    commands = [command for p in placements for command in _commands(p)]
    (directory / "commands").write_text("\n".join(f"{kind << 64 | address << 32 | data:x}" for kind, address, data in commands))
    (directory / "replay.v").write_text(verilog_text(config) + _BENCH.format(
        address=AddressMap(config).address_bits, line=config.line_bits, count=len(commands), top=TOP, write=_WRITE, wait_=_WAIT,
        read=_READ, busy=STATUS_BITS["busy"], limit=10 * _LIMIT))
    subprocess.run(["iverilog", "-g2012", "-s", "replay", "-o", "replay.vvp", "replay.v"], cwd=directory, check=True)
    out = subprocess.run(["vvp", "-n", "replay.vvp"], cwd=directory, check=True, capture_output=True, text=True).stdout.split("\n")
    rows = [row.split() for row in out if row]
    assert rows[-1] == ["end"], rows[-1]
    words = [int(row[1], 16) for row in rows if row[0] == "read"]
    results, at = [], 0
    for p in placements:
        lines = b""
        # The log of a run comes before the first word that is read back.
        while rows[at][0] == "line":
            lines += int(rows[at][1], 16).to_bytes(config.line_bits // 8, "little")
            at += 1
        while at < len(rows) and rows[at][0] == "read":
            at += 1
        driver = Driver(config, _Script(words))
        lmem = driver.lmem(p)
        results.append(read_result(driver.counters(), p, lines, lmem, wall=0, backend="icarus"))
    return results
