"""The picture: label evaluations a second over label evaluations a byte of log, under the roofs of lanes and links."""

from __future__ import annotations

from typing import Any

from mrfhw.cost.links import BoardLink
from mrfhw.fpga.boards import BOARDS
from mrfhw.gateware.board.sdram import DATA_BITS
from studies.bench.rows import Row
from studies.report import COLOURS

__all__ = ["draw"]

_BOARD = BOARDS["ulx3s-85f"]
assert _BOARD.link_hz is not None

# Bytes of log a second at most: through the link of that board and into its SDRAM, and through two that boards may have, of which
# the 480 Mbit/s of USB leave so much to what they carry.
LINKS = {f"serial port of {_BOARD.baud / 1e6:g} Mbaud": BoardLink(baud=_BOARD.baud).bytes_per_s, "USB 2.0": 40e6,
         "gigabit Ethernet": BoardLink("ethernet").bytes_per_s,
         f"SDRAM, {DATA_BITS} bits at {_BOARD.link_hz / 1e6:g} MHz": _BOARD.link_hz * DATA_BITS / 8}


def draw(figure: Any, rows: list[Row]) -> None:
    """Builds with a log as points, at their own rate and at what their link lets through; hollow at the rate that subsets replace.
    All others as lines across."""
    axes = figure.add_subplot()
    logged = [row for row in rows if row.log_bytes]
    intensities = [1 / row.log_bytes for row in logged if row.log_bytes] or [100.0]
    left, right = min(intensities) / 8, max(intensities) * 8
    for number, (name, bytes_per_s) in enumerate(LINKS.items()):
        axes.plot([left, right], [left * bytes_per_s, right * bytes_per_s], color="0.6", linewidth=1,
                  linestyle=("-", "--", "-.", ":")[number], label=f"log through {name}")
    for row, colour in zip(logged, COLOURS * len(logged), strict=False):
        assert row.log_bytes is not None
        at = 1 / row.log_bytes
        axes.plot([at], [row.labels_per_s], "o", color=colour, label=row.name)
        if row.replaced is not None:
            axes.plot([at, at], [row.labels_per_s, row.replaced], color=colour, linewidth=1, linestyle=":")
            axes.plot([at], [row.replaced], "o", color=colour, markerfacecolor="none")
        if row.logged is not None and row.logged < row.labels_per_s:
            axes.plot([at, at], [row.logged, row.labels_per_s], color=colour, linewidth=1)
            axes.plot([at], [row.logged], "v", color=colour)
    low = min((row.logged or row.labels_per_s for row in rows), default=1e6) / 3
    for row in rows:
        if row.log_bytes is None:
            axes.axhline(row.labels_per_s, color="#444444" if "published" in row.status else COLOURS[0], linewidth=0.8,
                         linestyle=":")
            axes.annotate(row.name, (right, row.labels_per_s), fontsize=7, ha="right", va="bottom")
    axes.set(xscale="log", yscale="log", xlim=(left, right), xlabel="label evaluations a byte of log",
             ylabel="label evaluations a second")
    axes.set_ylim(bottom=low)
    axes.legend(fontsize=7, ncols=2, loc="upper center", bbox_to_anchor=(0.5, -0.12), frameon=False)
