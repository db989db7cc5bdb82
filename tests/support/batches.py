"""Small fields in files, and a batch of them as the command line does it."""

from __future__ import annotations

import numpy as np
from click.testing import CliRunner

import mrfhw
from mrfhw.cli import main

__all__ = ["batch", "three_fields"]


def three_fields() -> list[str]:
    """The names of three fields, a, b and c, that are written into the working directory."""
    rng, names = np.random.default_rng(1), [f"{letter}_field.npz" for letter in "abc"]
    for name in names:
        mrfhw.Problem(labels=3, unary=rng.integers(0, 9, (6, 7, 3)), alpha=1, beta=2,
                      schedule=mrfhw.Schedule.constant(3.0)).save(name)
    return names


def batch(*words: str, code: int = 0) -> str:
    """What `mrfhw batch WORDS -o out` says, and ends with `code`."""
    found = CliRunner().invoke(main, ["batch", *words, "-o", "out"])
    assert found.exit_code == code, (found.output, found.exception)
    return found.output
