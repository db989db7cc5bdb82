"""Components that refuse their arguments."""

from __future__ import annotations

import gc
import re
import warnings
from collections.abc import Callable

from amaranth.hdl import UnusedElaboratable


def assert_refused(make: Callable[[], object], message: str) -> None:
    """`make()` raises ValueError with a text that begins with `message`.

    Amaranth warns of a component that is never elaborated, also of one whose constructor raised, when it is collected.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnusedElaboratable)
        try:
            make()
        except ValueError as error:
            text = str(error)
        else:
            raise AssertionError(f"nothing was raised; wanted: {message}")
        gc.collect()
    assert re.match(re.escape(message), text), text
