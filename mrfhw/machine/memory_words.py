"""Words of memories that no bus reaches: fields from the lowest bit on, with widths. Gateware lays them out, costs count them."""

from __future__ import annotations

from mrfhw.machine.bits import bits_for
from mrfhw.machine.config import Config
from mrfhw.machine.derived import Derived

__all__ = ["SMALL_FACTOR_BITS", "WRAPS", "due_bits", "written_group_fields"]

SMALL_FACTOR_BITS = 4  # of a factor at most whose products are sums where lanes share a site
WRAPS = 2  # columns of tiles in which a label's word can lie: the site's and the next


def written_group_fields(config: Config) -> dict[str, int]:
    """Those of a group of sites that its write-back needs."""
    c = Derived.of(config)
    return {"row": min(2, bits_for(c.tile_rows)), "here": c.lmem_address_bits, "raster": c.offset_bits, "group": c.group_bits,
            "white": 1, "counted": 1, "last_of_sweep": 1}


def due_bits(config: Config) -> int:
    """Width of the slot of a group's first write-back."""
    c = Derived.of(config)
    return bits_for(c.commit_delay(c.max_labels) + c.temperature_delay(c.max_labels))
