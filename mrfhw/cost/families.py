"""Families of FPGAs: their memory blocks and multipliers, and what is too small for them."""

from __future__ import annotations

from dataclasses import dataclass

from mrfhw.cost.estimate import Memory

__all__ = ["FAMILIES", "Blocks"]


@dataclass(frozen=True)
class Blocks:
    """Memory blocks and multipliers of a family.

    modes: (width, depth) of a block.
    least_bits: memories of fewer bits are made of logic; None: where that costs less, as Yosys weighs it (`memory_libmap`), a block
        as `cost` bits.
    factors: widths of a multiplier's unsigned factors.
    least_product: narrower products are made of logic.
    logic: what its units of logic are called.
    two_reads: a block can be read twice a cycle, in words of half the width; else each reader has a copy.
    distributed: look-up tables are memories of 16 words, too.
    """

    modes: tuple[tuple[int, int], ...]
    least_bits: int | None
    factors: tuple[int, int]
    least_product: int
    logic: str = "LUTs"
    two_reads: bool = True
    distributed: bool = False
    cost: int = 128

    def multiplies(self, a: int, b: int) -> bool:
        """Whether a product of factors of so many bits is made by a multiplier, and not of logic."""
        return a + b >= self.least_product and min(a, b) > 1

    def count(self, memory: Memory, spared: int = 1) -> int:
        """Blocks of one such memory; none where it is made of logic. spared: how many times what a block costs logic may cost."""
        # A block's widest words are those of one read and one write port; both may read half of that.
        if memory.reads == 2 and self.two_reads:
            blocks = self._of_words(memory, memory.width, 2)
        else:
            copy = self._of_words(memory, memory.second or memory.width)
            blocks = self._of_words(memory, memory.width) + (memory.reads - 1) * copy
        if self.least_bits is not None:
            return 0 if memory.depth * memory.width < spared * self.least_bits else blocks
        return 0 if self.logic_cost(memory) <= spared * self.cost * blocks else blocks

    def _of_words(self, memory: Memory, width: int, ports: int = 1) -> int:
        widest = max(width for width, _ in self.modes) // ports
        return min(-(-width // wide) * -(-memory.depth // deep) for wide, deep in self.modes if wide <= widest)

    def logic_cost(self, memory: Memory) -> float:
        """Of one such memory made of logic, in bits: a register each, a sixteenth of constants, or look-up tables with what
        chooses among them."""
        bits = memory.depth * memory.width
        if memory.constant:
            return bits / 16
        if not self.distributed:
            return bits
        rows = -(-memory.depth // 16)
        tables = 4 * -(-memory.width * rows // 4) * memory.reads
        return min(bits, tables + (rows - 1) * memory.width * memory.reads / 2 + (rows / 2 if rows > 1 else 0))


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
    "ecp5": Blocks(_modes((36, 512), (18, 1024), (9, 2048)), None, (18, 18), 9, distributed=True),
    "ice40": Blocks(_modes((16, 256), narrowest=2), None, (16, 16), 11, two_reads=False, cost=64),
    "gowin": Blocks(_modes((36, 512), (18, 1024), (9, 2048)), None, (18, 18), 9),
    "cyclone5": Blocks(_modes((40, 256), (20, 512), (10, 1024)), 640, (18, 18), 9, "ALMs"),
    "arria10": Blocks(_modes((40, 512), (20, 1024), (10, 2048)), 640, (18, 18), 9, "ALMs"),
    "xilinx": Blocks(_modes((36, 512), (18, 1024), (9, 2048)), 3072, (24, 17), 10),
}
