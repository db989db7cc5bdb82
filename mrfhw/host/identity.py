"""Which machine a board is, from its digest alone."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from mrfhw.host.links import Address
from mrfhw.host.reconnecting import link_limits, opened
from mrfhw.host.remote_chip import RemoteChip
from mrfhw.host.requests import Requests
from mrfhw.machine.config import Config
from mrfhw.machine.known import any_known, known
from mrfhw.machine.manifest import DEFAULTS
from mrfhw.machine.registers import DIGEST_REGISTERS, IDENTITY, register

__all__ = ["digest_at", "machine_at"]


def machine_at(address: str, given: Collection[str] = ()) -> Config | None:
    """The machine of the board at an address, if it was generated on this computer.

    None if not; where options of a machine are among those that are `given`; for what is no address of a board; and for a simulated
    board in this process, which is whatever it is asked to be. Raises LinkError where no board answers.
    """
    if "://" not in address or set(given) & set(DEFAULTS) or Address.of(address).scheme == "sim" or not any_known():
        return None
    digest = digest_at(address)
    return None if digest is None else known(digest)


def digest_at(address: str) -> str | None:
    """The first digits of the digest of the circuit at an address; None for no circuit of this interface. Raises LinkError where no
    board answers."""
    requests = Requests(opened(address, Config()), link_limits(address))
    try:
        requests.hello()
        asked = np.array([register(name) for name in ("identity", *DIGEST_REGISTERS)], np.uint32)
        identity, *digest = RemoteChip(requests).read(asked)
    finally:
        requests.link.close()
    return "".join(f"{int(word):08x}" for word in digest) if int(identity) == IDENTITY else None
