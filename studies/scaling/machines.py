"""The machines whose scaling is shown."""

from __future__ import annotations

from mrfhw.machine.config import Config

__all__ = ["LANES", "PRESET", "SIDES", "machine"]

PRESET = "census"
LANES = (1, 2, 4, 8, 16)  # of a tile's sampling unit
SIDES = (1, 2, 4, 8)  # of the meshes that are synthesized, tiles


def machine(lanes: int, side: int) -> Config:
    """The preset with a mesh of side x side tiles and so many lanes in each."""
    return Config.preset(PRESET, lanes=lanes, mesh_rows=side, mesh_cols=side)
