"""The machines that were generated on this computer, by the digest of their circuits: what a board is, when it says no more.

Each is a file in the user's cache with the part of a manifest that says which machine it is. Nothing but convenience depends on it.
"""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

from mrfhw.generation.identity import DIGITS, circuit_digest
from mrfhw.machine.config import Config, ConfigError
from mrfhw.machine.derived import Derived
from mrfhw.machine.manifest import machine_in
from mrfhw.machine.registers import INTERFACE_VERSION
from mrfhw.system.files import cache_directory, replaced

__all__ = ["any_known", "known", "remember"]


def _directory() -> Path:
    return cache_directory() / "machines"


def remember(config: Config) -> None:
    """Keep the machine, so that `known` finds it; a cache that cannot be written is no error."""
    with contextlib.suppress(OSError), replaced(_directory() / f"{circuit_digest(config)[:DIGITS]}.json") as file:
        file.write(json.dumps({"interface": INTERFACE_VERSION, "parameters": config.to_dict(),
                               "parameters_digest": Derived.of(config).digest}).encode())


def known(digest: str) -> Config | None:
    """The machine whose circuit has this digest, DIGITS hexadecimal digits; None where it was not generated here."""
    try:
        config = machine_in(_directory() / f"{digest}.json")
    except (OSError, ConfigError):
        return None
    # A file of another version may state what is another circuit by now.
    return config if circuit_digest(config)[:DIGITS] == digest else None


def any_known() -> bool:
    """Whether there are any."""
    try:
        return any(_directory().iterdir())
    except OSError:
        return False
