"""FPGAs: how much they have, and how much of it memories, multipliers and logic need."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from mrfhw.cost.estimate import Memory, Multipliers
from mrfhw.cost.families import FAMILIES, Blocks
from mrfhw.cost.logic import Logic
from mrfhw.field.problem import ProblemError

__all__ = ["DEVICES", "FAMILIES", "Device", "Needs", "device_named", "device_of"]


@dataclass(frozen=True)
class Device:
    """An FPGA.

    name: its maker's, without package and grade.
    family: of `FAMILIES`.
    lut: look-up tables of the size that the family has, or Intel's adaptive logic modules.
    ff: flip-flops.
    ram: memory blocks.
    dsp: multipliers.
    """

    name: str
    family: str
    lut: int
    ff: int
    ram: int
    dsp: int

    @property
    def dsp_most(self) -> int:
        """Multipliers of a machine at most: those that are too many become logic."""
        return 4 * max(1, self.dsp)


_LIST = (
    Device("LFE5U-12F", "ecp5", 24_288, 24_288, 56, 28), Device("LFE5U-25F", "ecp5", 24_288, 24_288, 56, 28),
    Device("LFE5U-45F", "ecp5", 43_848, 43_848, 108, 72), Device("LFE5U-85F", "ecp5", 83_640, 83_640, 208, 156),
    Device("LFE5UM5G-85F", "ecp5", 83_640, 83_640, 208, 156),
    Device("iCE40UP5K", "ice40", 5_280, 5_280, 30, 8), Device("iCE40HX8K", "ice40", 7_680, 7_680, 32, 0),
    Device("GW1NR-9C", "gowin", 8_640, 6_480, 26, 20), Device("GW2AR-18C", "gowin", 20_736, 15_552, 46, 48),
    Device("xc7a35t", "xilinx", 20_800, 41_600, 100, 90), Device("xc7a100t", "xilinx", 63_400, 126_800, 270, 240),
    Device("xc7a200t", "xilinx", 134_600, 269_200, 730, 740), Device("xc7z010", "xilinx", 17_600, 35_200, 120, 80),
    Device("xc7z020", "xilinx", 53_200, 106_400, 280, 220),
    Device("5CSEBA6", "cyclone5", 41_910, 167_640, 553, 224), Device("10AX115", "arria10", 427_200, 1_708_800, 2713, 3036),
)
DEVICES: dict[str, Device] = {device.name: device for device in _LIST}


def device_of(name: str) -> Device | None:
    """The device whose name is the beginning of this one (packages and grades are left out)."""
    return next((device for device in DEVICES.values() if name.lower().startswith(device.name.lower())), None)


def device_named(name: str) -> Device:
    """The device of that name. Raises ProblemError."""
    found = device_of(name)
    if found is None:
        raise ProblemError(f"device is {name!r}; those known are {', '.join(DEVICES)}: give one of them, or --board")
    return found


def _multipliers(factors: Multipliers, blocks: Blocks) -> int:
    total = 0
    for count, a, b in factors.values():
        if blocks.multiplies(a, b):
            wide, narrow = max(a, b), min(a, b)
            total += count * -(-wide // max(blocks.factors)) * -(-narrow // min(blocks.factors))
    return total


@dataclass(frozen=True)
class Needs:
    """What a machine takes of a device, without ports around it.

    device: the device.
    ram: memory blocks, those of a link included.
    ram_least: without the memories of which some may become logic.
    dsp: multipliers.
    logic: of the machine alone.
    link: units of logic of a link, as far as they are known.
    """

    device: Device
    ram: int
    ram_least: int
    dsp: int
    logic: Logic
    link: int = 0

    @classmethod
    def of(cls, device: Device, memories: Iterable[Memory], factors: Multipliers, logic: Logic, link: float = 0.0) -> Needs:
        """Of memories, multipliers and the logic of the device's family, and that of a link."""
        blocks, memories = FAMILIES[device.family], tuple(memories)
        ram, least = (sum(memory.count * blocks.count(memory, spared) for memory in memories) for spared in (1, 4))
        return cls(device, ram, least, _multipliers(factors, blocks), logic, round(link))

    @property
    def shares(self) -> dict[str, tuple[int, int]]:
        """(needed, there) by kind: lut, ff, ram, dsp."""
        cells, device = self.logic.cells, self.device
        return {"lut": (cells.get("logic", cells["lut"]), device.lut), "ff": (cells["ff"], device.ff),
                "ram": (self.ram, device.ram), "dsp": (self.dsp, device.dsp)}

    def too_much(self, surely: bool) -> str | None:
        """What is needed more of than there is, in words; None where it fits by count.

        Multipliers that are too many become logic, so that only what is too much for that, too, is meant.
        surely: small memories that are too many become logic, too, and logic counts as too much beyond the model's largest error,
        but with the link's.
        """
        device = self.device
        if (self.ram_least if surely else self.ram) > device.ram:
            return f"{self.ram} memory blocks, and {device.name} has {device.ram}"
        most = 1 + self.logic.largest_error * surely
        for kind, name in (("lut", FAMILIES[device.family].logic), ("ff", "flip-flops")):
            needed, there = self.shares[kind]
            needed += self.link if surely and kind == "lut" else 0
            if needed > there * most:
                return f"about {needed} {name}, and {device.name} has {there}"
        if self.dsp > device.dsp_most:
            return f"{self.dsp} multipliers, and {device.name} has {device.dsp}"
        return None
