"""RowPointer: colours, rows and groups follow one another as the sweep has them, with the addresses of their rows."""

from __future__ import annotations

from functools import partial
from typing import Any

from amaranth import Cat, Const, Module, Mux, Signal, Value
from amaranth.hdl import Assert, Assume

from mrfhw.gateware.control.row_pointer import RowPointer
from mrfhw.gateware.control.run import TileRow
from mrfhw.machine.config import Config
from mrfhw.machine.derived import Derived
from sim.proofs.engine import Proof, opened

__all__ = ["rows_proof"]


def rows_proof(config: Config, tile_rows: int, tile_groups: int) -> Proof:
    """Of a field's rows, a multiple of `Derived.row_step`, and groups in a tile. Groups are issued as far apart as a machine's
    least interval."""
    c = Derived.of(config)
    return Proof(f"order of {tile_rows} rows of {tile_groups} groups, {c.spus} sites and {c.lmem_banks} banks",
                 "each colour has each group of each row once, row after row, from one row below the colour before; a row's "
                 "addresses are its own and its neighbours'; a sweep's first and last group are told, and after which is waited",
                 partial(_rows, c, tile_rows, tile_groups), cycles=3)


def _rows(c: Derived, rows: int, groups: int) -> tuple[Module, list[Signal]]:
    m, pointer = Module(), RowPointer(c)
    m.submodules.pointer = opened(pointer)
    r, following = pointer.registers, pointer.following
    half = c.tile_cols // 2
    stride = half if c.lmem_banks == 1 else half // 2
    overlap, sweeps, burn_in = Signal(name="overlap"), Signal(32, name="sweeps"), Signal(32, name="burn_in")
    fixed = {"tile_rows": rows, "tile_groups": groups, "label_stride": stride, "site_stride": half,
             "raster_stride": c.mesh_cols * c.tile_cols, "label_wrap": _base(c, rows - 1, stride),
             **({"s2_stride": half} if c.holds_reach else {})}
    m.d.comb += [*(r[name].eq(value) for name, value in fixed.items()), r.overlap.eq(overlap), r.sweeps.eq(sweeps),
                 r.burn_in.eq(burn_in)]
    # The row at which this colour began, rows of it that are done, the group in the row; a run has begun.
    first, done = Signal(range(rows), name="first_row"), Signal(range(rows), name="done")
    group = Signal(range(groups), name="group")
    white, begun, since = Signal(name="white"), Signal(name="begun"), Signal(2, name="since")
    last_group, last_row = Signal(name="last_group"), Signal(name="last_row")
    apart = c.latency.next_row
    m.d.comb += [last_group.eq(group == groups - 1), last_row.eq(done == rows - 1),
                 Assume(~pointer.issue | (begun & (since == apart) & ~pointer.start))]
    m.d.sync += since.eq(Mux(pointer.start | pointer.issue, 0, Mux(since == apart, since, since + 1)))
    with m.If(pointer.start):
        m.d.sync += [Cat(first, done, group, white).eq(0), begun.eq(1)]
    with m.Elif(pointer.issue):
        m.d.sync += group.eq(Mux(last_group, 0, group + 1))
        with m.If(last_group):
            m.d.sync += done.eq(Mux(last_row, 0, done + 1))
            with m.If(last_row):
                m.d.sync += [first.eq(_below(first, 1, rows)), white.eq(~white)]

    row, under, under_two = (Signal(range(rows), name=name) for name in ("row_now", "below", "two_below"))
    m.d.comb += [row.eq(_below(first, done, rows)), under.eq(_below(row, 1, rows)), under_two.eq(_below(row, 2, rows)),
                 Assert((done < rows) & (group < groups) & (first < rows), "of the tile's"),
                 Assert(~begun | (pointer.prepare == Mux(since == 0, 2, Mux((since == 1) & last_row, 1, 0)))
                        | (pointer.prepare == 0) & (group != 0), "a row ahead is known soon"),
                 Assert(pointer.rows_done == done, "rows are counted")]
    ahead = pointer.ahead.as_value()
    of_row, of_under, of_either = (_data(c, one, rows, fixed) for one in (row, under, Mux(last_row, under_two, under)))
    with m.If(begun):
        m.d.comb += [
            Assert(following.row.as_value() == of_row, "a row has its number and addresses"),
            Assert((pointer.prepare != 0) | (ahead == of_either), "so has the one after it"),
            Assert((pointer.prepare != 1) | last_row & (ahead == of_under), "and the one before that"),
            Assert((following.group == group) & (following.white == white), "groups and colours follow one another"),
            Assert(following.first_of_sweep == (~white & (done == 0) & (group == 0)), "a sweep's first group"),
            Assert(following.last_of_sweep == (white & last_row & last_group), "a sweep's last group"),
            Assert(following.wait_after == (last_row & last_group & (following.last_of_run | ~overlap)), "a wait after a colour"),
            Assert(~following.last_of_run | following.last_of_sweep, "a run ends with a sweep")]
    return m, [pointer.start, pointer.go, pointer.stop, pointer.issue, pointer.fetch_alone, pointer.sweep_written, sweeps,
               burn_in, overlap]


def _below(row: Value, number: Value | int, rows: int) -> Value:
    """The row so many below, of a tile's."""
    found = Value.cast(row + number)
    return Mux(found >= rows, found - rows, found)


def _data(c: Derived, row: Value, rows: int, fixed: dict[str, int]) -> Value:
    """A row's number and addresses, as the pointer should have them."""
    stride = fixed["label_stride"]
    values = {"row": row, "up": _base(c, Mux(row == 0, rows - 1, row - 1), stride), "here": _base(c, row, stride),
              "down": _base(c, _below(row, 1, rows), stride), "site": row * fixed["site_stride"],
              "raster": row * fixed["raster_stride"], "second": row * fixed.get("s2_stride", 0)}
    return Cat(_cut(values[name], field.width) for name, field in TileRow(c))


def _cut(value: Value, bits: int) -> Value:
    """The lowest bits of a number that is not negative."""
    return Cat(value, Const(0, bits))[:bits]


def _base(c: Derived, row: Any, stride: int) -> Any:
    """A row's place in LMem (Figure 3.7): with four banks, pairs of rows share one."""
    return (row if c.lmem_banks == 1 else row >> 1) * stride
