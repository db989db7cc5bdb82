"""What of many runs has ended, a line each in a file, so that what a kill left can be gone on with."""

from __future__ import annotations

import contextlib
import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

from mrfhw.system.files import replaced

__all__ = ["Ended", "Journal"]


@dataclass(frozen=True)
class Ended:
    """A run that has ended, as a line of the journal has it.

    name: of its folder.
    words: what was run, as words behind `mrfhw run`.
    digest: of these and of the files that they name.
    code: the exit status, 0 where it ended well.
    said: what it printed.
    seconds: what it took.
    processor_seconds: of the processor.
    """

    name: str
    words: list[str]
    digest: str
    code: int
    said: str
    seconds: float
    processor_seconds: float

    @property
    def line(self) -> str:
        """What is said of it in the terminal."""
        if self.code:
            return f"{self.name}: {self.said.splitlines()[-1] if self.said else f'exit status {self.code}'}"
        return f"{self.name}: {self.seconds:.1f} s"


class Journal:
    """What has ended, a line each, on the disk before it is said; a context manager.

    path: its file.
    keep: whether lines of a former run stay.
    """

    def __init__(self, path: Path, keep: bool):
        self.ended: dict[str, Ended] = {}
        self._folder = path.parent
        if keep:
            with contextlib.suppress(FileNotFoundError):
                for line in path.read_text().splitlines():
                    with contextlib.suppress(ValueError, TypeError):  # the last one, which a kill cut off
                        one = Ended(**json.loads(line))
                        self.ended[one.name] = one
        path.parent.mkdir(parents=True, exist_ok=True)
        with replaced(path) as file:
            for one in self.ended.values():
                file.write(self._line(one))
        self._file = path.open("ab")

    @staticmethod
    def _line(one: Ended) -> bytes:
        return (json.dumps(asdict(one)) + "\n").encode()

    def add(self, one: Ended) -> None:
        self.ended[one.name] = one
        self._file.write(self._line(one))
        self._file.flush()
        os.fsync(self._file.fileno())

    def reports(self) -> list[tuple[Ended, dict[str, Any] | None]]:
        """What has ended, by name, with the report.json of each that has one."""
        found: list[tuple[Ended, dict[str, Any] | None]] = []
        for name, one in sorted(self.ended.items()):
            report = None
            with contextlib.suppress(OSError, ValueError):
                report = json.loads((self._folder / name / "report.json").read_text())
            found.append((one, report if one.code == 0 else None))
        return found

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
