"""The picture: label evaluations a second over label evaluations a byte of log, under the roofs of lanes and links."""

from __future__ import annotations

from typing import Any

from mrfhw.bench.rows import Row
from mrfhw.reproduce.report import COLOURS

__all__ = ["draw"]

# Bytes of log a second that a link carries at most; what a link's own frames take is left out.
LINKS = {"serial port of 3 Mbaud": 0.3e6, "USB 2.0": 40e6, "Gigabit Ethernet": 118e6, "SDRAM, 16 bits at 48 MHz": 96e6}


def draw(figure: Any, rows: list[Row]) -> None:
    """Builds with a log as points, at their own rate and at what their link lets through; all others as lines across."""
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
