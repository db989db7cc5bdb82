"""An OpenCL device: arrays on it, and kernels compiled for it. Every failure of its driver is one line."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np

from mrfhw.field.given import short
from mrfhw.field.problem import ProblemError

__all__ = ["Device", "DeviceMemoryError", "devices", "of_name"]

_LINE = 160  # characters of what a driver says
_WAY_OUT = "give another device (gpu?device=), go on from a checkpoint, or give backend cpu"


def _opencl() -> Any:
    try:
        import pyopencl
    except ImportError:
        raise ProblemError("backend gpu needs PyOpenCL: pip install 'mrfhw[gpu]', or give backend cpu") from None
    return pyopencl


def devices() -> list[Any]:
    """All devices of all platforms, in their order. Raises ProblemError where there is no PyOpenCL."""
    cl = _opencl()
    try:
        return [device for platform in cl.get_platforms() for device in platform.get_devices()]
    except cl.Error:  # such as a loader that finds no platform
        return []


def of_name(name: str) -> Device:
    """The device of a number in `devices`, or of a part of its name; of "" the first GPU. Raises ProblemError for none."""
    found = devices()
    names = ", ".join(f"{number}: {device.name.strip()}" for number, device in enumerate(found)) or "none"
    if not name:
        cl = _opencl()
        gpus = [device for device in found if device.type & cl.device_type.GPU]
        if not gpus:
            rest = f"{'give gpu?device=N to draw on one that is no GPU' if found else 'install its driver'}, or give backend cpu"
            raise ProblemError(f"backend gpu finds no GPU; OpenCL has these devices: {names}: {rest}")
        return _opened(gpus[0])
    if name.isdecimal():
        fits = found[int(name):int(name) + 1]
    else:
        fits = [device for device in found if name.casefold() in device.name.casefold()]
    if not fits:
        raise ProblemError(f"device is {short(repr(name))}; OpenCL has these: {names}: give the number of one, or a part of its "
                           "name")
    return _opened(fits[0])


@cache
def _opened(device: Any) -> Device:
    return Device(device)


class DeviceMemoryError(ProblemError):
    """A device has too little memory for what it is to hold at once."""


class Device:
    """A device with a queue of its own, which carries out one thing after the other.

    name: its own.
    driver: its version.
    most_group: cells that a work-group may have.
    local_bytes: memory that a work-group shares.
    room: bytes that one array may take.
    """

    def __init__(self, device: Any):
        """device: of PyOpenCL. Raises ProblemError where its driver refuses."""
        self._cl, self.name = _opencl(), device.name.strip()
        with self._failures("is opened"):
            self._context = self._cl.Context([device])
            self._queue = self._cl.CommandQueue(self._context)
        self.most_group, self.local_bytes = int(device.max_work_group_size), int(device.local_mem_size)
        self.room, self.driver = int(device.max_mem_alloc_size), device.driver_version.strip()
        self._programs: dict[str, Any] = {}

    @contextmanager
    def _failures(self, when: str) -> Iterator[None]:
        cl = self._cl
        try:
            yield
        except cl.MemoryError:
            raise DeviceMemoryError(f"{self.name} has too little memory when it {when}: give an estimate without a histogram, or "
                                    "backend cpu") from None
        except cl.Error as error:
            lines = str(error).strip().splitlines() or [type(error).__name__]
            said = next((line for line in lines if "error:" in line), lines[0])
            raise ProblemError(f"{self.name} failed when it {when}: {said[:_LINE]}: {_WAY_OUT}") from None

    def kernel(self, text: str, name: str) -> Any:
        """One of a text, with arguments of its own; what was compiled is kept."""
        with self._failures("compiled the sampler"), warnings.catch_warnings():
            warnings.simplefilter("ignore", self._cl.CompilerWarning)  # that its compiler said anything at all
            if text not in self._programs:
                self._programs[text] = self._cl.Program(self._context, text).build()
            return self._cl.Kernel(self._programs[text], name)

    def array(self, values: np.ndarray) -> Any:
        """A copy on the device; of an empty array one byte."""
        values = np.ascontiguousarray(values) if values.size else np.zeros(1, np.uint8)
        with self._failures("took a field"):
            return self._cl.Buffer(self._context, self._cl.mem_flags.READ_WRITE | self._cl.mem_flags.COPY_HOST_PTR, hostbuf=values)

    def zeros(self, nbytes: int) -> Any:
        """An array of zeros."""
        with self._failures("made room for counts"):
            found = self._cl.Buffer(self._context, self._cl.mem_flags.READ_WRITE, max(1, nbytes))
            self._cl.enqueue_fill_buffer(self._queue, found, np.zeros(1, np.uint8), 0, max(1, nbytes))
            return found

    def write(self, array: Any, values: np.ndarray) -> None:
        with self._failures("took a field"):
            self._cl.enqueue_copy(self._queue, array, np.ascontiguousarray(values))

    def read(self, array: Any, values: np.ndarray) -> None:
        """Into `values`, after all that was asked for before."""
        with self._failures("gave its labels"):
            self._cl.enqueue_copy(self._queue, values, array)

    def run(self, kernel: Any, cells: tuple[int, int, int], group: tuple[int, int, int], *values: Any) -> None:
        """Carry out a kernel on so many cells, in whole groups."""
        whole = tuple(-(-number // step) * step for number, step in zip(cells, group, strict=True))
        with self._failures("drew"):
            kernel(self._queue, whole, group, *values)

    def wait(self) -> None:
        """Until all is carried out."""
        with self._failures("drew"):
            self._queue.finish()
