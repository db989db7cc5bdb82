"""FPGAs: how much they have, and how much of it memories, multipliers and logic need."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from mrfhw.cost.estimate import Memory, Multipliers
from mrfhw.cost.logic import Logic
from mrfhw.field.problem import ProblemError

__all__ = ["DEVICES", "FAMILIES", "Device", "Needs", "device_named", "device_of"]


@dataclass(frozen=True)
class Blocks:
    """Memory blocks and multipliers of a family.

    modes: (width, depth) of a block.
    least_bits: memories of fewer bits are made of logic.
    factors: widths of a multiplier's unsigned factors.
    least_product: narrower products are made of logic.
    logic: what its units of logic are called.
    two_reads: a block can be read twice a cycle, in words of half the width; else each reader has a copy.
    """

    modes: tuple[tuple[int, int], ...]
    least_bits: int
    factors: tuple[int, int]
    least_product: int
    logic: str = "LUTs"
    two_reads: bool = True


def _modes(*widths_at_most: tuple[int, int], narrowest: int = 1) -> tuple[tuple[int, int], ...]:
    """Of (width, depth), and halves of the last one's width down to `narrowest`."""
    found = list(widths_at_most)
    width, depth = found[-1]
    width = 1 << (width.bit_length() - 1)  # without the bits beside a byte
    while width // 2 >= narrowest:
        width, depth = width // 2, depth * 2
        found.append((width, depth))
    return tuple(found)


FAMILIES: dict[str, Blocks] = {
    "ecp5": Blocks(_modes((36, 512), (18, 1024), (9, 2048)), 1536, (18, 18), 9),
    "ice40": Blocks(_modes((16, 256), narrowest=2), 65, (16, 16), 11, two_reads=False),
    "gowin": Blocks(_modes((36, 512), (18, 1024), (9, 2048)), 192, (18, 18), 9),
    "cyclone5": Blocks(_modes((40, 256), (20, 512), (10, 1024)), 640, (18, 18), 9, "ALMs"),
    "arria10": Blocks(_modes((40, 512), (20, 1024), (10, 2048)), 640, (18, 18), 9, "ALMs"),
    "xilinx": Blocks(_modes((36, 512), (18, 1024), (9, 2048)), 3072, (24, 17), 10),
}


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


def _blocks(memory: Memory, blocks: Blocks, least_bits: int) -> int:
    if memory.depth * memory.width < least_bits:
        return 0
    # A block's widest words are those of one read and one write port; both may read half of that.
    shared, copies = (memory.reads, 1) if blocks.two_reads else (1, memory.reads)
    widest = max(width for width, _ in blocks.modes) // shared
    return copies * memory.count * min(-(-memory.width // width) * -(-memory.depth // depth) for width, depth in blocks.modes
                                       if width <= widest)


def _multipliers(factors: Multipliers, blocks: Blocks) -> int:
    total = 0
    for count, a, b in factors.values():
        if a + b >= blocks.least_product and min(a, b) > 1:
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
    small_bits: of memories that are too small for a block, and are made of logic.
    """

    device: Device
    ram: int
    ram_least: int
    dsp: int
    logic: Logic
    small_bits: int

    @classmethod
    def of(cls, device: Device, memories: Iterable[Memory], factors: Multipliers, logic: Logic) -> Needs:
        """Of memories, multipliers and the logic of the device's family."""
        blocks, memories = FAMILIES[device.family], tuple(memories)
        ram, least = (sum(_blocks(memory, blocks, limit) for memory in memories)
                      for limit in (blocks.least_bits, 4 * blocks.least_bits))
        small = sum(one.count * one.depth * one.width for one in memories if not _blocks(one, blocks, blocks.least_bits))
        return cls(device, ram, least, _multipliers(factors, blocks), logic, small)

    @property
    def shares(self) -> dict[str, tuple[int, int]]:
        """(needed, there) by kind: lut, ff, ram, dsp."""
        cells, device = self.logic.cells, self.device
        # Gowin's carries are LUTs of their own; those of 7 series stand beside LUTs.
        lut = cells.get("logic", cells["lut"] + (cells["carry"] if device.family == "gowin" else 0))
        return {"lut": (lut, device.lut), "ff": (cells["ff"], device.ff),
                "ram": (self.ram, device.ram), "dsp": (self.dsp, device.dsp)}

    def too_much(self, surely: bool) -> str | None:
        """What is needed more of than there is, in words; None where it fits by count.

        Multipliers that are too many become logic, so that only what is too much for that, too, is meant.
        surely: small memories that are too many become logic, too, and logic counts as too much beyond the model's largest error.
        """
        device = self.device
        if (self.ram_least if surely else self.ram) > device.ram:
            return f"{self.ram} memory blocks, and {device.name} has {device.ram}"
        most = 1 + self.logic.largest_error * surely
        for kind, name in (("lut", FAMILIES[device.family].logic), ("ff", "flip-flops")):
            needed, there = self.shares[kind]
            if needed > there * most:
                return f"about {needed} {name}, and {device.name} has {there}"
        if self.dsp > device.dsp_most:
            return f"{self.dsp} multipliers, and {device.name} has {device.dsp}"
        return None
