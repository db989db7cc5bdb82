"""A machine with the numbers that follow from its parameters, and its names.

Gateware, models, placement, driver and documents take a `Config` and begin with `Derived.of`.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from functools import cached_property, lru_cache

from mrfhw.machine.config import PRESETS, Config
from mrfhw.machine.numbers import Numbers

__all__ = ["Derived"]


class Derived(Numbers, Config):
    """A machine's parameters with every number that follows from them. Equal to the `Config` that it is of."""

    @staticmethod
    def of(config: Config) -> Derived:
        """The numbers of a machine; a `Derived` is its own. Computed once for equal machines."""
        return config if isinstance(config, Derived) else _derived(config)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the parameters, hexadecimal."""
        return hashlib.sha256(json.dumps(self.to_dict(), sort_keys=True).encode()).hexdigest()

    @cached_property
    def name(self) -> str:
        """Short name, another for each machine: spes x spus and sampler, then 8 digits of the digest unless it is the first preset
        of that shape."""
        shape = self._shape
        first = next((preset for preset in PRESETS if Derived.preset(preset)._shape == shape), None)
        return shape if first is not None and self == Config.preset(first) else f"{shape}_{self.digest[:8]}"

    @property
    def _shape(self) -> str:
        return f"mrfhw_{self.size}_{self.sampler.name}"


@lru_cache(maxsize=1024)
def _derived(config: Config) -> Derived:
    # Its parameters alone: equal machines share what is made here, and what a manifest states besides is not theirs.
    names = {*(field.name for field in dataclasses.fields(Config)), "latency"}
    return Derived.unchecked({name: value for name, value in vars(config).items() if name in names})
