"""Builds side by side, and beside the published prototype."""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from mrfhw.cost.links import BoardLink, LogMemory
from mrfhw.cost.picture import PICTURE, PictureTime
from mrfhw.cost.seconds import NO_DELAYS, Delays
from mrfhw.fpga.boards import BOARDS
from mrfhw.fpga.records import interface_of, read_record
from mrfhw.machine.config import Config, ConfigError
from mrfhw.machine.link_protocol import OUTSTANDING, ethernet_words
from mrfhw.machine.registers import INTERFACE_VERSION
from mrfhw.system.errors import ProblemError

__all__ = ["PUBLISHED", "RESULTS", "cell_of", "clocks", "critical_path", "kept_clock", "kept_record", "kept_records", "link_of",
           "machine_path", "markdown", "picture_of", "pictures", "seed_range", "table", "with_picture"]

RESULTS = Path(__file__).parent / "results"

# The cells that place and route counts as logic, block memory and multipliers.
_KINDS = {
    "logic": ("TRELLIS_COMB", "ICESTORM_LC", "LUT4", "ALM"),
    "memory": ("DP16KD", "ICESTORM_RAM", "BSRAM", "M20K"),
    "dsp": ("MULT18X18D", "ICESTORM_DSP", "MULT18X18", "DSP"),
}

# Table 3.3 of the published design: adaptive logic modules, M20K blocks and DSP blocks of an Arria 10 GX; labels/s are
# lanes x clock.
_ARRIA = {"ALM": 427_200, "M20K": 2_713, "DSP": 1_518}
_PAPER = (("16x1", 182_690, 1_376, 160, 185e6, 2.96e9), ("16x2", 247_815, 1_545, 320, 146e6, 4.672e9))
PUBLISHED: list[dict[str, Any]] = [
    {"board": "published prototype", "device": "Arria 10 GX", "status": "published, run on a board", "design": design,
     "lanes": round(rate / clock), "sites": 1 << 18, "labels": 64, "machine_fmax_hz": clock, "labels_per_s": rate,
     "resources": {kind: {"used": used, "available": most, "share": round(used / most, 4)}
                   for (kind, most), used in zip(_ARRIA.items(), (alm, memory, dsp), strict=True)}}
    for design, alm, memory, dsp, clock, rate in _PAPER]

_COLUMNS = ("board", "device", "design", "labels", "sites", "logic", "block memories", "multipliers", "fmax MHz", "M labels/s",
            "M labels/s with the log over the link", "clock MHz", "picture s", "effective samples/s", "status")


def kept_records(paths: Iterable[Path] = ()) -> list[dict[str, Any]]:
    """The records at the paths; without any, those of `RESULTS` by board and lanes."""
    given = list(paths)
    records = [read_record(path) for path in given or sorted(RESULTS.glob("*.json"))]
    return records if given else sorted(records, key=lambda record: (-record["lanes"], record["board"]))


def kept_record(board: str, config: Config) -> dict[str, Any] | None:
    """The kept build of the machine for a board, the one of the fastest clock; None where none is kept."""
    return max((record for record in kept_records() if record["board"] == board and Config.from_dict(record["config"]) == config),
               key=lambda record: float(record["clock_hz"]), default=None)


def kept_clock(board: str, config: Config) -> float | None:
    """Clock in Hz that the machine has in the kept build of it for a board, as its PLL makes it; None where none is kept."""
    found = kept_record(board, config)
    return None if found is None else float(found["clock_hz"])


def picture_of(record: dict[str, Any], delays: Delays = NO_DELAYS) -> PictureTime | str:
    """The time of a picture on a build's machine at the clock that its bitstream has; or why there is none."""
    log = record.get("log") or {}
    carried = log.get("link_bytes_per_s")
    if not carried or "config" not in record:
        return "its record does not say what its link carries" if "config" in record else "its record has no machine"
    if min(carried, record["clock_hz"]) <= 0:
        return "its clock or its link has no rate"
    link = link_of(record)
    if link is None:
        return "its record does not say what its link carries"
    try:
        config = Config.from_dict(record["config"])
    except (ConfigError, TypeError, ValueError, AttributeError) as error:
        return f"its machine cannot be read ({error})"
    try:
        found = PictureTime.of(config, record["clock_hz"], link, log.get("bytes_per_label_evaluation"), delays,
                               link_hz=record.get("link_clock_hz") or record["clock_hz"])
    except ProblemError as error:
        return str(error)
    # Subsets of earlier circuits mix otherwise.
    earlier = config.subset_slots > 0 and interface_of(record) != INTERFACE_VERSION
    return replace(found, effective=None) if earlier else found


def link_of(record: dict[str, Any]) -> BoardLink | None:
    """The link that a record says; None for a board that is not known.

    One that does not say it is of its board when that had one request outstanding.
    """
    log = record.get("log") or {}
    board, ring, memory = BOARDS.get(record["board"]), log.get("ring_bytes"), log.get("memory")
    held = LogMemory(memory["bytes"], 0.0) if memory else None
    said = record.get("link")
    if said is not None:
        return BoardLink(said["kind"], said["baud"], said["words"], said["response_words"], said["log_bytes"], held,
                         said.get("outstanding") or OUTSTANDING)
    if board is None:
        return None
    words, responses = ethernet_words(OUTSTANDING) if board.ethernet else (board.words, board.response_words)
    kept = replace(board, log_bytes=ring or board.log_bytes, outstanding=OUTSTANDING, words=words, response_words=responses)
    return replace(kept.link(record.get("baud") or board.baud), memory=held)


