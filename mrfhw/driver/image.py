"""A problem as a load image: every word that a program writes to a machine before a run, as the driver in Python writes it."""

from __future__ import annotations

import zlib
from enum import IntEnum

import numpy as np

from mrfhw.driver.driver import Driver, NoChip
from mrfhw.field.problem import ESTIMATES, LABELS_MIN, SWEEPS_MAX, Problem, ProblemError, Run
from mrfhw.machine.address_map import AddressMap
from mrfhw.machine.config import Config
from mrfhw.machine.derived import Derived
from mrfhw.machine.registers import DIGEST_REGISTERS, Region
from mrfhw.placement.placement import Placement, place

__all__ = ["c_array", "c_constants", "load_image"]

MAGIC = int.from_bytes(b"MRFI", "big")
FORMAT = 2  # raised with every change of what an image holds
DIGEST_WORDS = len(DIGEST_REGISTERS)


class ImageWord(IntEnum):
    """Words of an image's head.

    WORDS: of the whole image. DIGEST: first word of the circuit's digest, as its registers read. BURN_IN: sweeps before labels are
    counted, all of them where none are. ESTIMATE: place in ESTIMATES. WRITES: pairs before the sites'.
    """

    MAGIC = 0
    FORMAT = 1
    WORDS = 2
    DIGEST = 3
    ROWS = DIGEST + DIGEST_WORDS
    COLS = ROWS + 1
    LABELS = COLS + 1
    SWEEPS = LABELS + 1
    BURN_IN = SWEEPS + 1
    ESTIMATE = BURN_IN + 1
    WRITES = ESTIMATE + 1


HEAD_WORDS = max(ImageWord) + 1
PAIR = ("address", "data")


class _Recorder(NoChip):
    """A chip that keeps what is written to it."""

    def __init__(self) -> None:
        self.pieces: list[np.ndarray] = []

    def write(self, addresses: np.ndarray, data: np.ndarray) -> None:
        self.pieces.append(np.stack([addresses, data], -1).astype(np.uint32))

    @property
    def pairs(self) -> np.ndarray:
        """(n, 2) uint32: word address and data of each write, in order."""
        return np.concatenate(self.pieces)


def _of_lmem(amap: AddressMap, addresses: np.ndarray) -> np.ndarray:
    """(n,) bool: which word addresses are of a tile's LMem."""
    region = addresses >> amap.offset_bits & (1 << amap.region_bits) - 1
    return (addresses >> amap.tiles_bit & 1 == 1) & (addresses >> amap.broadcast_bit & 1 == 0) & (region == Region.LMEM)


def _pairs(placement: Placement) -> tuple[np.ndarray, np.ndarray]:
    """(writes, sites): (n, 2) uint32 pairs of address and data, those of the grid's sites in LMem in raster order by themselves.

    A site's pair is also where a program reads the site's entry after the run.
    """
    config = placement.config
    recorder = _Recorder()
    Driver(config, recorder, label_rows=False).load(placement)
    pairs = recorder.pairs
    of_lmem = np.flatnonzero(_of_lmem(AddressMap(config), pairs[:, 0].astype(np.int64)))
    # The driver writes LMem once, by tile, row and column, padding included.
    in_tiles = of_lmem.reshape(config.spes, placement.tile_rows, placement.tile_cols)
    sites = placement.untile(in_tiles).ravel()
    others = np.ones(len(pairs), bool)
    others[sites] = False
    return pairs[others], pairs[sites]


