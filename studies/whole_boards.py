"""How far estimates of whole boards are from synthesis, on random machines that do random jobs.

    python -m studies.whole_boards                                  # errors, those of the held-back seed beside the others
    python -m studies.whole_boards --measure 12 --family ecp5       # synthesize more, one to five minutes each
    python -m studies.whole_boards --place 2 --family ecp5          # place and route some that fit, with one seed each

A third of the machines is drawn nearly full. What is estimated of the held-back seed (2) knows the points of the other seeds alone.
"""

from __future__ import annotations

import random
import statistics
from dataclasses import dataclass, replace
from pathlib import Path

import click
from tqdm import tqdm  # type: ignore[import-untyped,unused-ignore]

from mrfhw.commands.machine_options import OneLineCommand
from mrfhw.cost.cost import Cost
from mrfhw.cost.devices import Needs, device_named
from mrfhw.cost.seconds import Delays
from mrfhw.fpga.board import Board
from mrfhw.fpga.boards import BOARDS
from mrfhw.machine.config import Config
from mrfhw.system.errors import ProblemError
from mrfhw.tuning.estimates import Estimates, Limits
from mrfhw.tuning.job import Job, takes
from mrfhw.tuning.points import HELD_BACK, SLICE, STORE, Point, add_point, points_of
from mrfhw.tuning.space import Choice, Space
from mrfhw.tuning.truth import placed, synthesized

ULX3S_12F = replace(BOARDS["ulx3s-85f"], name="ulx3s-12f", title="ULX3S with an ECP5-12F", device="LFE5U-12F",
                    platform=("amaranth_boards.ulx3s", "ULX3S_12F_Platform"))
FAMILIES = {"ecp5": (ULX3S_12F,), "ice40": (BOARDS["icebreaker"],),
            "gowin": (BOARDS["tang-nano-9k"], BOARDS["tang-nano-9k"], BOARDS["tang-nano-20k"])}
BY_NAME = {board.name: board for boards in FAMILIES.values() for board in boards}
CELLS_MOST = 26_000  # of a machine, so that its synthesis takes minutes
FULL, ANY = (0.92, 1.08), (0.3, 1.15)  # of the device's logic, by estimate
CHANGED = 0.4  # of the parameters have another value than the board's own machine
RIM = 0.1  # of a limit, within which it is asked whether a machine fits


def _space(rng: random.Random, board: Board) -> Space:
    """A board with a random job that its machines may do."""
    while True:
        shape = rng.choice([(16, 32), (24, 32), (32, 64), (48, 64), (64, 96)])
        name, labels = rng.choice(["stereo", "motion", "denoise"]), rng.choice([4, 8, 9, 16, 25, 32])
        try:
            return Space(board, Job.of(name, shape, labels, 200, rng.choice(["mode", "mean", "last"]), Config.preset(board.preset)),
                         {})
        except ProblemError:
            continue


def _drawn(family: str, seed: int, number: int) -> tuple[Board, Choice]:
    """Number `number` of a seed, a machine with some parameters changed; each third one is nearly full."""
    rng = random.Random(f"{family} {seed} {number}")
    low, high = FULL if number % 3 == 2 else ANY
    while True:
        board = rng.choice(FAMILIES[family])
        space = _space(rng, board)
        estimates = Estimates(board, space.job, Limits(), Delays(), [])
        for _ in range(100):
            choice = space.start
            for name, values in space.values.items():
                if rng.random() < CHANGED:
                    choice = space.with_value(choice, name, rng.choice(values)) or choice
            used, device = estimates.logic_of(choice.config, choice.words), estimates.device
            if (low * device.lut <= used <= min(CELLS_MOST, high * device.lut) and _needs(choice, board).ram <= device.ram
                    and takes(choice.config, space.job.problem) is None):
                return board, choice


def _needs(choice: Choice, board: Board) -> Needs:
    link = choice.on(board).link(choice.baud, float(choice.clock_hz) if board.sdram else None)
    return Cost.of(choice.config, device=device_named(board.device), link=link).needs


def measure(family: str, seed: int, number: int, store: Path) -> None:
    """Synthesize those of a seed that are not in the store."""
    there = {one.options.get("drawn") for one in points_of(store, [family])}
    for n in tqdm(range(number), unit="synthesis"):
        if f"{seed}/{n}" in there:
            continue
        board, choice = _drawn(family, seed, n)
        point = synthesized(choice, board)
        point.options["drawn"] = f"{seed}/{n}"
        add_point(point, store)


def _choice(point: Point) -> Choice:
    return Choice(point.config, **{name: point.options[name] for name in ("clock_hz", "baud", "words", "log_bytes")})


