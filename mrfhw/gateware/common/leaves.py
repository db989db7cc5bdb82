"""Identical parts as instances of one module."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from amaranth import ClockSignal, Elaboratable, Fragment, Instance, Module, ResetSignal, Shape, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import Flow

__all__ = ["Leaves", "port_name"]


def port_name(path: tuple[str | int, ...]) -> str:
    """The Verilog name of a port."""
    return "_".join(map(str, path))


class Leaves:
    """Makes components, either as submodules (for a simulator) or as instances of a module emitted once.

    shared: False gives each part its own copy, which every Amaranth simulator understands. True gives
    an Instance with the same ports; `modules` then holds one component for each module name, to be emitted in the same file.
    """

    def __init__(self, shared: bool):
        self.shared = shared
        self.modules: dict[str, wiring.Component] = {}

    def add(self, m: Module, name: str, instance: str, make: Callable[[], wiring.Component],
            domains: tuple[str, ...] = ()) -> wiring.PureInterface | wiring.Component:
        """A part of module `name`, added to `m` as `instance`; returns an object with its ports.

        domains: that it has beside "sync".
        """
        if not self.shared:
            component = make()
            m.submodules[instance] = component
            return component
        if name not in self.modules:
            self.modules[name] = make()
        connections: dict[str, object] = {"i_clk": ClockSignal(), "i_rst": ResetSignal()}
        for domain in domains:
            connections |= {f"i_{domain}_clk": ClockSignal(domain), f"i_{domain}_rst": ResetSignal(domain)}
        ports = _wires(self.modules[name].signature, instance, (), connections)
        m.submodules[instance] = _Named(name, connections)
        return ports


def _wires(signature: Any, instance: str, path: tuple[str | int, ...], connections: dict[str, object]) -> wiring.PureInterface:
    """An interface of plain vectors, which are put among the connections of an instance.

    A signal of a layout, as `signature.create` makes it, would be emitted with a wire for each of its fields.
    """
    def made(member: Any, dimensions: tuple[int, ...], path: tuple[str | int, ...]) -> object:
        if dimensions:
            return [made(member, dimensions[1:], (*path, index)) for index in range(dimensions[0])]
        if member.is_signature:
            return _wires(member.signature, instance, path, connections)
        wire = Signal(Shape.cast(member.shape).width, name=f"{instance}_{port_name(path)}")
        connections[f"{'o' if member.flow is Flow.Out else 'i'}_{port_name(path)}"] = wire
        return data.View(member.shape, wire) if isinstance(member.shape, data.Layout) else wire

    ports = wiring.PureInterface.__new__(wiring.PureInterface)
    ports.__dict__["signature"] = signature
    for name, member in signature.members.items():
        ports.__dict__[name] = made(member, member.dimensions, (*path, name))
    return ports


class _Named(Elaboratable):
    """An Instance without a module of its own around it."""

    def __init__(self, name: str, connections: dict[str, object]):
        self.name, self.connections = name, connections

    def elaborate(self, platform: object) -> Fragment:
        return Instance(self.name, **self.connections)
