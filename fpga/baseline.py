"""`python -m mrfhw.fpga.baseline`: the cells of a small machine on each family, beside those under version control."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import click

from mrfhw.config import Config
from mrfhw.fpga.boards import BOARDS, Board
from mrfhw.fpga.cells import cells_of
from mrfhw.fpga.flow import STATISTICS, Flow

__all__ = ["BASELINES", "MACHINE", "changes", "measure"]

BASELINES = Path(__file__).with_name("baselines.json")
MACHINE = "smallest"  # the preset that is synthesized


def measure(board: Board, directory: Path) -> dict[str, int]:
    """Cells by kind of the board's design with the small machine, after synthesis."""
    flow = Flow(board, Config.preset(MACHINE), board.clock_hz, board.baud, directory)
    flow.write()
    flow.synthesize()
    return cells_of(directory / STATISTICS)


def changes(name: str, cells: dict[str, int]) -> list[str]:
    """What is outside the tolerance of the board's baseline, a line each: more, or fewer, which asks for a new baseline."""
    baseline = json.loads(BASELINES.read_text())
    found = []
    for kind, count in cells.items():
        before, allowed = baseline["boards"][name][kind], baseline["tolerance"][kind]
        if abs(count - before) > allowed * before:
            found.append(f"{name}: {kind} {before} -> {count} ({count / before - 1 if before else 1:+.1%}; allowed {allowed:.0%})")
    return found


@click.command()
@click.option("--update", is_flag=True, help="Write the measured numbers as the new baseline.")
def main(update: bool) -> None:
    """Cells of the smallest machine on each board of the open tools, beside the baseline."""
    measured = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, board in BOARDS.items():
            if board.open_flow:
                measured[name] = measure(board, Path(folder) / name)
                click.echo(f"{name}: " + ", ".join(f"{kind} {count}" for kind, count in measured[name].items()))
    if update:
        baseline = json.loads(BASELINES.read_text())
        BASELINES.write_text(json.dumps({**baseline, "boards": measured}, indent=1) + "\n")
        return
    for name, cells in measured.items():
        for line in changes(name, cells):
            click.echo(line)


if __name__ == "__main__":
    main()