def place(family: str, number: int, store: Path) -> None:
    """Place and route so many that are known and fit, the smallest first, and that were not placed."""
    points = [one for one in points_of(store, [family]) if one.options.get("drawn", SLICE) != SLICE and not one.held_back]
    there = {one.options["drawn"] for one in points if one.truth == "placed"}
    fitting = [one for one in points if one.truth == "synthesized" and not one.failure and one.options["drawn"] not in there
               and (one.logic or 0) <= device_named(BY_NAME[one.board or ""].device).lut]
    for known in tqdm(sorted(fitting, key=lambda one: one.logic or 0)[:number], unit="placement"):
        point = placed(_choice(known), BY_NAME[known.board or ""], 1)
        point.options["drawn"] = known.options["drawn"]
        add_point(point, store)


@dataclass(frozen=True)
class Compared:
    """A whole board that was synthesized, beside its estimate. logic: (estimated, true); blocks, multipliers: likewise."""

    family: str
    there: int
    logic: tuple[float, int]
    blocks: tuple[int, int]
    multipliers: tuple[int, int]

    @classmethod
    def of(cls, point: Point, others: list[Point]) -> Compared:
        """others: that the estimate knows."""
        board = BY_NAME[point.board or ""]
        choice = _choice(point)
        job = Job.of("stereo", (16, 32), 4, 100, "mean", Config.preset(board.preset))
        estimates = Estimates(board, job, Limits(), Delays(), others)
        needs = _needs(choice, board)
        return cls(point.family, estimates.device.lut, (estimates.logic_of(choice.config, choice.words), point.logic or 0),
                   (needs.ram, point.cells["ram"]), (needs.dsp, point.cells["dsp"]))

    @property
    def error(self) -> float:
        return self.logic[0] / self.logic[1] - 1

    @property
    def score(self) -> float | None:
        """Of the decision whether it fits: 1 where it is right, else how far off; None where it is far from the limit."""
        estimated, true = self.logic
        if abs(true / self.there - 1) > RIM:
            return None
        right = (estimated <= self.there) == (true <= self.there)
        return 1.0 if right else min(estimated, true) / max(estimated, true)


def compared(points: list[Point], held_back: bool) -> list[Compared]:
    """Those of the held-back seed, or each other one by those that are neither it nor held back."""
    drawn = [one for one in points
             if one.truth == "synthesized" and one.options.get("drawn", SLICE) != SLICE and not one.failure]
    of_others = [one for one in points if not one.held_back]
    asked = [one for one in drawn if (one in of_others) != held_back]
    return [Compared.of(one, [other for other in of_others if other.options.get("drawn") != one.options["drawn"]]) for one in asked]


def _line(name: str, found: list[Compared]) -> str:
    errors = [abs(one.error) for one in found]
    blocks, multipliers = (sum(used == true for used, true in kind)
                           for kind in ([one.blocks for one in found], [one.multipliers for one in found]))
    scores = [one.score for one in found if one.score is not None]
    rim = (f"; of {len(scores)} within {RIM:.0%} of the limit {scores.count(1.0)} decided right, {statistics.mean(scores):.1%} by "
           "penalty" if scores else "")
    return (f"{name}: {len(found)} boards, blocks exact in {blocks}, multipliers in {multipliers}, cells off "
            f"{statistics.median(errors):.1%} in the median, {max(errors):.1%} at most{rim}")


@click.command(cls=OneLineCommand)
@click.option("--measure", "number", type=click.IntRange(1), help="Synthesize so many of a seed, those not kept.")
@click.option("--place", "placements", type=click.IntRange(1), help="Place and route so many of a family that fit.")
@click.option("--seed", type=click.IntRange(1), default=1, show_default=True, help=f"Of the machines; {HELD_BACK[0]} is held back.")
@click.option("--family", "families", multiple=True, type=click.Choice(list(FAMILIES)), default=tuple(FAMILIES))
@click.option("--store", type=click.Path(path_type=Path, file_okay=False), default=STORE, help="Folder of the points.")
def main(number: int | None, placements: int | None, seed: int, families: tuple[str, ...], store: Path) -> None:
    """Errors of estimates of whole boards."""
    if number:
        for family in families:
            measure(family, seed, number, store)
    for family in families if placements else ():
        place(family, placements or 0, store)
    points = list(points_of(store, families))
    if not any(one.options.get("drawn", SLICE) != SLICE for one in points):
        raise ProblemError(f"{store} has no whole boards of {', '.join(families)}: give --measure, or another --store")
    for held_back in (False, True):
        found = compared(points, held_back)
        said = "held back" if held_back else "known, each left out"
        for name in [*families, "all"]:
            if own := [one for one in found if name in (one.family, "all")]:
                click.echo(_line(f"{said}, {name}", own))


if __name__ == "__main__":
    main()
