"""`python -m studies.baseline`: the cells of a small machine on each family, beside those under version control."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import click

from mrfhw.fpga.boards import BOARDS
from mrfhw.fpga.flow import STATISTICS, Flow
from mrfhw.machine.config import Config
from mrfhw.machine.samplers import Cdf, Race
from studies.cells import cells_of

__all__ = ["BASELINES", "MACHINE", "MACHINES", "changes", "measure"]

BASELINES = Path(__file__).with_name("baselines.json")
MACHINE = "smallest"  # the preset that is synthesized

# Narrower still, where a part is watched and not the whole: synthesis takes a fraction of the time.
_NARROW: dict[str, Any] = dict(label_bits=3, data_bits=4, energy_bits=8, weight_bits=2, vector_bits=2, temperature_bits=12,
                               counter_bits=3, sampler=Race(uniform_bits=8, fraction_bits=2))

# What is synthesized, by its name in the baselines: a board, and what its machine has otherwise than the preset.
MACHINES: dict[str, tuple[str, dict[str, Any]]] = {
    # Without Ethernet and USB, most of whose cells are other projects'.
    **{name: (name, {}) for name, board in BOARDS.items() if board.open_flow and board.serial},
    "ulx3s-85f, narrow": ("ulx3s-85f", _NARROW),
    "icebreaker, cdf": ("icebreaker", {
        **_NARROW, "sampler": Cdf(probability_bits=6, exponent_fraction_bits=2, uniform_bits=8)}),
    "tang-nano-9k, 4 label memories": ("tang-nano-9k", {**_NARROW, "lmem_banks": 4}),
}


def measure(name: str, directory: Path) -> dict[str, int]:
    """Cells by kind of the design of MACHINES[name], after synthesis."""
    board, otherwise = BOARDS[MACHINES[name][0]], MACHINES[name][1]
    flow = Flow(board, Config.preset(MACHINE, **otherwise), board.clock_hz, board.baud, directory)
    flow.write()
    flow.synthesize()
    return cells_of(directory / STATISTICS)


def changes(name: str, cells: dict[str, int]) -> list[str]:
    """What is outside the tolerance of the machine's baseline, a line each: more, or fewer, which asks for a new baseline."""
    baseline = json.loads(BASELINES.read_text())
    found = []
    for kind, count in cells.items():
        before, allowed = baseline["machines"][name][kind], baseline["tolerance"][kind]
        if abs(count - before) > allowed * before:
            found.append(f"{name}: {kind} {before} -> {count} ({count / before - 1 if before else 1:+.1%}; allowed {allowed:.0%})")
    return found


@click.command()
@click.option("--update", is_flag=True, help="Write the measured numbers as the new baseline.")
def main(update: bool) -> None:
    """Cells of the smallest machine on each board of the open tools, and of some others, beside the baseline."""
    measured = {}
    with tempfile.TemporaryDirectory() as folder:
        for number, name in enumerate(MACHINES):
            measured[name] = measure(name, Path(folder) / str(number))
            click.echo(f"{name}: " + ", ".join(f"{kind} {count}" for kind, count in measured[name].items()))
    if update:
        baseline = json.loads(BASELINES.read_text())
        BASELINES.write_text(json.dumps({**baseline, "machines": measured}, indent=1) + "\n")
        return
    for name, cells in measured.items():
        for line in changes(name, cells):
            click.echo(line)


if __name__ == "__main__":
    main()
