"""`python -m sim.proofs`: proves parts of the gateware, each for every input and for ever.

    python -m sim.proofs                 # the short ones, and that a planted fault makes each of them fail
    python -m sim.proofs --all --faults 99 -o out/proofs.jsonl
    python -m sim.proofs "log hub" --list
"""

from __future__ import annotations

import concurrent.futures
import json
import os
import sys
import time
from pathlib import Path

import click

from mrfhw.commands.machine_options import OneLineCommand
from mrfhw.field.problem import ProblemError
from mrfhw.system.files import output_path
from sim.proofs.catalog import Entry, entries
from sim.proofs.engine import Outcome, prove
from sim.proofs.planted import Fault, planted


def outcome(entry: Entry, fault: Fault | None) -> Outcome:
    """Of the proof as it is, or with a fault in the part."""
    if fault is None:
        return prove(entry.proof)
    with planted(fault):
        return prove(entry.proof)


def chosen(kind: str, whole: bool) -> list[Entry]:
    """Those whose name begins with `kind`: the short ones, or all. Raises ProblemError where there are none."""
    found = [entry for entry in entries() if entry.proof.name.startswith(kind) and (whole or entry.short)]
    if not found:
        kinds = ", ".join(dict.fromkeys(entry.kind for entry in entries()))
        raise ProblemError(f"kind is {kind!r}; the parts are {kinds}: give one of them, or --all for their other sizes")
    return found


@click.command(cls=OneLineCommand, help="Prove parts of the gateware whose names begin with KIND, or all kinds.")
@click.argument("kind", default="")
@click.option("--all", "whole", is_flag=True, help="At every size of the presets' machines and of the kept builds.")
@click.option("--faults", type=click.IntRange(0), default=1, show_default=True, help="Planted faults of each proof, at most.")
@click.option("--list", "listed", is_flag=True, help="Say what would be proven.")
@click.option("--jobs", type=click.IntRange(1), default=os.cpu_count() or 1, show_default="processors", help="At a time.")
@click.option("-o", "--output", type=click.Path(path_type=Path), metavar="FILE",
              help="Add each outcome to this file, a line of JSON.")
def main(kind: str, whole: bool, faults: int, listed: bool, jobs: int, output: Path | None) -> None:
    found = chosen(kind, whole)
    if listed:
        for entry in found:
            click.echo(f"{entry.proof.name}: {entry.proof.claim}; {len(entry.faults)} faults")
        return
    if output is not None:
        with output_path("output", output, "a file") as path:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()
    work = [(entry, fault) for entry in found for fault in (None, *entry.faults[:faults])]
    began, wrong = time.monotonic(), 0
    with concurrent.futures.ProcessPoolExecutor(jobs) as pool:
        try:
            for (entry, fault), one in zip(work, pool.map(outcome, *zip(*work, strict=True)), strict=True):
                wrong += one.proven != (fault is None)
                _say(entry, fault, one, output)
        finally:
            pool.shutdown(cancel_futures=True)
    planted_faults = sum(fault is not None for _, fault in work)
    click.echo(f"{len(work) - planted_faults} proofs, {planted_faults} planted faults, {wrong} not as they should be, "
               f"{time.monotonic() - began:.0f} s")
    sys.exit(1 if wrong else 0)


def _say(entry: Entry, fault: Fault | None, one: Outcome, output: Path | None) -> None:
    what = "proven" if one.proven else f"fails, {one.said}"
    click.echo(f"{'' if one.proven == (fault is None) else 'WRONG: '}{entry.proof.name}{f', with {fault.new}' if fault else ''}: "
               f"{what} ({one.seconds:.1f} s)")
    if output is not None:
        with output.open("a") as file:
            print(json.dumps({"name": entry.proof.name, "claim": entry.proof.claim, "fault": fault and fault.new,
                              "proven": one.proven, "said": one.said, "seconds": round(one.seconds, 1)}), file=file)


if __name__ == "__main__":
    main()
