"""Ports of a component under test by field name: no bench states a bit offset or a width."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from amaranth import Shape
from amaranth.lib import data, wiring
from amaranth.lib.wiring import Flow
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, RisingEdge, Timer

from mrfhw.gateware.common.leaves import port_name

__all__ = ["Bench", "pack", "unpack"]

_PERIOD = 10  # ns


class _Codec:
    """Packs and unpacks values of one shape; `Layout.const` does the same, a hundred times slower."""

    def __init__(self, shape: Any):
        self.is_list = isinstance(shape, data.ArrayLayout)
        self.fields: dict[Any, tuple[int, _Codec]] = {}
        if isinstance(shape, data.Layout):
            self.width, self.signed = shape.size, False
            self.fields = {key: (field.offset, _Codec(field.shape)) for key, field in shape}
        else:
            self.width, self.signed = Shape.cast(shape).width, Shape.cast(shape).signed

    def pack(self, value: Any) -> int:
        if not self.fields:
            number = int(value)
            low, high = (-(1 << self.width - 1), 1 << self.width - 1) if self.signed else (0, 1 << self.width)
            if not low <= number < high:
                raise ValueError(f"{number} does not fit {self.width} bits, {'signed' if self.signed else 'unsigned'}")
            return number & ((1 << self.width) - 1)
        items = value.items() if isinstance(value, Mapping) else enumerate(value)
        if len(value) != len(self.fields):
            raise ValueError(f"{value} does not give the fields {', '.join(map(str, self.fields))}")
        bits = 0
        for key, item in items:
            offset, codec = self.fields[key]
            bits |= codec.pack(item) << offset
        return bits

    def unpack(self, bits: int) -> Any:
        if not self.fields:
            return bits - (1 << self.width) if self.signed and bits >> (self.width - 1) else bits
        found = {key: codec.unpack((bits >> offset) & ((1 << codec.width) - 1))
                 for key, (offset, codec) in self.fields.items()}
        return list(found.values()) if self.is_list else found


def pack(shape: object, value: Any) -> int:
    """The bits of `value`: a number, or for a layout nested dicts and sequences with all of its fields."""
    return _Codec(shape).pack(value)


def unpack(shape: object, bits: int) -> Any:
    """The inverse of `pack`: a number, or dicts and lists of a layout's fields."""
    return _Codec(shape).unpack(bits)


class Bench:
    """A component under test, cycle by cycle.

    component: the same as the one emitted; its signature gives the ports. A cycle begins at a rising
    clock edge: `cycle` drives inputs just after it and returns in its middle, when outputs have settled;
    so an input driven in call t and an output read after call t + n are n cycles apart. Inputs hold
    until they are driven again. A component without a clock works the same.

    `expect` states an output some cycles ahead, `cycle` checks it when it is due, `finish` that none is
    left over.
    """

    def __init__(self, dut: Any, component: wiring.Component):
        self.dut = dut
        self.now = -1  # number of the last cycle
        self.checks = 0  # expectations met
        self._due: dict[int, list[tuple[str, Any, int]]] = {}
        self._codecs: dict[str, _Codec] = {}
        self._handles: dict[str, Any] = {}
        self._inputs: list[str] = []
        self._clocked = hasattr(dut, "clk")
        for path, member, _ in component.signature.flatten(component):
            name = port_name(path)
            self._codecs[name] = _Codec(member.shape)
            self._handles[name] = getattr(dut, name)
            if member.flow is Flow.In:
                self._inputs.append(name)

    async def start(self) -> None:
        """Start the clock, all inputs zero, and reset; the next cycle is number 0."""
        for name in self._inputs:
            self._handles[name].value = 0
        if self._clocked:
            Clock(self.dut.clk, _PERIOD, unit="ns").start()
            if hasattr(self.dut, "rst"):
                self.dut.rst.value = 1
                for _ in range(2):
                    await RisingEdge(self.dut.clk)
                self.dut.rst.value = 0
            await FallingEdge(self.dut.clk)
        self.now = -1
        self._due.clear()

    async def cycle(self, **values: Any) -> None:
        """The next cycle, with these inputs. Checks the outputs that are expected in it."""
        if self._clocked:
            await RisingEdge(self.dut.clk)
        for name, value in values.items():
            self._handles[name].value = self._codecs[name].pack(value)
        if self._clocked:
            await FallingEdge(self.dut.clk)
        else:
            await Timer(_PERIOD, unit="ns")
        self.now += 1
        for name, value, stated in self._due.pop(self.now, ()):
            self._check(name, value, stated)

    def expect(self, name: str, value: Any, after: int) -> None:
        """The value that output `name` must have `after` cycles from the last cycle; 0 checks it now."""
        if after == 0:
            self._check(name, value, self.now)
        else:
            assert after > 0, f"cycle {self.now + after} is past"
            self._due.setdefault(self.now + after, []).append((name, value, self.now))

    def _check(self, name: str, value: Any, stated: int) -> None:
        found = self.read(name)
        assert found == value, f"cycle {self.now}: {name} is {found}, not {value} (from cycle {stated})"
        self.checks += 1

    async def finish(self, least: int) -> None:
        """Run until every expectation is met; fails where fewer than `least` were."""
        while self._due:
            await self.cycle()
        assert self.checks >= least, f"{self.checks} checks were made; the bench promises {least}"

    async def idle(self, cycles: int) -> None:
        """Some cycles with the inputs as they are."""
        for _ in range(cycles):
            await self.cycle()

    def read(self, name: str) -> Any:
        """A port in this cycle: a number, or dicts and lists of its fields."""
        return self._codecs[name].unpack(self.bits(name))

    def bits(self, name: str) -> int:
        """A port's bits in this cycle, as one number; fails on undefined bits."""
        return int(self._handles[name].value)
