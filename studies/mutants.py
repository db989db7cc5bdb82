"""How many single faults the tests of their own room find, of the parts on which most rests: `python -m studies.mutants`.

    python -m studies.mutants --number 60 --seed 1 -o out/mutants.json
    python -m studies.mutants --strata requests --number 20 --list      # what would be put in, without a test

Faults are those of `python -m studies.faults`, drawn from each stratum in turn: the first 60 of 400 are those of 60. Each is put
into a copy of the tree, and the tests of its stratum run there up to the first that fails. A limit is seconds of a processor. A run
that was ended goes on with the same command. The table has for each stratum how many were found, and the share with its 95 %
interval (Wilson); one that a limit ended counts as not found. Every fault that was not found follows with its line.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scipy.stats import binomtest

from studies.faults import FOUND, QUICK, ROOT, SURVIVED, TIMED_OUT, Fault, Stage, drawn_of, measured, print_missed

__all__ = ["STRATA", "Stratum", "files_of", "stages_of", "table"]

EVERY = "not long"


@dataclass(frozen=True)
class Stratum:
    """Files that are judged together, and the tests that should find a fault in them.

    paths: below mrfhw/, patterns. stages: words for pytest and marks; of the first those files come first that are named after
    the faulty module. seconds: of a processor for the first stage, thrice as many for others.
    """

    paths: tuple[str, ...]
    stages: tuple[tuple[str, str], ...]
    seconds: float = 240


COMPILED = ("tests/gateware/test_random_machines.py tests/gateware/test_random_fields.py tests/gateware/test_lanes.py "
            "tests/gateware/test_subsets.py --machines=2 --problems=6", "tools and not long")
STRATA = {
    "units": Stratum(("gateware/unit/*.py",), (
        ("tests/gateware/test_spu.py tests/gateware/test_energy.py tests/gateware/test_samplers.py tests/gateware/test_random.py",
         EVERY), COMPILED)),
    "control": Stratum(("gateware/control/*.py",), (
        ("tests/gateware/test_scheduler.py tests/gateware/test_register_file.py tests/gateware/test_temperature.py "
         "tests/gateware/test_singleton_address.py tests/gateware/test_fields.py", EVERY), COMPILED)),
    "visit order": Stratum(("placement/visit_order.py",), (("tests/placement/test_visit_order.py", EVERY),
                                                           ("tests/placement", EVERY))),
    "cpu kernel": Stratum(("samplers/cpu_kernel.py",), (("tests/samplers/test_cpu.py", QUICK), ("tests/samplers", EVERY))),
    "twin's kernel": Stratum(("twin/kernel.py",), (("tests/twin", QUICK), ("tests/twin", EVERY))),
    "requests": Stratum(("host/requests.py",), (
        # What those look for is text of the file itself.
        ("tests/host/test_requests.py tests/host/test_requests_machine.py "
         "--deselect=tests/host/test_requests_machine.py::test_the_machine_finds", EVERY),
        ("tests/host/test_link_faults.py", EVERY))),
    "checks of files": Stratum(("field/records.py", "field/archive.py", "field/state_check.py", "runs/checkpoint.py"), (
        ("tests/field/test_field_files.py tests/runs/test_checkpoints.py tests/runs/test_states.py "
         "tests/system/test_damaged_files.py", QUICK), ("tests/field tests/runs tests/system/test_damaged_files.py", EVERY))),
}


def files_of(stratum: Stratum, root: Path = ROOT) -> list[Path]:
    """Its modules, in order of their names."""
    return sorted(path for pattern in stratum.paths for path in (root / "mrfhw").glob(pattern))


def stages_of(fault: Fault) -> list[Stage]:
    """What may find it, in order."""
    stratum, stages = STRATA[fault.room], []
    for number, (words, marks) in enumerate(stratum.stages):
        split = words.split()
        if not number:
            split.sort(key=lambda word: Path(word).stem != f"test_{Path(fault.path).stem}")
        stages.append(Stage(tuple(split), marks, stratum.seconds * (3 if number else 1)))
    return stages


def table(done: Sequence[tuple[Fault, dict[str, Any]]]) -> str:
    """Found, survived and timed out of each stratum and of all, as a table in Markdown."""
    lines = ["| stratum | faults | found | survived | timed out | share found |", "| --- | --- | --- | --- | --- | --- |"]
    for name in (*dict.fromkeys(fault.room for fault, _ in done), "all"):
        outcomes = [one["outcome"] for fault, one in done if name in (fault.room, "all")]
        counts = [outcomes.count(outcome) for outcome in (FOUND, SURVIVED, TIMED_OUT)]
        if outcomes:
            share = binomtest(counts[0], len(outcomes)).proportion_ci(method="wilson")
            lines.append(f"| {name} | {len(outcomes)} | {' | '.join(map(str, counts))} | {counts[0] / len(outcomes):.0%} "
                         f"({share.low:.0%} to {share.high:.0%}) |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m studies.mutants", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--strata", default=",".join(STRATA), help=f"with commas between [{', '.join(STRATA)}]")
    parser.add_argument("--number", type=int, default=400, help="faults in all [400]")
    parser.add_argument("--seed", type=int, default=1, help="of the draws [1]")
    parser.add_argument("--minutes", type=float, help="begin with no fault after these")
    parser.add_argument("--jobs", type=int, default=1, help="faults at a time [1]")
    parser.add_argument("--list", action="store_true", help="print the faults and run no test")
    parser.add_argument("-o", "--output", type=Path, default=Path("out/mutants.json"), help="outcomes [out/mutants.json]")
    options = parser.parse_args()
    names = [name.strip() for name in options.strata.split(",")]
    for name in names:
        if name not in STRATA:
            sys.exit(f"{name} is no stratum: give some of {', '.join(STRATA)}")
    faults = drawn_of({name: files_of(STRATA[name]) for name in names}, options.number, options.seed)
    if options.list:
        for number, fault in enumerate(faults, 1):
            print(f"{number}. {fault.path}:{fault.line} {fault.kind}\n{fault.difference()}")
        return
    done = measured(faults, stages_of, options.output, options.jobs, options.minutes)
    print(f"\n{len(done)} of {len(faults)} faults, seed {options.seed}\n\n{table(done)}")
    print_missed(done)


if __name__ == "__main__":
    main()
