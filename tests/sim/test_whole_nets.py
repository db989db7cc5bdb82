"""Nets that are driven as a whole, for the sake of Icarus."""

from __future__ import annotations

import re

import pytest

from mrfhw.generation.verilog import verilog_text
from mrfhw.machine.config import Config
from sim.support.whole_nets import whole_nets

pytestmark = pytest.mark.claim(
    "benches", "parts of a net that assignments drive are put together, and nothing else of the text changes")

TEXT = """\
module top(a, b, y);
  input [3:0] a;
  input [3:0] b;
  output [7:0] y;
  wire [7:0] y;
  wire [5:0] \\net.left ;
  wire [4:0] shared;
  assign y[6:0] = a + b;
  assign { \\net.left [1:0], y[7] } = 3'h5;
  assign \\net.left [5:2] = a;
  assign shared[3:0] = b;
  other of_shared (.one(shared[4]));
endmodule
"""
WANTED = """\
module top(a, b, y);
  input [3:0] a;
  input [3:0] b;
  output [7:0] y;
  wire [7:0] y;
  wire [5:0] \\net.left ;
  wire [4:0] shared;
  wire [6:0] piece_7 = a + b;
  wire [2:0] piece_8 = 3'h5;
  wire [3:0] piece_9 = a;
  assign shared[3:0] = b;
  other of_shared (.one(shared[4]));
  assign y = { piece_8[0:0], piece_7[6:0] };
  assign \\net.left = { piece_9[3:0], piece_8[2:1] };
endmodule
"""


def test_parts_are_put_together() -> None:
    """Each from the highest bit on; not those of a net that another module drives a part of."""
    assert whole_nets(TEXT + TEXT.replace("top", "again")) == WANTED + WANTED.replace("top", "again")
    assert whole_nets(WANTED) == WANTED


@pytest.mark.tools
@pytest.mark.parametrize("changes", [{}, {"mesh_cols": 2, "spus": 2, "lmem_banks": 4}])
def test_a_machine_has_no_others(changes: dict[str, int]) -> None:
    text = verilog_text(Config.preset("smallest", **changes))
    parts = re.compile(r"^  assign (\{|[^=]*\] =)", re.MULTILINE)
    assert len(parts.findall(text)) > 100
    assert not parts.findall(whole_nets(text))
