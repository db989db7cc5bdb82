"""The text that a device compiles: the kernels, and in front of them what is other in each of the two languages."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from mrfhw.field.problem import ProblemError

__all__ = ["ENTRY", "LANGUAGES", "NOW", "PLAIN", "PROPOSED", "Variant", "paths_source", "room", "source", "whole_text"]

# Of a field, in int64: its size, where its data begin in the arrays of all fields (-1: it has none), its generator's key, and its
# regions.
ENTRY = ("rows", "columns", "labels", "sites", "clamped", "singles", "doubles", "sides", "edges", "counts", "sums", "key0", "key1",
         "turns", "region_rows", "region_columns", "regions_across")
# Of a field in a sweep, in int32.
NOW = ("sweep", "weights", "weights_size", "counted", "every")

LANGUAGES = {
    "opencl": """
#pragma OPENCL FP_CONTRACT OFF
#define KERNEL __kernel
#define FUNCTION
#define GLOBAL __global
#define LOCAL __local
#define UINT uint
#define UCHAR uchar
#define USHORT ushort
#define I64 long
#define U64 ulong
#define MUL_HI(a, b) mul_hi((uint)(a), (uint)(b))
#define MUL_HI64(a, b) mul_hi((ulong)(a), (ulong)(b))
#define GLOBAL_ID(axis) ((int)get_global_id(axis))
#define GROUP_ID(axis) ((int)get_group_id(axis))
#define LOCAL_ID(axis) ((int)get_local_id(axis))
#define BARRIER barrier(CLK_LOCAL_MEM_FENCE)
""",
    "cuda": """
#define AXIS(of, axis) ((axis) == 0 ? of.x : (axis) == 1 ? of.y : of.z)
#define KERNEL extern "C" __global__
#define FUNCTION __device__
#define GLOBAL
#define LOCAL __shared__
#define UINT unsigned int
#define UCHAR unsigned char
#define USHORT unsigned short
#define I64 long long
#define U64 unsigned long long
#define MUL_HI(a, b) __umulhi((a), (b))
#define MUL_HI64(a, b) __umul64hi((a), (b))
#define GLOBAL_ID(axis) ((int)(AXIS(blockIdx, axis) * AXIS(blockDim, axis) + AXIS(threadIdx, axis)))
#define GROUP_ID(axis) ((int)AXIS(blockIdx, axis))
#define LOCAL_ID(axis) ((int)AXIS(threadIdx, axis))
#define BARRIER __syncthreads()
"""}

PROPOSED = 1 << 28  # over how likely a label is proposed, in a subset's weights


@dataclass(frozen=True)
class Variant:
    """How a device draws, on which no bit depends.

    group: cells of a colour in a row, and rows, that are drawn by one work-group.
    keep: a site's energies are kept from the first to the last pass over its labels, not worked out again.
    local_doubles: a work-group copies the doubletons into its own memory.
    local_labels: a work-group copies its neighbours' labels into it.
    fixed: the compiler knows the number of labels, where all fields have as many, and loops over them are written out, so that kept
        energies may be in registers.
    """

    group: tuple[int, int] = (64, 1)
    keep: bool = True
    local_doubles: bool = False
    local_labels: bool = False
    fixed: bool = False

    def __post_init__(self) -> None:
        if min(self.group) < 1:
            raise ProblemError(f"group is {self.group[0]}x{self.group[1]}; it has cells of a row, and rows: give at least 1 of "
                               "each")

    @property
    def text(self) -> str:
        """As behind the question mark of a backend's name."""
        local = "+".join(name for name, here in (("doubles", self.local_doubles), ("labels", self.local_labels)) if here)
        return f"group={self.group[0]}x{self.group[1]}&keep={int(self.keep)}&local={local or 'none'}&fixed={int(self.fixed)}"


PLAIN = Variant()


def room(number: int) -> int:
    """The next power of two, 16 or more."""
    return max(16, 1 << (number - 1).bit_length())


@cache
def source(language: str, variant: Variant, most_labels: int, doubles: int, single_bits: int, count_bits: int,
           alike: bool = False, events: bool = False, subset: int = 0) -> str:
    """The text for a device. It has room for the next power of two of labels and doubletons, as each text is compiled.

    language: of LANGUAGES.
    most_labels: of a field; alike: all have so many.
    events: sites whose turn it is not are skipped.
    subset: labels among which a site is drawn; 0 for all.
    doubles: the largest number of entries of a field's doubletons.
    single_bits, count_bits: 16 or 32, of a singleton's energy and of a count.
    """
    fixed = variant.fixed and alike
    numbers: dict[str, object] = {
        "MOST_LABELS": (most_labels if fixed else room(most_labels)) if variant.keep else 0,
        "NUMBER": most_labels if fixed else "(int)of[E_LABELS]", "UNROLL": '_Pragma("unroll")' if fixed else "",
        "EVENTS": int(events), "SUBSET": subset, "PROPOSED": PROPOSED, "KEEP": int(variant.keep),
        "LOCAL_DOUBLES": room(doubles) if variant.local_doubles else 0,
        "LOCAL_LABELS": int(variant.local_labels), "GROUP_X": variant.group[0], "GROUP_Y": variant.group[1],
        "ENTRY": len(ENTRY), "NOW": len(NOW), "SINGLE": {16: "short", 32: "int"}[single_bits],
        "COUNT": {16: "unsigned short", 32: "unsigned int"}[count_bits],
        **{f"E_{name.upper()}": place for place, name in enumerate(ENTRY)},
        **{f"N_{name.upper()}": place for place, name in enumerate(NOW)}}
    return whole_text(language, numbers, __package__, "kernels.cl")


@cache
def paths_source(language: str, group: int, most_labels: int, row: int) -> str:
    """The text of paths.

    language: of LANGUAGES.
    group: cells that follow a path, a power of two.
    most_labels: of a field.
    row: cells of a row of work that is of no picture.
    """
    return whole_text(language, {"GROUP": group, "MOST_LABELS": max(group, room(most_labels)), "ROW": row}, __package__, "paths.cl")


def whole_text(language: str, numbers: dict[str, object], package: str | None, name: str) -> str:
    """The text of a file of kernels in a package, with the language's macros and those of `numbers` in front."""
    return "".join((LANGUAGES[language], *(f"#define {macro} {value}\n" for macro, value in numbers.items()),
                    files(str(package)).joinpath(name).read_text()))
