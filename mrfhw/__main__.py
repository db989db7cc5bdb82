"""`python -m mrfhw` and the command `mrfhw`: the command line in a process of its own."""

import gc

gc.set_threshold(100_000, 50, 50)  # looking for garbage among what imports bring is a tenth of a short run

from mrfhw.cli import main  # noqa: E402  # most of what is imported

__all__ = ["main"]

if __name__ == "__main__":
    main(prog_name="mrfhw")
