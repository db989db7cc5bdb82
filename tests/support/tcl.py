"""Vendor tools' scripts, read by Tcl itself."""

from __future__ import annotations

import pytest

__all__ = ["commands"]


def commands(script: str) -> list[list[str]]:
    """The words of each command that is no part of Tcl, in the order in which the script would call it.

    get_ports and its like return themselves, the others nothing. Raises ValueError where Tcl cannot read the script. Skips the
    test where Python has no Tcl.
    """
    tkinter = pytest.importorskip("tkinter", reason="Python has no Tcl: apt-get install python3-tk", exc_type=ImportError)
    found: list[list[str]] = []

    def unknown(*words: str) -> str:
        found.append(list(words))
        return "{" + " ".join(words) + "}" if words[0].startswith("get_") else ""

    tcl = tkinter.Tcl()
    tcl.createcommand("unknown", unknown)
    if not tcl.call("info", "complete", script):
        raise ValueError("the script is not whole")
    try:
        tcl.eval(script)
    except tkinter.TclError as error:
        raise ValueError(str(error)) from None
    return found
