"""Numbers and arrays as a caller gives them, checked once and made safe to keep.

An array that is kept must not change under the program. One that may be written, by itself or by an array below it, is copied;
one that is read-only all the way down is kept as it is, so that large images that are handed over frozen
(`array.flags.writeable = False`), and pieces of arrays that were kept before, cost no memory. Who freezes an array and goes on
writing through a view made earlier breaks that promise himself.
"""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from mrfhw.system.errors import ProblemError

__all__ = ["NUMBER_MAX", "array_of", "finite", "finite_array", "mask", "short", "unmasked", "whole_array", "whole_number"]

NUMBER_MAX = (1 << 31) - 1  # of whole numbers that have no narrower limit
_LONGEST = 40  # characters of a number in a message


def short(value: object) -> str:
    """A value for a message, cut in the middle where it is long."""
    try:
        text = str(value)
    except ValueError:  # Python writes no integer of more than 4300 digits
        return f"a number of {int(math.log10(abs(value))) if isinstance(value, int) else 'many'} digits"
    return text if len(text) <= _LONGEST else f"{text[:20]}...{text[-8:]} ({len(text)} characters)"


def whole_number(name: str, value: Any, low: int, high: int, hint: str, limits: str = "") -> int:
    """`value` as an int: an integer or a float of whole value within the limits, else ProblemError.

    limits: how the message says what is taken, in place of "the limits are LOW to HIGH".
    """
    number: int | None = None
    if not isinstance(value, bool | np.bool_):
        try:
            number = operator.index(value)
        except TypeError:
            if isinstance(value, float | np.floating) and float(value).is_integer():
                number = int(value)
    if number is None or not low <= number <= high:
        kind = "it must be a whole number from" if number is None else "the limits are"
        taken = limits or f"{kind} {low} to {high}"
        shown = short(value) if isinstance(value, int | float | np.number) else short(repr(value))
        raise ProblemError(f"{name} is {shown}; {taken}: {hint}")
    return number


def finite(name: str, value: Any, low: float, hint: str) -> float:
    """`value` as a finite float above `low`, else ProblemError."""
    try:
        number = math.nan if isinstance(value, bool | np.bool_ | str | bytes) else float(value)
    except OverflowError:
        number = math.inf
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number) or number <= low:
        shown = short(repr(value) if isinstance(value, str) else value)
        raise ProblemError(f"{name} is {shown}; it must be a finite number above {low:g}: {hint}")
    return number


def mask(name: str, given: Any) -> np.ndarray:
    """A mask as a bool array to keep: from booleans, or from integers of which all are 0 or 1. Else ProblemError."""
    array = array_of(name, given)
    hint = f"give booleans, such as {name} != 0"
    if array.dtype.kind not in "biu":
        raise ProblemError(f"{name} has values of type {array.dtype}; a mask has booleans, or whole numbers 0 and 1: {hint}")
    if array.dtype.kind != "b":
        if array.size and (array.min() < 0 or array.max() > 1):
            raise ProblemError(f"{name} has values from {array.min()} to {array.max()}; a mask has booleans, or whole numbers 0 "
                               f"and 1: {hint}")
        return _frozen(array.astype(bool))
    return _kept(array)


def whole_array(name: str, given: Any, bits: int = 32) -> np.ndarray:
    """Signed whole numbers of at most `bits`, 32 or fewer, as an integer array to keep, else ProblemError.

    Booleans become 0 and 1. Integers whose type has no wider numbers stay in it, others and floats of whole value become int32.
    """
    array = array_of(name, given)
    kind = array.dtype.kind
    if kind not in "biuf":
        raise ProblemError(f"{name} has values of type {array.dtype}; they are whole numbers: give an array of integers")
    if kind == "b":
        return _frozen(array.astype(np.uint8))
    if kind == "f":
        array = array.astype(np.float64)  # narrow ones have no such limits
        strange = array[~np.isfinite(array)] if not np.isfinite(array).all() else array[array != np.trunc(array)]
        if strange.size:
            raise ProblemError(f"{name} has the value {strange.flat[0]}; values are finite whole numbers: scale them, and "
                               + ("round them, as mrfhw.field.costs.scaled_costs does" if name == "unary" else "round them"))
    low, high = -(1 << (bits - 1)), (1 << (bits - 1)) - 1
    if kind != "f" and np.iinfo(array.dtype).min >= low and np.iinfo(array.dtype).max <= high:
        return _kept(array)
    if array.size and (array.min() < low or array.max() > high):
        raise ProblemError(f"{name} has values from {array.min()} to {array.max()}; the limits are {low} to {high}: scale them")
    return _kept(array) if array.dtype == np.int32 else _frozen(array.astype(np.int32))


def finite_array(name: str, given: Any) -> np.ndarray:
    """Finite real numbers as a float64 array to keep, else ProblemError."""
    array = array_of(name, given)
    if array.dtype.kind not in "biuf":
        raise ProblemError(f"{name} has values of type {array.dtype}; they are real numbers: give an array of floats")
    array = array.astype(np.float64)
    if not np.isfinite(array).all():
        raise ProblemError(f"{name} has the value {array[~np.isfinite(array)][0]}; values are finite numbers: replace it")
    return _frozen(array)


def array_of(name: str, given: Any) -> np.ndarray:
    """As NumPy takes it, of any type and shape. Raises ProblemError for rows that differ and for masked values."""
    if isinstance(given, np.ma.MaskedArray) and np.ma.getmaskarray(given).any():
        raise ProblemError(f"{name} is an array of which values are masked; all are needed: fill them in")
    try:
        return np.asarray(given)
    except (ValueError, TypeError, OverflowError):
        raise ProblemError(f"{name} is no array of numbers; its rows differ, or its values are none: give a NumPy array") from None


def unmasked(given: Any, unknown: float) -> Any:
    """A masked array with `unknown` where it is masked; anything else as it is."""
    return given.filled(unknown) if isinstance(given, np.ma.MaskedArray) else given


def _frozen(array: np.ndarray) -> np.ndarray:
    array.flags.writeable = False
    return array


def _kept(array: np.ndarray) -> np.ndarray:
    """The array where nobody can write it, else a copy in raster order."""
    below: Any = array
    while isinstance(below, np.ndarray) and not below.flags.writeable:
        below = below.base
    if below is None or isinstance(below, bytes):
        return array
    return _frozen(np.array(array, order="C", copy=True, subok=False))
