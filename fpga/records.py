"""build.json: what a build came to."""

from __future__ import annotations

import json
import platform
from pathlib import Path
from typing import Any

from mrfhw import __version__
from mrfhw.config import Config
from mrfhw.fpga.boards import Board, BuildError
from mrfhw.fpga.flow import Placed
from mrfhw.fpga.rates import Workload, link_bytes_per_s
from mrfhw.gateware.sdram import DATA_BITS, SdramTiming

__all__ = ["RECORD", "read_record", "record_of"]

RECORD = "build.json"
STATUS = "placed and routed; not run on a board"


def record_of(board: Board, config: Config, clock_hz: float, baud: int, placed: Placed, work: Workload) -> dict[str, Any]:
    """The record of a build, ready for JSON. Rates are those of the fastest clock that timing analysis allows."""
    fmax = placed.best.slowest
    peak = config.lanes * fmax * work.utilization
    link = link_bytes_per_s(baud)
    through_link = link / work.log_bytes_per_evaluation if work.log_bytes_per_evaluation else float("inf")
    needed = peak * work.log_bytes_per_evaluation
    return {
        "mrfhw": __version__, "status": STATUS, "board": board.name, "device": board.device, "design":
        f"{config.spes}x{config.spus}", "digest": config.digest, "config": config.to_dict(),
        "clock_hz": clock_hz, "baud": baud, "timing_met": placed.best.met, "fmax_hz": placed.best.fmax_hz,
        "resources": {kind: {"used": used, "available": placed.available[kind],
                             "share": round(used / placed.available[kind], 4)} for kind, used in placed.used.items()},
        "seeds": [{"seed": a.seed, "fmax_hz": a.fmax_hz, "timing_met": a.met} for a in placed.attempts],
        "seed": placed.best.seed, "lanes": config.lanes, "utilization": work.utilization, "labels_per_s": peak,
        "labels_per_s_at_clock": config.lanes * clock_hz * work.utilization,
        "sites": config.sites, "labels": config.max_labels,
        "log": {"scene": f"stereo {work.cols}x{work.rows}, {work.labels} labels",
                "bytes_per_label_evaluation": work.log_bytes_per_evaluation, "link_bytes_per_s": link,
                "needed_bytes_per_s": needed, "labels_per_s": min(peak, through_link),
                "binds": "link" if through_link < peak else "machine",
                "memory": _memory(fmax, needed, link, peak) if board.sdram else None},
        "tools": {tool.name: tool.version for tool in placed.tools},
        "steps": [{"tool": s.tool, "seconds": round(s.seconds, 1), "peak_bytes": s.peak_bytes} for s in placed.steps],
        "seconds": round(sum(s.seconds for s in placed.steps), 1), "peak_bytes": max(s.peak_bytes for s in placed.steps),
        "machine": f"{platform.machine()}, Python {platform.python_version()}", "bitstream": placed.bitstream.name,
    }


def _memory(fmax: float, needed: float, link: float, peak: float) -> dict[str, Any]:
    """What the board's SDRAM lets through until it is full, at the machine's fastest clock.

    bytes: it holds. bytes_per_s: it takes, less what is read back at the link's rate. labels_per_s: until it is full.
    seconds: until then, from empty; None where the link alone keeps up.
    """
    timing = SdramTiming()
    size = 1 << timing.address_bits
    takes = timing.beats_per_cycle(round(fmax)) * fmax * DATA_BITS / 8 - link
    rate = min(needed, takes)
    return {"bytes": size, "bytes_per_s": takes, "labels_per_s": peak * rate / needed if needed else peak,
            "binds": "memory" if takes < needed else "machine", "seconds": size / (rate - link) if rate > link else None}


def read_record(path: Path) -> dict[str, Any]:
    """A record that `mrfhw build` wrote, or BuildError."""
    try:
        record = json.loads(path.read_text())
    except OSError as error:
        raise BuildError(f"{path} cannot be read ({error.strerror}): give a {RECORD} that mrfhw build wrote") from None
    except ValueError as error:
        raise BuildError(f"{path} is no record of a build ({error}): give a {RECORD} that mrfhw build wrote") from None
    if not isinstance(record, dict) or "labels_per_s" not in record:
        raise BuildError(f"{path} is no record of a build (it has no labels_per_s): give a {RECORD} that mrfhw build wrote")
    return record
