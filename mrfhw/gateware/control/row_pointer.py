"""Which group comes next: sweeps, colours, rows and groups of a row."""

from __future__ import annotations

from amaranth import Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from mrfhw.gateware.control.run import GroupOfSites, TileRow, problem_registers
from mrfhw.machine.bits import bits_for
from mrfhw.machine.config import Config
from mrfhw.machine.derived import Derived

__all__ = ["RowPointer"]


class RowPointer(wiring.Component):
    """The group whose neighbours are fetched next, and the number of finished sweeps.

    start: begin at sweep 0, first colour and row. go: a run begins, at sweep 0 or where the last run ended.
    stop: end the run after the current sweep. issue: the group `following` starts; in the next cycle `following` is the group after
    it, and the data of a new row are valid `Latency.next_row` cycles later. fetch_alone: neighbours are fetched while no label is
    in flight. sweep_written: the last label of a sweep has been written; `sweep` counts these pulses since start. done: with
    fetch_alone, the run has no sweeps left.

    A colour starts one row below the row at which the previous colour started. All labels of a sweep are written before the last
    group of the next sweep is issued.
    """

    def __init__(self, config: Config):
        config = Derived.of(config)
        self.config = config
        config.latency.exactly("next_row", 3, "the row pointer")
        super().__init__({
            "registers": In(problem_registers(config)), "start": In(1), "go": In(1), "stop": In(1), "issue": In(1),
            "fetch_alone": In(1), "sweep_written": In(1), "following": Out(GroupOfSites(config)), "sweep": Out(32),
            "done": Out(1),
        })

    def _next_row(self, m: Module, row: data.View, name: str) -> data.View:
        """The row below `row`; below the last row of the tile is the first."""
        c, r = self.config, self.registers
        new = Signal(TileRow(c), name=name)
        # What depends on the number of rows alone stands in registers, and a tile has two rows at least.
        last_rows = [Signal.like(row.row, name=f"row_{rows}_before_the_end") for rows in (1, 2)]
        m.d.sync += [held.eq(r.tile_rows - rows) for rows, held in enumerate(last_rows, 1)]
        last, next_last = (row.row == held for held in last_rows)
        m.d.comb += [
            new.row.eq(Mux(last, 0, row.row + 1)), new.up.eq(row.here), new.here.eq(row.down),
            new.site.eq(Mux(last, 0, row.site + r.site_stride)), new.raster.eq(Mux(last, 0, row.raster + r.raster_stride)),
        ]
        if c.holds_reach:
            m.d.comb += new.second.eq(Mux(last, 0, row.second + r.s2_stride))
        # With four banks a pair of rows shares a base: that of the row after an even one is the next one's, too.
        steps = 1 if c.lmem_banks == 1 else ~row.row[0]
        m.d.comb += new.down.eq(Mux(next_last, 0, Mux(steps, row.down + r.label_stride, row.down)))
        return new

    def elaborate(self, platform: object) -> Module:
        m = Module()
        c, r = self.config, self.registers
        row = Signal(TileRow(c))
        ahead = Signal(TileRow(c))
        group = Signal(c.group_bits)
        white = Signal()
        rows_done = Signal(bits_for(c.tile_rows))
        last_row = rows_done + 1 == r.tile_rows
        last_group = group + 1 == r.tile_groups
        last_of_colour = Signal()
        m.d.comb += last_of_colour.eq(last_row & last_group)
        counted, last_of_run = self._sweeps(m, last_of_colour & white)
        m.d.comb += [
            self.following.row.eq(row), self.following.group.eq(group), self.following.white.eq(white),
            self.following.counted.eq(counted), self.following.first_of_sweep.eq(~white & (rows_done == 0) & (group == 0)),
            self.following.last_of_sweep.eq(last_of_colour & white),
            self.following.wait_after.eq(last_of_colour & (last_of_run | ~r.overlap)), self.following.last_of_run.eq(last_of_run),
        ]
        # `ahead` is the row after the next change of row: one below, or two where the colour changes.
        prepare = Signal(2)
        self.ahead, self.prepare, self.rows_done = ahead, prepare, rows_done
        below = self._next_row(m, data.View(TileRow(c), Mux(prepare == 2, row.as_value(), ahead.as_value())), "below")
        with m.Switch(prepare):
            with m.Case(2):
                m.d.sync += [ahead.eq(below), prepare.eq(Mux(last_row, 1, 0))]
            with m.Case(1):
                m.d.sync += [ahead.eq(below), prepare.eq(0)]
        with m.If(self.start):
            m.d.sync += [row.eq(0), row.up.eq(r.label_wrap), group.eq(0), white.eq(0), rows_done.eq(0), prepare.eq(2),
                         row.down.eq(r.label_stride if c.lmem_banks == 1 else 0)]
        with m.If(self.issue):
            m.d.sync += group.eq(Mux(last_group, 0, group + 1))
            with m.If(last_group):
                m.d.sync += [row.eq(ahead), rows_done.eq(Mux(last_row, 0, rows_done + 1)), prepare.eq(2)]
                with m.If(last_row):
                    m.d.sync += white.eq(~white)
        return m

    def _sweeps(self, m: Module, last_of_sweep: Signal) -> tuple[Signal, Signal]:
        """Whether the following group is counted, and whether it is the run's last."""
        r = self.registers
        stopping = Signal()
        counted = Signal()
        last_of_run = Signal()
        # When `following` is the last group of a sweep, all earlier sweeps are written and counted, so this one is `sweep` + 1.
        # Comparisons of numbers so wide have a register, and are right a cycle after the sweep is counted.
        following = Signal(33)
        m.d.comb += following.eq(self.sweep + 1)
        enough, beyond_burn_in = (Signal(2, name=name) for name in ("enough", "beyond_burn_in"))
        for place, sweep in enumerate((following, self.sweep)):
            m.d.sync += [enough[place].eq(sweep >= r.sweeps), beyond_burn_in[place].eq(sweep >= r.burn_in)]
        m.d.comb += [self.done.eq(Mux(self.fetch_alone, enough[1], enough[0])),
                     last_of_run.eq(last_of_sweep & (stopping | self.done))]
        with m.If(self.fetch_alone | (self.issue & last_of_sweep)):
            m.d.sync += counted.eq(Mux(self.fetch_alone, beyond_burn_in[1], beyond_burn_in[0]))
        with m.If(self.stop):
            m.d.sync += stopping.eq(1)
        with m.If(self.go):
            m.d.sync += stopping.eq(0)
        with m.If(self.start):
            m.d.sync += self.sweep.eq(0)
        with m.Elif(self.sweep_written):
            m.d.sync += self.sweep.eq(following)
        return counted, last_of_run
