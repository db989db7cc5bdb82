"""A bar for work that does not say how far it is."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator

from tqdm import tqdm  # type: ignore[import-untyped,unused-ignore]

__all__ = ["working"]


@contextlib.contextmanager
def working(what: str, quiet_seconds: float = 2.0) -> Iterator[None]:
    """Shows `what` and the seconds passed on a terminal while the block runs longer than `quiet_seconds`."""
    done = threading.Event()

    def show() -> None:
        if done.wait(quiet_seconds):
            return
        with tqdm(desc=what, bar_format="{desc}: {elapsed}", initial=int(quiet_seconds), leave=False, disable=None) as bar:
            while not done.wait(0.5):
                bar.refresh()

    thread = threading.Thread(target=show, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
