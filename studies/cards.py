"""Energy of an NVIDIA card by its own count (NVML), where `pip install nvidia-ml-py` and a driver are there."""

from __future__ import annotations

import importlib
from typing import Any

__all__ = ["Card", "card_of"]


class Card:
    """A card of this computer, all of it and not of its host.

    name: its own.
    """

    def __init__(self, nvml: Any, handle: Any):
        self._nvml, self._handle = nvml, handle
        self.name = str(nvml.nvmlDeviceGetName(handle))

    def joules(self) -> float:
        """Since its driver was loaded."""
        return float(self._nvml.nvmlDeviceGetTotalEnergyConsumption(self._handle)) / 1e3


def card_of(device: str) -> Card | None:
    """The first card of a device's name; None where there is none, or nothing that knows."""
    try:
        nvml = importlib.import_module("pynvml")
        nvml.nvmlInit()
    except Exception:  # no package, or no driver, each by an error of its own
        return None
    cards = (Card(nvml, nvml.nvmlDeviceGetHandleByIndex(number)) for number in range(nvml.nvmlDeviceGetCount()))
    return next((card for card in cards if card.name in device or device in card.name), None)
