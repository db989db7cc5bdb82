"""What a machine's digest registers read: the SHA-256 of its circuit's Verilog, whatever stands around the machine.

The circuit is `mrfhw.gateware.mesh.accelerator.Accelerator`, all that a driver sees through the registers: values, cycles and
addresses. Its text is that with placeholders in the digest registers, so that it is the same before and after its digest is put
in place. A link or ports around it (`BoardTop`, `AxiTop`) do not change it, so that a host knows it from the parameters alone;
they are told by the link's version and by the registers of their own.

A digest is kept in the user's cache (`mrfhw.generation.generated`), as emitting a large machine takes seconds.
"""

from __future__ import annotations

from pathlib import Path

from mrfhw.gateware.common.poison import is_poisoned
from mrfhw.generation.generated import Verilog, generated
from mrfhw.machine.config import Config
from mrfhw.system.files import cache_directory

__all__ = ["circuit", "circuit_digest"]

_KNOWN: dict[tuple[Config, bool], str] = {}  # by the machine and whether its memories are poisoned


def _circuit(config: Config) -> Verilog:
    def make() -> str:
        # Amaranth, which a host that finds the digest in its cache does without.
        from mrfhw.generation.modules import circuit_text

        return circuit_text(config)

    try:
        directory: Path = cache_directory()
    except OSError:
        return Verilog(make)
    return generated(directory, "circuit", config, {}, make)


def circuit(config: Config) -> tuple[str, str]:
    """(Verilog, digest) of the machine's circuit, generated anew."""
    found = _circuit(config)
    text = found.text
    _KNOWN[config, is_poisoned()] = found.digest
    return text, found.digest


def circuit_digest(config: Config) -> str:
    """SHA-256 of the machine's circuit, hexadecimal; its first 128 bits are in the digest registers.

    Generates the machine's Verilog where neither this process nor an earlier one has.
    """
    key = config, is_poisoned()
    if key not in _KNOWN:
        _KNOWN[key] = _circuit(config).digest
    return _KNOWN[key]
