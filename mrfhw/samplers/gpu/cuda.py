"""A device that CuPy drives: an NVIDIA GPU."""

from __future__ import annotations

from typing import Any

import cupy
import numpy as np

from mrfhw.samplers.gpu.device import Device, Work, whole_groups

__all__ = ["CudaDevice", "names"]


def names() -> list[str]:
    """Of all GPUs; none where their driver is missing."""
    runtime = cupy.cuda.runtime
    try:
        return [runtime.getDeviceProperties(number)["name"].decode() for number in range(runtime.getDeviceCount())]
    except runtime.CUDARuntimeError:
        return []


class CudaDevice(Device):
    """One with a stream of its own. Work that is done a second time is recorded as a graph, which costs one launch."""

    language = "cuda"
    doubles = True

    def __init__(self, number: int, name: str):
        """number: of CuPy. Raises ProblemError where its driver refuses."""
        self.name, self._device = name, cupy.cuda.Device(number)
        with self.failures("is opened"), self._device:
            self._stream = cupy.cuda.Stream(non_blocking=True)
            attributes = self._device.attributes
            self.room = int(self._device.mem_info[1])
            self.driver = str(cupy.cuda.runtime.driverGetVersion())
        self.most_group, self.local_bytes = attributes["MaxThreadsPerBlock"], attributes["MaxSharedMemoryPerBlock"]
        self._programs: dict[str, Any] = {}

    def _kinds(self) -> tuple[type[Exception], tuple[type[Exception], ...]]:
        cuda = cupy.cuda
        return cuda.memory.OutOfMemoryError, (
            cuda.runtime.CUDARuntimeError, cuda.driver.CUDADriverError, cuda.compiler.CompileException)

    def kernel(self, text: str, name: str) -> Any:
        with self.failures("compiled the sampler"), self._device:
            if text not in self._programs:
                self._programs[text] = cupy.RawModule(code=text, options=("--std=c++17", "--fmad=false"))
            return self._programs[text].get_function(name)

    def array(self, values: np.ndarray) -> Any:
        values = np.ascontiguousarray(values) if values.size else np.zeros(1, np.uint8)
        with self.failures("took a field"), self._device, self._stream:
            found = cupy.empty(values.nbytes, np.uint8)
            found.set(_bytes(values), self._stream)
            self._stream.synchronize()  # `values` may be gone afterwards
            return found

    def zeros(self, nbytes: int) -> Any:
        with self.failures("made room for counts"), self._device, self._stream:
            return cupy.zeros(max(1, nbytes), np.uint8)

    def write(self, array: Any, values: np.ndarray) -> None:
        given = _bytes(np.ascontiguousarray(values))
        with self.failures("took a field"), self._device, self._stream:
            array[:len(given)].set(given, self._stream)
            self._stream.synchronize()

    def read(self, array: Any, values: np.ndarray) -> None:
        with self.failures("gave its labels"), self._device, self._stream:
            array[:values.nbytes].get(self._stream, out=_bytes(values))
            self._stream.synchronize()

    def work(self, work: Work) -> None:
        with self.failures("drew"), self._device, self._stream:
            if work.runs == 1:
                self._stream.begin_capture()
                self._launch(work)
                work.kept = self._stream.end_capture()
            if work.kept is None:
                self._launch(work)
            else:
                work.kept.launch(self._stream)
            work.runs += 1

    @staticmethod
    def _launch(work: Work) -> None:
        for kernel, cells, group, values in work.launches:
            kernel(whole_groups(cells, group), group, values)

    def wait(self) -> None:
        with self.failures("drew"), self._device:
            self._stream.synchronize()


def _bytes(values: np.ndarray) -> np.ndarray:
    return values.reshape(-1).view(np.uint8)
