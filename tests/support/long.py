"""Cases of a test of which some are left to `make long`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest


def cases(names: Iterable[Any], left: Callable[[Any], bool]) -> list[Any]:
    """Parameters of `pytest.mark.parametrize`: those of which `left` is true are marked long."""
    return [pytest.param(name, marks=[pytest.mark.long] * left(name)) for name in names]
