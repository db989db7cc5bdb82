"""Devices on which answers are worked out."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from mrfhw.samplers.gpu.device import Device, of_name
from support.cuda_on_threads import cupy_there


@pytest.fixture(params=["0", pytest.param("cuda:0", marks=pytest.mark.tools)])
def device(request: pytest.FixtureRequest) -> Iterator[Device]:
    """The first of OpenCL, whichever it is, and CUDA's text on a processor's threads."""
    with cupy_there():
        yield of_name(request.param)
