"""build.json: what a build came to."""

from __future__ import annotations

import dataclasses
import json
import platform
from pathlib import Path
from typing import Any, cast

from mrfhw import __version__
from mrfhw.cost.cost import Cost
from mrfhw.cost.rates import Workload
from mrfhw.fpga.board import Board
from mrfhw.fpga.clocks import Rates
from mrfhw.fpga.errors import BuildError
from mrfhw.fpga.flow import Placed
from mrfhw.generation.identity import circuit_digest
from mrfhw.machine.config import Config
from mrfhw.machine.derived import Derived
from mrfhw.machine.registers import INTERFACE_VERSION
from mrfhw.system.input_files import read_plain

__all__ = ["RECORD", "interface_of", "read_record", "record_of"]

RECORD = "build.json"
RECORD_BYTES = 1 << 22  # of one at most
STATUS = "placed and routed; not run on a board"
UNSTATED = 11  # the interface of a record that states none


def interface_of(record: dict[str, Any]) -> int:
    """The interface version of a record's circuit."""
    found: int = record.get("interface", UNSTATED)
    return found


def record_of(board: Board, config: Config, rates: Rates, placed: Placed, work: Workload) -> dict[str, Any]:
    """The record of a build, ready for JSON. Rates are those of the fastest clock of the machine that timing analysis allows."""
    config = Derived.of(config)
    fmax, baud, clock_hz = placed.best.machine_hz, rates.baud, rates.hz
    paths = placed.best.paths
    link = board.link(baud, rates.link_hz if rates.link_post else fmax)
    at_fmax, at_clock = (Cost.of(config, link=link, clock_hz=hz, work=work).rate for hz in (fmax, clock_hz))
    return {
        "mrfhw": __version__, "status": STATUS, "board": board.name, "device": board.device, "design":
        config.size, "digest": circuit_digest(config), "interface": INTERFACE_VERSION, "config": config.to_dict(),
        "clock_hz": clock_hz, "link_clock_hz": rates.link_hz, "baud": baud, "timing_met": placed.best.met,
        "fmax_hz": placed.best.fmax_hz, "machine_fmax_hz": fmax,
        "resources": {kind: {"used": used, "available": placed.available[kind],
                             "share": round(used / placed.available[kind], 4)} for kind, used in placed.used.items()},
        **({"critical_paths": {clock: path.to_dict() for clock, path in paths.items()}} if paths else {}),
        "seeds": [{"seed": a.seed, "fmax_hz": a.fmax_hz, "machine_fmax_hz": a.machine_hz, "timing_met": a.met}
                  for a in placed.attempts],
        "seed": placed.best.seed, "lanes": config.clusters * config.all_lanes, "utilization": work.utilization,
        "labels_per_s": at_fmax.labels_per_s, "labels_per_s_at_clock": at_clock.labels_per_s,
        "sites": config.sites, "labels": config.max_labels,
        # Of a machine that evaluates every label of a site, for as many visits a second.
        **({} if at_fmax.all_slots is None else {"labels_per_s_of_all_slots": at_fmax.all_slots}),
        "link": {"kind": link.kind, "baud": link.baud, "words": link.words, "log_bytes": link.log_bytes,
                 "response_words": link.response_memory, "outstanding": link.outstanding},
        "log": {"scene": f"stereo {work.cols}x{work.rows}, {work.labels} labels",
                "bytes_per_label_evaluation": work.log_bytes_per_evaluation, "link_bytes_per_s": link.bytes_per_s,
                "ring_bytes": link.log_bytes,
                "needed_bytes_per_s": at_fmax.log_bytes_per_s, "labels_per_s": at_fmax.logged, "binds": at_fmax.binds,
                "memory": at_fmax.memory and dataclasses.asdict(at_fmax.memory)},
        "tools": {tool.name: tool.version for tool in placed.tools},
        "steps": [{"tool": s.tool, "seconds": round(s.seconds, 1), "peak_bytes": s.peak_bytes} for s in placed.steps],
        "seconds": round(sum(s.seconds for s in placed.steps), 1), "peak_bytes": max(s.peak_bytes for s in placed.steps),
        "machine": f"{platform.machine()}, Python {platform.python_version()}", "bitstream": placed.bitstream.name,
    }


def read_record(path: Path) -> dict[str, Any]:
    """A record that `mrfhw build` wrote, or BuildError."""
    try:
        record = json.loads(read_plain(path, f"give a {RECORD} that mrfhw build wrote", RECORD_BYTES, BuildError))
    except BuildError:
        raise
    except (ValueError, RecursionError) as error:
        raise BuildError(f"{path} is no record of a build ({error}): give a {RECORD} that mrfhw build wrote") from None
    wrong = "it has no labels_per_s" if not isinstance(record, dict) else _wrong(record, _NEEDED)
    if wrong:
        raise BuildError(f"{path} is no record of a build ({wrong}): give a {RECORD} that mrfhw build wrote")
    return cast(dict[str, Any], record)


# What a report reads: kinds by name. "?" begins what may be missing or null, "*" stands for every name, of which there is one; in
# brackets is what each part of a list has.
_NEEDED: dict[str, Any] = {
    "labels_per_s": float, "board": str, "device": str, "design": str, "status": str, "labels": int, "sites": int, "lanes": int,
    "clock_hz": float, "machine_fmax_hz": float, "resources": {"*": {"used": int, "share": float}},
    "?config": {}, "?fmax_hz": {"*": float}, "?seeds": [{"seed": int, "?machine_fmax_hz": float}],
    "?critical_paths": {"*": {"from": str, "to": str, "ns": float, "routing_ns": float, "steps": int}},
    "?link_clock_hz": float, "?baud": int,
    "?link": {"kind": str, "baud": int, "words": int, "response_words": int, "log_bytes": int, "?outstanding": int},
    "?log": {"labels_per_s": float, "binds": str, "?ring_bytes": int, "?link_bytes_per_s": float,
             "?bytes_per_label_evaluation": float, "?memory": {"bytes": int, "labels_per_s": float, "?seconds": float}},
}
_SPOKEN = {float: "finite number", int: "whole number", str: "text"}


def _wrong(record: dict[str, Any], needed: dict[str, Any]) -> str | None:
    """What is not as `_NEEDED` says, or None."""
    for given, kind in needed.items():
        name = given.lstrip("?")
        if name == "*":
            if not record:
                return "it has an empty part"
            found = next(filter(None, (_wrong({key: value}, {key: kind}) for key, value in record.items())), None)
        elif given != name and record.get(name) is None:
            continue
        elif name not in record:
            return f"it has no {name}"
        elif isinstance(kind, list):
            parts = record[name] if isinstance(record[name], list) else [None]
            found = next(filter(None, (_wrong_part(part, kind[0], f"part of {name}") for part in parts)), None)
        elif isinstance(kind, dict):
            found = _wrong_part(record[name], kind, name)
        else:
            found = None if _is(record[name], kind) else f"its {name} is no {_SPOKEN[kind]}"
        if found:
            return found
    return None


def _wrong_part(part: object, needed: dict[str, Any], name: str) -> str | None:
    return _wrong(part, needed) if isinstance(part, dict) else f"its {name} is no object"


def _is(value: object, kind: type) -> bool:
    if kind is float:
        return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e300
    return isinstance(value, kind) and not isinstance(value, bool) and not (kind is int and abs(value) >= 1 << 63)  # type: ignore[arg-type]
