"""What a choice is estimated to cost and to bring: cells with its link, blocks, multipliers, clock, seconds, deviation."""

from __future__ import annotations

import statistics
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from mrfhw.cost.asked import Steps
from mrfhw.cost.cost import Cost
from mrfhw.cost.devices import FAMILIES, Device, device_named, device_of
from mrfhw.cost.estimate import Cycles
from mrfhw.cost.logic import link_cells
from mrfhw.cost.picture import Visits
from mrfhw.cost.seconds import Delays, RunTime
from mrfhw.cost.traffic import messages
from mrfhw.fpga.board import Board
from mrfhw.fpga.boards import BOARDS
from mrfhw.fpga.clocks import rates_for
from mrfhw.fpga.report import cell_of, kept_records, link_of
from mrfhw.machine.config import Config
from mrfhw.machine.derived import Derived
from mrfhw.placement.placement import Placement
from mrfhw.placement.windows import VISIT, WindowPlan
from mrfhw.system.errors import ProblemError
from mrfhw.tuning.job import Job, takes
from mrfhw.tuning.points import Point
from mrfhw.tuning.residuals import Residuals
from mrfhw.tuning.space import Choice
from mrfhw.tuning.truth import of_present

__all__ = ["Estimate", "Estimates", "Limits"]

CLOCK_MARGIN = 0.97  # of the slowest clock that machines of the device were placed at
NO_LINK = 1500  # cells of a link where nothing was measured


@dataclass(frozen=True)
class Limits:
    """What a choice is to keep. deviation: the largest total variation of a draw; None: any."""

    deviation: float | None = None


@dataclass(frozen=True)
class Estimate:
    """cells, ram, dsp: as the device counts them, (needed, there). seconds: of the job; None of a choice that cannot do it. broken:
    by kind, what it misses, as a share of the limit, and in words."""

    choice: Choice
    logic: tuple[int, int]
    ram: tuple[int, int]
    dsp: tuple[int, int]
    deviation: float
    time: RunTime | None
    broken: dict[str, tuple[float, str]] = field(default_factory=dict)

    @property
    def seconds(self) -> float:
        return self.time.seconds if self.time is not None else float("inf")

    @property
    def fits(self) -> bool:
        return not self.broken

    @property
    def violation(self) -> float:
        return sum(share for share, _ in self.broken.values())

    @property
    def missed(self) -> str:
        """In words, what it misses first."""
        return next(iter(self.broken.values()))[1]

    @property
    def binds(self) -> str:
        """What a better choice would need more of."""
        shares = {"logic": self.logic, "block RAM": self.ram}
        name, (used, there) = max(shares.items(), key=lambda one: one[1][0] / one[1][1])
        full = f"{used:,} of {there:,} {name}" if used > 0.9 * there else ""
        return "; ".join(filter(None, (full, "" if self.time is None else f"most time: {self.time.binds}")))


def _kind(board: str) -> str:
    """Of a board's link."""
    return BOARDS[board].link().kind if board in BOARDS else "serial"


