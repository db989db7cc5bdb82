"""A device that PyOpenCL drives."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pyopencl

from mrfhw.samplers.gpu.device import Device, Work, whole_groups

__all__ = ["OpenClDevice", "devices", "first_gpu"]


def devices() -> list[Any]:
    """All devices of all platforms, in their order."""
    try:
        return [device for platform in pyopencl.get_platforms() for device in platform.get_devices()]
    except pyopencl.Error:  # such as a loader that finds no platform
        return []


def first_gpu() -> Any:
    """None where there is none."""
    return next((device for device in devices() if device.type & pyopencl.device_type.GPU), None)


class OpenClDevice(Device):
    """One with a queue of its own."""

    language = "opencl"

    def __init__(self, device: Any):
        """device: of PyOpenCL. Raises ProblemError where its driver refuses."""
        self.name = device.name.strip()
        with self.failures("is opened"):
            self._context = pyopencl.Context([device])
            self._queue = pyopencl.CommandQueue(self._context)
        self.most_group, self.local_bytes = int(device.max_work_group_size), int(device.local_mem_size)
        self.room, self.driver = int(device.max_mem_alloc_size), device.driver_version.strip()
        self.doubles = bool(device.double_fp_config)
        self._programs: dict[str, Any] = {}

    def _kinds(self) -> tuple[type[Exception], type[Exception]]:
        return pyopencl.MemoryError, pyopencl.Error

    def kernel(self, text: str, name: str) -> Any:
        with self.failures("compiled the sampler"), warnings.catch_warnings():
            warnings.simplefilter("ignore", pyopencl.CompilerWarning)  # that its compiler said anything at all
            if text not in self._programs:
                self._programs[text] = pyopencl.Program(self._context, text).build()
            return pyopencl.Kernel(self._programs[text], name)

    def array(self, values: np.ndarray) -> Any:
        values = np.ascontiguousarray(values) if values.size else np.zeros(1, np.uint8)
        flags = pyopencl.mem_flags
        with self.failures("took a field"):
            return pyopencl.Buffer(self._context, flags.READ_WRITE | flags.COPY_HOST_PTR, hostbuf=values)

    def zeros(self, nbytes: int) -> Any:
        with self.failures("made room for counts"):
            found = pyopencl.Buffer(self._context, pyopencl.mem_flags.READ_WRITE, max(1, nbytes))
            pyopencl.enqueue_fill_buffer(self._queue, found, np.zeros(1, np.uint8), 0, max(1, nbytes))
            return found

    def write(self, array: Any, values: np.ndarray) -> None:
        with self.failures("took a field"):
            pyopencl.enqueue_copy(self._queue, array, np.ascontiguousarray(values))

    def read(self, array: Any, values: np.ndarray) -> None:
        with self.failures("gave its labels"):
            pyopencl.enqueue_copy(self._queue, values, array)

    def work(self, work: Work) -> None:
        with self.failures("drew"):
            for kernel, cells, group, values in work.launches:
                whole = tuple(number * step for number, step in zip(whole_groups(cells, group), group, strict=True))
                kernel(self._queue, whole, group, *values)

    def wait(self) -> None:
        with self.failures("drew"):
            self._queue.finish()
