"""`python -m mrfhw` and the command `mrfhw`: the command line in a process of its own."""

import atexit
import gc
import os
import sys

from mrfhw.system.docstrings import keep_docstrings
from mrfhw.system.errors import ABORTED
from mrfhw.system.places import give_places
from mrfhw.system.processors import THREADS, processors
from mrfhw.system.second_process import SecondProcess

__all__ = ["main"]

FIGURES = "matplotlib.backends.backend_agg", "mrfhw.report.figures"
DIAGNOSTICS = "arviz_stats.base", "mrfhw.analysis.convergence"


def _beside() -> SecondProcess | None:
    """For a run, a process that imports what its diagnostics and figures need, which takes as long as a small run."""
    words = sys.argv[1:]
    alone = processors() == 1 or os.environ.get(THREADS) == "1"
    if alone or words[:1] != ["run"] or len(words) < 3 or "--help" in words:
        return None
    return SecondProcess(*DIAGNOSTICS, *(() if "--no-report" in words else FIGURES))


def main() -> None:
    # Looking for garbage among what imports bring is a tenth of a short run.
    gc.set_threshold(100_000, 50, 50)
    # Nor is it looked for in what ends with the process anyway, which takes a third of a second.
    atexit.register(gc.freeze)
    keep_docstrings("mrfhw.cli", "mrfhw.commands", "mrfhw.generate")  # help
    give_places()
    try:
        beside = _beside()
        from mrfhw.cli import main as command_line  # most of what is imported
    except KeyboardInterrupt:  # which the command line says of itself
        sys.stderr.write("Aborted.\n")
        sys.exit(ABORTED)
    command_line(prog_name="mrfhw", obj=beside)


if __name__ == "__main__":
    main()
