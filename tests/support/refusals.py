"""Components that refuse their arguments, and commands that refuse their work."""

from __future__ import annotations

import gc
import re
import warnings
from collections.abc import Callable

from amaranth.hdl import UnusedElaboratable
from click.testing import Result

__all__ = ["assert_one_line", "assert_refused"]


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
        gc.collect(1)  # what `make` has left is young
    assert re.match(re.escape(message), text), text


def assert_one_line(result: Result, says: str) -> None:
    """A command that ended with exit code 2 and one line on stderr; a pattern of how it begins after "Error: "."""
    assert isinstance(result.exception, SystemExit), result.exception
    assert result.exit_code == 2, result.output
    text = result.stderr.rsplit("\r", 1)[-1]  # a progress bar that was there is wiped
    assert text.startswith("Error: "), text
    assert text.endswith("\n"), text
    assert text.count("\n") == 1, text
    assert re.match(says, text.removeprefix("Error: ")), text
