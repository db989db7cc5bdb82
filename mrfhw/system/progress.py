"""How far work is, on stderr."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Iterator
from types import TracebackType
from typing import Self

from tqdm import tqdm  # type: ignore[import-untyped,unused-ignore]

__all__ = ["Lines", "compiling", "counting", "working"]

SECONDS = 20.0  # from line to line where there is no terminal
_compiled: set[tuple[object, ...]] = set()  # kernels that this process has called


class Lines:
    """What a bar says, as a line now and then: for files and pipes, where no bar can be wiped. A context manager."""

    def __init__(self, total: int, what: str, unit: str):
        self._total, self._what, self._unit = total, what, unit
        self._done, self._said = 0, time.monotonic()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        pass

    def update(self, done: int = 1) -> None:
        """So many more are done."""
        self._done += done
        now = time.monotonic()
        if now - self._said >= SECONDS and self._done < self._total:
            print(f"{self._what}: {self._done} of {self._total} {self._unit}s", file=sys.stderr, flush=True)
            self._said = now


def counting(total: int, what: str, unit: str) -> tqdm | Lines:
    """A bar on a terminal's stderr from the second second on, lines elsewhere."""
    if sys.stderr is None or not sys.stderr.isatty():
        return Lines(total, what, unit)
    return tqdm(total=total, desc=what, unit=unit, delay=2, mininterval=0.5, leave=False)


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


def compiling(*kernel: object) -> contextlib.AbstractContextManager[None]:
    """Around the first call of a kernel: it may be compiled, which takes seconds."""
    if kernel in _compiled:
        return contextlib.nullcontext()
    _compiled.add(kernel)
    return working("compiling the model")
