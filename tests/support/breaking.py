"""A link that breaks in the middle of a run."""

from __future__ import annotations

from mrfhw.host.links import Link, LinkError
from sim.support.faulty_link import FaultyLink

__all__ = ["Breaking", "Broken"]


class Broken(LinkError):
    """The break below, and no other."""

    def __init__(self) -> None:
        super().__init__("broken", "go on")


class Breaking(FaultyLink):
    """A link that breaks for good after a number of bytes from the board."""

    def __init__(self, link: Link, after: int):
        super().__init__(link, 0, 0)
        self.after = after

    def receive(self, seconds: float) -> bytes:
        data = super().receive(seconds)
        self.after -= len(data)
        if self.after < 0:
            raise Broken
        return data
