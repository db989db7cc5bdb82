"""The class of each backend, by its name or by the scheme of its address. Its module is imported only when it is needed.

A machine behind AXI ports has no address that a word could name: its class takes the objects that reach the bus and the log
(`mrfhw.host.axi_session.AxiSession`), and is otherwise like the others.
"""

from __future__ import annotations

import importlib

from mrfhw.backends.backend import Backend
from mrfhw.field.problem import ProblemError
from mrfhw.samplers.chain import CHAINS, chain_type

__all__ = ["AUTO", "BACKENDS", "SCHEMES", "WAVE_CYCLES", "backend_type", "in_software"]

AUTO = "auto"  # the choice is `mrfhw.runs.choice.chosen_backend`'s
_NAMES = {**dict.fromkeys(CHAINS, "mrfhw.backends.software:SoftwareBackend"), "gpu": "mrfhw.backends.gpu:GpuBackend",
          "model": "mrfhw.backends.model:ModelBackend", "rtl": "mrfhw.simulation.chip:ChipBackend"}
_BOARDS = "mrfhw.host.remote:RemoteBackend"
SCHEMES = {"serial": _BOARDS, "tcp": _BOARDS, "sim": _BOARDS, "shared": "mrfhw.sharing.tenant:TenantBackend"}
BACKENDS = tuple(_NAMES)
WAVE_CYCLES = 50_000  # of a compiled chip's signals, from the first one on


def in_software(backend: str) -> bool:
    """Whether a backend is a sampler without a machine, by its name alone."""
    return backend.partition("?")[0] in CHAINS


def backend_type(backend: str) -> type[Backend]:
    """The class of a backend of BACKENDS, or of the board at an address, whose `open` makes one.

    Raises ProblemError for an unknown one; what `AUTO` stands for is chosen before (`mrfhw.runs.choice.chosen_backend`).
    """
    scheme, separator, _ = backend.partition("://")
    # An invalid board address is refused by the host's own code, which states the valid forms.
    name, more, options = backend.partition("?")
    own = not more or name in CHAINS or (name == "rtl" and options.startswith("waves=") and options != "waves=")
    place = _NAMES.get(name if own else backend) if not separator or name == "rtl" else SCHEMES.get(scheme, _BOARDS)
    if place is None:
        raise ProblemError(f"backend is {backend!r}; it must be {AUTO}, or one of {', '.join(BACKENDS)}: choose one")
    if name in CHAINS:
        chain_type(backend)  # which checks its options
    module, name = place.split(":")
    found: type[Backend] = getattr(importlib.import_module(module), name)
    return found
