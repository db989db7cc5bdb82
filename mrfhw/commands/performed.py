"""`mrfhw run` in this process, for who does many of them."""

from __future__ import annotations

import contextlib
import io
import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from mrfhw.commands.application import Elsewhere
from mrfhw.commands.applications import run
from mrfhw.host.links import LinkError
from mrfhw.planning.lanes import held

__all__ = ["InTurn", "Performed", "performed"]


@dataclass(frozen=True)
class Performed:
    """What a run has come to. code: exit status. said: what it printed. seconds, processor_seconds: what it took."""

    code: int
    said: str
    seconds: float
    processor_seconds: float


class InTurn:
    """In a context's `obj`, of a run in a worker that takes its board by turns. lost: what was raised when the board was."""

    def __init__(self) -> None:
        self.lost: LinkError | None = None

    @contextlib.contextmanager
    def turn(self) -> Iterator[None]:
        try:
            with held():
                yield
        except LinkError as error:
            self.lost = error
            raise


def performed(words: Sequence[str], base: Path, output: Path, beside: Elsewhere | InTurn | None = None) -> Performed:
    """Run the words behind `mrfhw run` in the folder `base`, which this process is in afterwards.

    output: where its files go. beside: what is said in the place of the words, or that its board is taken by turns; raises
    LinkError then where that is lost.
    """
    os.chdir(base)
    said, began, busy, code = io.StringIO(), time.perf_counter(), time.process_time(), 0
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        try:
            run.main([*words, "-o", str(output)], prog_name="mrfhw run", obj=beside)
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 1
    text = said.getvalue().strip()
    if isinstance(beside, InTurn) and beside.lost is not None:
        raise beside.lost
    return Performed(code, beside.said(text) if isinstance(beside, Elsewhere) else text, time.perf_counter() - began,
                     time.process_time() - busy)
