"""Words of a machine's memories: their fields from the lowest bit on, with widths. Gateware lays them out, costs count them."""

from __future__ import annotations

from mrfhw.machine.bits import bits_for
from mrfhw.machine.config import Config
from mrfhw.machine.derived import Derived

__all__ = ["SMALL_FACTOR_BITS", "WRAPS", "due_bits", "group_bits", "label_group_fields", "subset_size_fields", "wrap_fields",
           "written_group_fields"]

SMALL_FACTOR_BITS = 4  # of a factor at most whose products are sums where lanes share a site
WRAPS = 2  # columns of tiles in which a label's word can lie: the site's and the next


def group_bits(config: Config) -> int:
    """Width of a group's index in its row, and of the number of groups per row."""
    return bits_for(config.tile_cols // (2 * config.spus) + 1)


def written_group_fields(config: Config) -> dict[str, int]:
    """Those of a group of sites that its write-back needs."""
    c = Derived.of(config)
    return {"row": min(2, bits_for(c.tile_rows)), "here": c.lmem_address_bits, "raster": c.offset_bits, "group": group_bits(c),
            "white": 1, "counted": 1, "last_of_sweep": 1}


def due_bits(config: Config) -> int:
    """Width of the slot of a group's first write-back."""
    c = Derived.of(config)
    return bits_for(c.commit_delay(c.max_labels) + c.temperature_delay(c.max_labels))


def label_group_fields(config: Config) -> dict[str, int]:
    """The labels of a slot: the first one, and how many follow one another."""
    return {"first": config.label_bits, "count": bits_for(config.lanes + 1)}


def subset_size_fields(config: Config) -> dict[str, int]:
    """By the number of neighbours' slots: how many others there are, and the logarithm of their weight."""
    return {"others": config.label_bits + 1, "weight": Derived.of(config).subset_weight_bits}


def wrap_fields(config: Config) -> dict[str, int]:
    """Of a slot in the label table, where units have a lane each: the first row and the column whose words lie in the next tile."""
    return {"row_threshold": bits_for(config.tile_rows + 1), "column": bits_for(config.tile_cols + 1)}
