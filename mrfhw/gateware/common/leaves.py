"""Identical parts as instances of one module."""

from __future__ import annotations

from collections.abc import Callable

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
        signature = self.modules[name].signature
        ports = signature.create(path=(instance,))
        connections: dict[str, object] = {"i_clk": ClockSignal(), "i_rst": ResetSignal()}
        for domain in domains:
            connections |= {f"i_{domain}_clk": ClockSignal(domain), f"i_{domain}_rst": ResetSignal(domain)}
        for path, member, _ in list(signature.flatten(ports)):
            # A plain vector: a signal of a layout would be emitted with a wire for each of its fields.
            wire = Signal(Shape.cast(member.shape).width, name=f"{instance}_{port_name(path)}")
            holder = ports
            for step in path[:-1]:
                holder = getattr(holder, str(step))
            layout = isinstance(member.shape, data.Layout)
            setattr(holder, str(path[-1]), data.View(member.shape, wire) if layout else wire)
            connections[f"{'o' if member.flow is Flow.Out else 'i'}_{port_name(path)}"] = wire
        m.submodules[instance] = _Named(name, connections)
        return ports


class _Named(Elaboratable):
    """An Instance without a module of its own around it."""

    def __init__(self, name: str, connections: dict[str, object]):
        self.name, self.connections = name, connections

    def elaborate(self, platform: object) -> Fragment:
        return Instance(self.name, **self.connections)
