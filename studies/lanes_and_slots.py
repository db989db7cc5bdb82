"""An option of benchmarks: machines by their lanes and the slots of a site that they evaluate."""

from __future__ import annotations

import click

__all__ = ["LanesAndSlots"]


class LanesAndSlots(click.ParamType):
    """Machines LANES:SLOTS by commas, with 0 slots for all of them, as (lanes, subset_slots)."""

    name = "LANES:SLOTS,..."

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> list[tuple[int, int]]:
        """Any text that is no list of two numbers each ends in one line."""
        if not isinstance(value, str):
            return value  # type: ignore[return-value]  # converted already
        found = []
        for machine in value.split(","):
            numbers = machine.split(":")
            if len(numbers) != 2 or not all(number.isdecimal() for number in numbers):
                self.fail(f"{machine!r} is no LANES:SLOTS: give such as 16:0,2:4", param, ctx)
            found.append((int(numbers[0]), int(numbers[1])))
        return found
