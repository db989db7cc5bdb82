"""Which circuit the board of a machine must have."""

from __future__ import annotations

import importlib

from mrfhw.machine.config import Config
from mrfhw.machine.manifest import stated_digest

__all__ = ["digest_of"]


def digest_of(config: Config) -> str:
    """The digest of a machine's circuit, hexadecimal: what its manifest states.

    Of a machine that options describe it is what the generator makes of it, or has made and kept: that room is entered here alone,
    since with a manifest a host has no need of it.
    """
    found: str = stated_digest(config) or importlib.import_module("mrfhw.generation.identity").circuit_digest(config)
    return found
