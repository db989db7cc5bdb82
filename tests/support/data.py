"""Where the published pictures are, for tests that need them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

__all__ = ["data_directory"]


def data_directory() -> Path:
    """$MRFHW_DATA, with stereo/teddy/left.png and so on; skips the test where it is not given."""
    value = os.environ.get("MRFHW_DATA")
    if not value or not Path(value).is_dir():
        pytest.skip("no published pictures: set MRFHW_DATA to a directory with stereo/teddy and others")
    return Path(value)