class Estimates:
    """Estimates of choices for a job on a board, each worked out once.

    points: of machines that tools have tried, from which the link's cells and the clocks are taken. over: share of the device's
    logic that a choice may be over by estimate, where tools are asked for the truth.
    """

    def __init__(self, board: Board, job: Job, limits: Limits, delays: Delays, points: Iterable[Point], over: float = 0.0):
        self.over = over
        self.board, self.job, self.limits, self.delays = board, job, limits, delays
        self.device: Device = device_named(board.device)
        self._tried = [one for one in points if one.family == self.device.family]
        self._kept: dict[Choice, Estimate] = {}
        self._steps: dict[tuple[object, ...], Steps] = {}
        self._deviations: dict[tuple[object, ...], float] = {}
        self._messages: dict[int, float] = {}

    def with_points(self, points: Iterable[Point]) -> Estimates:
        """The same with more points; what depends on none is not worked out again."""
        found = Estimates(self.board, self.job, self.limits, self.delays, points, self.over)
        found._steps, found._deviations, found._messages = self._steps, self._deviations, self._messages
        return found

    @property
    def link_cells(self) -> float:
        """Cells of the board's link beyond its own machine's."""
        return self._link(self.board.words) + self._astray.of_machine(Config.preset(self.board.preset), self.board.words)

    @cached_property
    def _astray(self) -> Residuals:
        """What whole boards of its kind that were tried have more than the models of machine and link say; of earlier circuits,
        wherever they were tried, where there is none of the present one and no model of such a link."""
        found = []
        for one in self._tried:
            known = one.board and one.logic is not None and not one.failure and not one.held_back
            if known and _kind(str(one.board)) == self.board.link().kind and of_present(one, one.options.get("outstanding", 1)):
                words = int(one.options["words"])
                found.append((one.config, words, (one.logic or 0) - self.logic_of(one.config, words, 0)))
        return Residuals.of(found, 0.0 if self._known_link else self._of_kept())

    @property
    def _known_link(self) -> bool:
        return self.board.serial and link_cells(self.device.family, self.board.words, self.board.at_once) is not None

    def _of_kept(self) -> float:
        """The same of the builds that were kept, in the median; none where there are none."""
        kept = []
        for record in kept_records():
            device, cell = device_of(record["device"]), cell_of(record, "logic")
            alike = record["board"] in BOARDS and BOARDS[record["board"]].link().kind == self.board.link().kind
            link = link_of(record)
            if device and device.family == self.device.family and alike and cell and link:
                machine = Cost.of(Config.from_dict(record["config"]), device=self.device).needs.shares["lut"][0]
                kept.append(cell[1] - machine - self._link(link.words, link.outstanding))
        return statistics.median(kept) if kept else 0.0

    def _link(self, words: int, outstanding: int | None = None) -> float:
        """Cells of a serial link with memories of so many words, and as many requests outstanding as the board has then."""
        if outstanding is None:
            outstanding = replace(self.board, words=words, response_words=None).at_once
        found = link_cells(self.device.family, words, outstanding)
        return NO_LINK if found is None else found

    @property
    def looked_at(self) -> Collection[Choice]:
        return self._kept.keys()

    def logic_of(self, config: Config, words: Any = None, astray: float | None = None) -> float:
        """Cells of a machine with a link of so many words, or as many as the board has; astray: beyond those of the models."""
        words = int(words or self.board.words)
        cells = Cost.of(config, device=self.device).needs.shares["lut"][0] + self._link(words)
        return cells + (self._astray.of_machine(config, words) if astray is None else astray)

    @cached_property
    def fastest_hz(self) -> float:
        """The clock that every machine of the device's family has reached that was placed for it, less a margin."""
        found = [one.clock_hz for one in self._tried if one.truth == "placed" and one.clock_hz]
        found += [float(record["machine_fmax_hz"]) for record in kept_records()
                  if record["device"] == self.board.device or record["device"].startswith(self.device.name)]
        return CLOCK_MARGIN * min(found) if found else float(self.board.clock_hz)

    def of(self, choice: Choice) -> Estimate:
        """Of a choice; its seconds are worked out only where nothing is missed."""
        found = self._kept.get(choice)
        if found is None:
            found = self._kept[choice] = self._made(choice)
        return found

    def _made(self, choice: Choice) -> Estimate:
        config, board = Derived.of(choice.config), choice.on(self.board)
        rates = rates_for(board, choice.clock_hz, choice.baud)
        link = board.link(choice.baud, rates.link_hz if board.sdram else None)
        needs = Cost.of(config, device=self.device, link=link).needs
        broken: dict[str, tuple[float, str]] = {}

        def keep(kind: str, used: float, there: float, said: str) -> None:
            if used > there:
                broken[kind] = (used / max(there, 1e-9) - 1, said)

        logic = round(self.logic_of(config, choice.words))
        name = FAMILIES[self.device.family].logic
        device, ffs = self.device, needs.shares["ff"][0]
        keep("logic", logic, (1 + self.over) * device.lut,
             f"about {logic:,} {name} with the link, and {device.name} has {device.lut:,}")
        keep("ff", ffs, device.ff, f"about {ffs:,} flip-flops, and {device.name} has {device.ff:,}")
        keep("ram", needs.ram, device.ram, f"{needs.ram} memory blocks, and {device.name} has {device.ram}")
        keep("dsp", needs.dsp, device.dsp_most, f"{needs.dsp} multipliers, and {device.name} has {device.dsp}")
        keep("clock", rates.hz, max(self.fastest_hz, self.board.clock_hz),
             f"{rates.hz / 1e6:g} MHz, and machines of this device were placed at {self.fastest_hz / 1e6:.4g} MHz and more")
        if (why := takes(config, self.job.problem)) is not None:
            return Estimate(choice, (logic, device.lut), (needs.ram, device.ram), (needs.dsp, device.dsp), 1.0, None,
                            {"job": (10.0, why), **broken})
        deviation = self._deviation(config)
        if self.limits.deviation is not None:
            keep("deviation", deviation, self.limits.deviation,
                 f"draws deviate by {deviation:.4f} in total variation, and the bound is {self.limits.deviation:g}")
        time = None
        if not broken:
            try:
                time = self._seconds(choice, rates.hz, rates.link_hz)
            except ProblemError as error:
                broken["job"] = (10.0, str(error))
        return Estimate(choice, (logic, device.lut), (needs.ram, device.ram), (needs.dsp, device.dsp), deviation, time, broken)

    def _deviation(self, config: Derived) -> float:
        key = (config.sampler, config.energy_bits, config.temperature_bits, config.shift_bits)
        if key not in self._deviations:
            try:
                self._deviations[key] = self.job.deviation(config)
            except ProblemError:
                self._deviations[key] = 1.0
        return self._deviations[key]

    def seconds(self, choice: Choice) -> RunTime:
        """Of the job on a choice, whether it fits or not, whole or in windows. Raises ProblemError for a machine that can hold
        neither."""
        rates = rates_for(choice.on(self.board), choice.clock_hz, choice.baud)
        return self._seconds(choice, rates.hz, rates.link_hz)

    def _seconds(self, choice: Choice, hz: float, link_hz: float) -> RunTime:
        config = Derived.of(choice.config)
        bits = config.counter_bits
        if self.job.run.estimate == "mode" and bits not in self._messages:
            self._messages[bits] = self.job.share * messages(self.job.labels, bits, self.job.run.counted)
        board = choice.on(self.board)
        link = board.link(choice.baud, link_hz if board.sdram else None)
        logged, problem, run = self._messages.get(bits, 0.0), self.job.problem, self.job.run
        if problem.shape[0] > config.mesh_rows * config.tile_rows or problem.shape[1] > config.mesh_cols * config.tile_cols:
            visit = VISIT if problem.schedule.kind == "constant" else min(VISIT, config.temperature_table)
            visits = Visits.of(WindowPlan(config, problem), run, visit)
            return RunTime.of_visits(visits.times(link, hz, logged / max(1, run.counted), self.delays, link_hz, self._accesses))
        cycles = Cycles.of(config, problem, run)
        steps = self._accesses(cycles.placement, link.datagrams)
        return RunTime.of_placed(cycles, steps, run, link, hz, logged, self.delays, link_hz)

    def _accesses(self, placement: Placement, datagrams: bool) -> Steps:
        """The same for machines whose memories are laid out alike."""
        c = placement.config
        key = (datagrams,
               c.mesh_rows, c.mesh_cols, c.tile_rows, c.tile_cols, c.spus, c.lanes, c.subset_slots, c.label_bits, c.lmem_banks,
               c.data_bits, c.vector_bits, c.edge_bits, c.pairwise_bits, c.s2_words, c.counter_bits, c.temperature_table,
               placement.problem.shape, placement.run.estimate)
        if key not in self._steps:
            self._steps[key] = Steps.of(placement, datagrams)
        return self._steps[key]
