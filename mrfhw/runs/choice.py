"""Which backend is meant, and which options say nothing to it."""

from __future__ import annotations

from collections.abc import Iterable

from mrfhw.backends.registry import AUTO, backend_type
from mrfhw.machine.manifest import NAMES
from mrfhw.system.errors import ProblemError

__all__ = ["board_of", "check_useful", "chosen_backend"]

# Of a machine's options, those that say where on a machine a field lies and how its results leave it: no distribution depends on
# them.
PLACING = ("spes", "mesh", "spus", "lanes", "subset_slots", "tile_rows", "tile_cols", "counter_bits", "address_bits", "lmem_banks",
           "s2_words", "hub_fan_in", "hub_depth", "line_levels", "line_bits", "clusters", "contexts")
_OF_A_MACHINE = {*NAMES, "visit", "clock"}  # options that say something of a machine and its runs


def chosen_backend(backend: str, given: Iterable[str]) -> str:
    """`backend`; for AUTO the bit-exact model where anything of a machine is among the given options, else the processor, which
    takes the least time."""
    if backend != AUTO:
        return backend
    return "cpu" if _OF_A_MACHINE.isdisjoint(given) else "model"


def board_of(backend: str) -> str | None:
    """What the board at an address is called as a resource of a Dask worker: its address without what stands behind a ?. None for
    a backend that is no board, or a simulated one."""
    scheme, separator, _ = backend.partition("://")
    return backend.partition("?")[0] if separator and scheme != "sim" else None


def check_useful(backend: str, given: Iterable[str], visit: int | None = None, clock_mhz: float | None = None) -> tuple[str, ...]:
    """A note where a backend without a machine leaves out some of the given options, by name.

    A placement may stand beside the widths of a machine, which hold for such a backend as well. Raises ProblemError for visits and
    a clock, which mean nothing there.
    """
    given, kind = list(given), backend_type(backend)
    placing = [name for name in PLACING if name in given]
    if "most_sweeps" in given and not kind.shows_sweeps:  # of a machine, to which all others mean something
        return (f"Note: most-sweeps is for chains that do not agree; {backend} shows no sweeps, so that this can be told of a "
                "picture in windows alone",)
    if not kind.software:
        return ()
    if visit is not None:
        raise ProblemError(f"visit is {visit}; backend {backend} takes a picture of any size whole, not in windows: leave visit "
                           "out, or give backend model")
    if clock_mhz is not None:
        raise ProblemError(f"clock is {clock_mhz:g} MHz; backend {backend} has no machine and no cycles: leave clock out, or give "
                           "backend model")
    if not placing:
        return ()
    return (f"Note: {', '.join(placing)} place{'s' if len(placing) == 1 else ''} a field on a machine; backend {backend} has none: "
            "backend model takes " + ("it" if len(placing) == 1 else "them"),)