def with_picture(record: dict[str, Any]) -> dict[str, Any]:
    """The record with the time of a picture: `picture_s`, None where there is none, and what it consists of in `picture`."""
    found = picture_of(record)
    if isinstance(found, str):
        return {**record, "picture_s": None, "picture": {"why_none": found}}
    return {**record, "picture_s": found.seconds, "picture": found.record}


def cell_of(record: dict[str, Any], kind: str) -> tuple[str, int] | None:
    """What a record calls its "logic", "memory" or "dsp" cells, and how many it uses."""
    return next(((name, int(record["resources"][name]["used"])) for name in _KINDS[kind] if name in record["resources"]), None)


def _cell(record: dict[str, Any], kind: str) -> str:
    found = cell_of(record, kind)
    return f"{found[1]} {found[0]} ({record['resources'][found[0]]['share']:.0%})" if found else "-"


def _row(record: dict[str, Any]) -> tuple[str, ...]:
    log = record.get("log")
    late = "" if record.get("timing_met", True) else f", misses its {record['clock_hz'] / 1e6:g} MHz"
    return (record["board"], record["device"], record["design"], str(record["labels"]), str(record["sites"]),
            _cell(record, "logic"), _cell(record, "memory"), _cell(record, "dsp"),
            f"{record['machine_fmax_hz'] / 1e6:.1f}", _rate(record),
            _log(log) if log else "-", *_picture(record), record["status"] + late)


def _picture(record: dict[str, Any]) -> tuple[str, str, str]:
    """The clock that the machine has, seconds of a picture at it, and effective samples of a site a second."""
    numbers = record.get("picture_s"), (record.get("picture") or {}).get("effective_samples_per_s")
    seconds, worth = ("-" if number is None else f"{number:.3g}" for number in numbers)
    return f"{record['clock_hz'] / 1e6:g}" if "clock_hz" in record else "-", seconds, worth


def pictures(records: list[dict[str, Any]]) -> list[str]:
    """What the table's seconds are of, and why a machine has none, of records `with_picture`: a line each."""
    lines = [f"picture s: {PICTURE} at the machine's own clock, its windows' loads, log and answers over the link included; "
             "effective samples/s: of a site, where they were measured"]
    for earlier in sorted({interface_of(record) for record in records if "config" in record} - {INTERFACE_VERSION}):
        designs = [_design(record) for record in records if "config" in record and interface_of(record) == earlier]
        lines += [f"built with interface {earlier}, {'; '.join(designs)}: cells and clocks are those of that circuit, seconds "
                  f"those of the bus and the link of interface {INTERFACE_VERSION}"]
    return lines + [f"{_design(record)}, no picture: {record['picture']['why_none']}"
                    for record in records if record["picture_s"] is None]


def _design(record: dict[str, Any]) -> str:
    return f"{record['board']} {record['design']}, {record['sites']} sites"


def _rate(record: dict[str, Any]) -> str:
    """Evaluated; and what they stand for, where a visit evaluates a subset of a site's slots."""
    every = record.get("labels_per_s_of_all_slots")
    return f"{record['labels_per_s'] / 1e6:.0f}" + (f", in place of {every / 1e6:.0f}" if every else "")


def _log(log: dict[str, Any]) -> str:
    text = f"{log['labels_per_s'] / 1e6:.1f} ({log['binds']} binds)"
    memory = log["memory"]
    if not memory or memory["seconds"] is None:
        return text
    return f"{text}; {memory['labels_per_s'] / 1e6:.0f} for {memory['seconds']:.1f} s into {memory['bytes'] >> 20} MiB of SDRAM"


def table(records: list[dict[str, Any]]) -> str:
    """The records, `with_picture`, and the published rows as a table in Markdown."""
    return markdown([_COLUMNS, *map(_row, [*records, *PUBLISHED])])


def machine_path(record: dict[str, Any]) -> dict[str, Any] | None:
    """The critical path of the machine's slowest clock; None in a record that does not say it, as those of earlier versions."""
    clocks = record.get("fmax_hz") or {}
    clock = next((name for name, hz in clocks.items() if hz == record["machine_fmax_hz"]), None)
    path: dict[str, Any] | None = (record.get("critical_paths") or {}).get(clock)
    return path


def critical_path(record: dict[str, Any]) -> str | None:
    """What sets the machine's clock, in one line; None as of `machine_path`."""
    path = machine_path(record)
    if path is None:
        return None
    return (f"machine clock {record['machine_fmax_hz'] / 1e6:.1f} MHz: from {path['from']} to {path['to']}, {path['ns']:.1f} ns, "
            f"of which routing {path['routing_ns']:.1f}; {path['steps']} logic steps")


def seed_range(record: dict[str, Any]) -> str | None:
    """What the seeds came to, in one line; None in a record of one seed, or of an earlier version."""
    seeds = record.get("seeds") or []
    found = [hz / 1e6 for seed in seeds if (hz := seed.get("machine_fmax_hz"))]
    if len(seeds) < 2 or not found:
        return None
    late = len(seeds) - len(found)
    return (f"machine clock with {len(found)} seeds: lowest {min(found):.1f}, median {statistics.median(found):.1f}, highest "
            f"{max(found):.1f} MHz" + (f"; {late} did not end" if late else ""))


def clocks(records: list[dict[str, Any]]) -> list[str]:
    """Of each record that says it what sets its machine's clock, and what its seeds came to: a line each."""
    return [f"{_design(record)}: {line}"
            for record in records for line in (critical_path(record), seed_range(record)) if line]


def markdown(rows: list[tuple[str, ...]]) -> str:
    """A table in Markdown, its columns aligned; the first row is its head."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["| " + " | ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)) + " |" for row in rows]
    return "\n".join([lines[0], "| " + " | ".join("-" * width for width in widths) + " |", *lines[1:]])
