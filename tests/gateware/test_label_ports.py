"""No read of LMem meets or precedes the write that it should see, for any field of the kept machines.

What is counted here rests on what is proven for ever (docs/proofs.md): the order of groups; that they are an interval apart or
more; that a group is written back `Derived.commit_delay` slots and a lane each behind its first slot; that neighbours are fetched
alone only when all is written.
"""

from __future__ import annotations

import pytest

from mrfhw.machine.derived import Derived
from sim.proofs.catalog import machines

pytestmark = pytest.mark.claim("LabelMemory",
    "no read meets or precedes the write of what it reads, for each number of rows, groups and slots of the kept machines: counted "
    "from the order and the spacing of groups, which are proven")


def nearest(rows: int, groups: int, own: bool) -> int:
    """Least number of groups from one to the next that reads it across a change of colour: neighbours, or with subsets itself.

    Colour p begins at row p. Where one is in its row counts as if it were read whatever it is.
    """
    found = 3 * rows * groups
    for back, reach in ((1, (-1, 0, 1)), *(((2, (0,)),) if own else ())):
        for place in range(rows):  # of the row in its colour, as it is read
            for step in reach:
                before = (place + back + step) % rows  # of the same row, in the colour before
                apart = (back * rows + place - before) * groups
                found = min(found, apart - (groups - 1))
    return found


@pytest.mark.parametrize("config", machines(), ids=lambda c: f"{c.mesh_rows}x{c.mesh_cols}x{c.spus}s{c.subset_slots}")
def test_a_label_is_read_after_it_was_written(config: Derived) -> None:
    checked = 0
    for rows in range(3, config.tile_rows + 1):
        for groups in range(1, config.tile_cols // (2 * config.spus) + 1):
            between = nearest(rows, groups, config.subset_slots > 0) - 1  # whole intervals, at least
            for slots in config.all_slots:
                # The next group's neighbours are read from the first slot of the group before it on.
                enough = between * config.interval(slots) >= config.commit_delay(slots) + config.spus - 1 + config.latency.written
                assert config.overlaps(rows, groups, slots) == enough, (rows, groups, slots)
                checked += enough
    assert checked or config.tile_rows < 8
    assert not any(config.overlaps(2, groups, slots) for groups in (1, 100) for slots in config.all_slots)