def load_image(config: Config, digest: str, problem: Problem | Placement, run: Run) -> bytes:
    """The image of `problem` for `run` on the machine `config`, whose circuit has this digest: 32-bit words, lowest byte first.

    A head (`ImageWord`); a pair of word address and data for each write, in order; a pair for each site in raster order, the first
    word of its LMem entry; the CRC-32 of all words before it. Raises ProblemError where the problem does not fit the machine, and
    where LMem does not hold the sums of the whole run.
    """
    placement = place(Derived.of(config), problem, run)
    if placement.piece_end(0) < run.sweeps:
        labels = placement.problem.labels
        raise ProblemError(f"the run counts {run.counted} sweeps; LMem holds the sums of {placement.config.sum_sweeps(labels)} "
                           f"sweeps of {labels} labels, and the driver in C does not clear them: give fewer sweeps, or a machine "
                           "of more counter_bits")
    writes, sites = _pairs(placement)
    rows, cols = placement.problem.shape
    head = np.zeros(HEAD_WORDS, np.uint32)
    values = {ImageWord.MAGIC: MAGIC, ImageWord.FORMAT: FORMAT, ImageWord.WORDS: HEAD_WORDS + 2 * (len(writes) + len(sites)) + 1,
              ImageWord.ROWS: rows, ImageWord.COLS: cols, ImageWord.LABELS: placement.problem.labels,
              ImageWord.SWEEPS: run.sweeps, ImageWord.BURN_IN: run.counts_from,
              ImageWord.ESTIMATE: ESTIMATES.index(run.estimate), ImageWord.WRITES: len(writes)}
    for word, value in values.items():
        head[word] = value
    for number in range(DIGEST_WORDS):
        head[ImageWord.DIGEST + number] = int(digest[8 * number:8 * number + 8], 16)
    data = np.concatenate([head, writes.ravel(), sites.ravel()]).astype("<u4").tobytes()
    return data + zlib.crc32(data).to_bytes(4, "little")


def c_constants() -> str:
    """The layout of an image as C macros, for the driver's header."""
    lines = [f"#define MRFHW_IMAGE_{word.name} {word.value}" for word in ImageWord]
    lines += [f"#define MRFHW_IMAGE_LABELS_MIN {LABELS_MIN}u", f"#define MRFHW_IMAGE_SWEEPS_MAX {SWEEPS_MAX:#x}u"]
    lines += [f"#define MRFHW_IMAGE_HEAD_WORDS {HEAD_WORDS}", f"#define MRFHW_IMAGE_MAGIC_VALUE {MAGIC:#010x}u",
              f"#define MRFHW_IMAGE_FORMAT_VALUE {FORMAT}u", f"#define MRFHW_IMAGE_PAIR_WORDS {len(PAIR)}"]
    lines += [f"#define MRFHW_IMAGE_PAIR_{name.upper()} {number}" for number, name in enumerate(PAIR)]
    lines += [f"#define MRFHW_ESTIMATE_{name.upper()} {number}u" for number, name in enumerate(ESTIMATES)]
    return "\n".join(lines)


def c_array(image: bytes) -> str:
    """An image as a C header: mrfhw_load_image, its words, and the size of its grid as macros."""
    words = np.frombuffer(image, "<u4")
    rows, cols, labels = (int(words[name]) for name in (ImageWord.ROWS, ImageWord.COLS, ImageWord.LABELS))
    lines = ["/* Generated by mrfhw export: a load image for mrfhw_driver.h. */", "#ifndef MRFHW_LOAD_IMAGE_H",
             "#define MRFHW_LOAD_IMAGE_H", "", "#include <stdint.h>", "", f"#define MRFHW_FIELD_ROWS {rows}u",
             f"#define MRFHW_FIELD_COLS {cols}u", f"#define MRFHW_FIELD_SITES {rows * cols}u",
             f"#define MRFHW_FIELD_LABELS {labels}u", f"#define MRFHW_LOAD_IMAGE_WORDS {len(words)}u", "",
             "static const uint32_t mrfhw_load_image[MRFHW_LOAD_IMAGE_WORDS] = {"]
    lines += [f"    {', '.join(f'{word:#x}u' for word in words[at:at + 8])}," for at in range(0, len(words), 8)]
    return "\n".join([*lines, "};", "", "#endif", ""])
