"""What a machine costs, in one place: whatever states such a number asks `Cost`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from mrfhw.cost.devices import Device, Needs
from mrfhw.cost.estimate import Cycles, Memory, Multipliers, memories, multipliers
from mrfhw.cost.links import BoardLink
from mrfhw.cost.logic import link_cells, logic_of
from mrfhw.cost.rates import Rate, Workload
from mrfhw.field.problem import Problem, Run
from mrfhw.machine.config import Config, ConfigError, mesh_shape
from mrfhw.machine.derived import Derived

__all__ = ["Cost"]

RUN = Run(sweeps=100)  # where no other is asked for


@dataclass(frozen=True, eq=False)
class Cost:
    """What a machine costs, without tools or measurements. Each number is worked out when it is asked for.

    config: the machine.
    problem: whose cycles are asked for; its data's values do not matter. None: of no problem.
    device: the FPGA that is to hold the machine; None: no FPGA.
    run: of the problem.
    link: the board's, whose memories are counted with the machine's; None: a machine without a link.
    clock_hz: of the machine, where it is known, as from a build that was kept (`mrfhw.fpga.report.kept_clock`); None: it is not.
    work: what a run takes of the machine and sends to its log; None: it is not known.
    """

    config: Derived
    problem: Problem | None = None
    device: Device | None = None
    run: Run = RUN
    link: BoardLink | None = None
    clock_hz: float | None = None
    work: Workload | None = None

    @classmethod
    def of(cls, config: Config, problem: Problem | None = None, device: Device | None = None, *, run: Run | None = None,
           link: BoardLink | None = None, clock_hz: float | None = None, work: Workload | None = None) -> Cost:
        """The cost of a machine; the arguments are the attributes. run: None is one of 100 sweeps."""
        return cls(Derived.of(config), problem, device, run or RUN, link, clock_hz, work)

    @cached_property
    def memories(self) -> tuple[Memory, ...]:
        """Every memory of the machine, all copies of it, without the link's."""
        return tuple(memories(self.config))

    @property
    def memory_bits(self) -> dict[str, int]:
        """Bits of the machine's memories by use, all copies together, before a device rounds them up to its blocks."""
        bits: dict[str, int] = {}
        for memory in self.memories:
            bits[memory.use] = bits.get(memory.use, 0) + memory.bits
        return bits

    @cached_property
    def multipliers(self) -> Multipliers:
        """(how many, bits of one factor, bits of the other) by use. What a device makes of them depends on its blocks."""
        return multipliers(self.config)

    @cached_property
    def cycles(self) -> Cycles:
        """Of the problem. Raises ProblemError for one that does not fit the machine whole."""
        if self.problem is None:
            raise ValueError("cycles are those of a problem: give one")
        return Cycles.of(self.config, self.problem, self.run)

    @cached_property
    def needs(self) -> Needs:
        """What machine and link take of the device: blocks, multipliers, and the machine's logic with its error."""
        if self.device is None:
            raise ValueError("blocks and logic are those of a device: give one")
        family, link, memories, cells = self.device.family, self.link, self.memories, 0.0
        if link is not None:
            memories = (*memories, *link.memories)
            if link.kind == "serial":
                cells = link_cells(family, link.words, link.outstanding) or 0.0
        return Needs.of(self.device, memories, self.multipliers, logic_of(self.config, family), cells)

    @property
    def too_much(self) -> str | None:
        """What is too much for the device, by more than the estimate may be wrong, in words; None where there is no such thing."""
        return self.needs.too_much(surely=True)

    @property
    def perhaps_too_much(self) -> str | None:
        """What is too much for the device by count, in words; None where machine and link fit."""
        return self.needs.too_much(surely=False)

    @property
    def refusal(self) -> str | None:
        """`too_much` in one line with the way out; None where there is nothing to refuse."""
        found = self.too_much
        if found is None:
            return None
        most = self.largest
        room = ("no tile of these parameters fits" if most is None
                else f"--mesh {most.mesh_rows}x{most.mesh_cols} would fit by count")
        return f"machine and link take {found}; {room}: give fewer SPEs, smaller tiles or fewer --log-bytes"

    @cached_property
    def largest(self) -> Config | None:
        """The machine of these parameters with as many SPEs as are estimated to fit the device; None where none does."""
        found = None
        for spes in range(1, 1025):
            try:
                rows, cols = mesh_shape(spes)
            except ConfigError:
                continue
            try:
                machine = self.config.changed(mesh_rows=rows, mesh_cols=cols)
            except ConfigError:  # such as addresses that are too narrow for so many sites
                break
            if Cost.of(machine, device=self.device, link=self.link).perhaps_too_much is not None:
                break
            found = machine
        return found

    @property
    def rate(self) -> Rate:
        """Label evaluations a second at the clock, and those that the log lets through the link, of the work that is known."""
        if self.clock_hz is None or self.work is None or self.link is None:
            raise ValueError("a rate is that of a clock, a workload and a link: give clock_hz, work and link")
        return Rate.of(self.config, self.clock_hz, self.work, self.link)
