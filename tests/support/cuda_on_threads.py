"""The part of CuPy that the sampler uses, with a processor's threads for a GPU's.

Kernels are compiled by g++ as they are, and every thread of a block runs as one of its own. That checks what CUDA's half of the
text means, not that a GPU takes it.
"""

from __future__ import annotations

import ctypes
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np

from mrfhw.samplers.gpu import device

__all__ = ["NAME", "cupy_on_threads", "cupy_there"]

NAME = "a processor's threads"
MODULE = "mrfhw.samplers.gpu.cuda"
MOST_THREADS, SHARED_BYTES = 512, 49152
_SCALARS = {"<i4": ctypes.c_int32, "<i8": ctypes.c_int64, "<f8": ctypes.c_double}
_HEAD = """
#include <barrier>
#include <thread>
#include <vector>
struct Axes { unsigned x, y, z; };
static thread_local Axes threadIdx, blockIdx;
static Axes blockDim, gridDim;
static std::barrier<> *together;
#define __global__
#define __device__
#define __shared__ static
static void __syncthreads() { together->arrive_and_wait(); }
static unsigned __umulhi(unsigned a, unsigned b) { return (unsigned)(((unsigned long long)a * b) >> 32); }
static unsigned long long __umul64hi(unsigned long long a, unsigned long long b)
{
    return (unsigned long long)(((unsigned __int128)a * b) >> 64);
}
template <class Kernel> static void on_threads(const unsigned *sizes, Kernel kernel)
{
    gridDim = {sizes[0], sizes[1], sizes[2]};
    blockDim = {sizes[3], sizes[4], sizes[5]};
    const unsigned count = blockDim.x * blockDim.y * blockDim.z;
    std::barrier<> next(count), inside(count);
    together = &inside;
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < count; ++t)
        threads.emplace_back([=, &next] {
            threadIdx = {t % blockDim.x, t / blockDim.x % blockDim.y, t / blockDim.x / blockDim.y};
            for (unsigned z = 0; z < gridDim.z; ++z)
                for (unsigned y = 0; y < gridDim.y; ++y)
                    for (unsigned x = 0; x < gridDim.x; ++x) {
                        blockIdx = {x, y, z};
                        kernel();
                        next.arrive_and_wait(); /* before another block has the shared memory */
                    }
        });
    for (std::thread &thread : threads)
        thread.join();
}
"""


class CudaError(RuntimeError):
    """As `cupy.cuda.runtime.CUDARuntimeError`."""


class OutOfMemoryError(MemoryError):
    """As `cupy.cuda.memory.OutOfMemoryError`."""


class CompileError(Exception):
    """As `cupy.cuda.compiler.CompileException`."""


class Array:
    """Bytes of a device."""

    def __init__(self, values: np.ndarray):
        self.values = values

    def __getitem__(self, part: slice) -> Array:
        return Array(self.values[part])

    def set(self, values: np.ndarray, stream: object) -> None:
        assert values.dtype == np.uint8
        self.values[...] = values

    def get(self, stream: object, *, out: np.ndarray) -> None:
        assert out.dtype == np.uint8
        out[...] = self.values


class Graph:
    """Launches that were recorded."""

    def __init__(self) -> None:
        self.launches: list[Callable[[], None]] = []
        self.launched = 0

    def launch(self, stream: object) -> None:
        self.launched += 1
        for launch in self.launches:
            launch()


class Stream:
    """Carries out everything at once, or records it."""

    recording: Graph | None = None

    def __init__(self, non_blocking: bool):
        assert non_blocking

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def begin_capture(self) -> None:
        Stream.recording = Graph()

    def end_capture(self) -> Graph:
        found, Stream.recording = Stream.recording, None
        assert found is not None
        return found

    def synchronize(self) -> None:
        assert Stream.recording is None


@cache
def _library(code: str) -> ctypes.CDLL:
    launchers = []
    for name, parameters in re.findall(r"^KERNEL void (\w+)\((.*?)\)\n", code, re.MULTILINE | re.DOTALL):
        given = ", ".join(re.findall(r"(\w+)(?:,|$)", parameters))
        launchers.append(f'extern "C" void on_{name}(const unsigned *sizes, {parameters}) {{ '
                         f'on_threads(sizes, [=] {{ {name}({given}); }}); }}\n')
    with tempfile.TemporaryDirectory() as folder:
        source, library = Path(folder) / "kernels.cpp", Path(folder) / "kernels.so"
        source.write_text(_HEAD + code + "".join(launchers))
        words = ["g++", "-std=c++20", "-O1", "-w", "-ffp-contract=off", "-shared", "-fPIC", "-pthread", source, "-o", library]
        made = subprocess.run(words, capture_output=True, text=True, check=False)
        if made.returncode:
            raise CompileError(made.stderr)
        return ctypes.CDLL(str(library))


class RawModule:
    """What g++ makes of a text."""

    def __init__(self, code: str, options: tuple[str, ...]):
        self._library = _library(code)

    def get_function(self, name: str) -> Callable[..., None]:
        function = getattr(self._library, f"on_{name}")

        def launch(grid: tuple[int, ...], block: tuple[int, ...], values: tuple[Any, ...]) -> None:
            assert max(grid[1:]) < 1 << 16  # as many as CUDA takes
            assert int(np.prod(block)) <= MOST_THREADS
            sizes = (ctypes.c_uint * 6)(*grid, *block)
            arguments = [ctypes.c_void_p(value.values.ctypes.data) if isinstance(value, Array) else
                         _SCALARS[value.dtype.str](value.item()) for value in values]
            if Stream.recording is None:
                function(sizes, *arguments)
            else:
                Stream.recording.launches.append(lambda: function(sizes, *arguments))

        return launch


class Card:
    """As `cupy.cuda.Device`."""

    def __init__(self, number: int):
        assert number == 0
        self.attributes = {"MaxThreadsPerBlock": MOST_THREADS, "MaxSharedMemoryPerBlock": SHARED_BYTES}
        self.mem_info = 1 << 30, 1 << 30

    def __enter__(self) -> Card:
        return self

    def __exit__(self, *error: object) -> None:
        pass


def cupy_on_threads() -> ModuleType:
    """To stand in sys.modules as `cupy`, with a card of its own."""
    found: Any = ModuleType("cupy")
    runtime = SimpleNamespace(CUDARuntimeError=CudaError, getDeviceCount=lambda: 1, driverGetVersion=lambda: 12080,
                              getDeviceProperties=lambda number: {"name": NAME.encode()})
    found.cuda = SimpleNamespace(runtime=runtime, driver=SimpleNamespace(CUDADriverError=CudaError), Device=Card, Stream=Stream,
                                 memory=SimpleNamespace(OutOfMemoryError=OutOfMemoryError),
                                 compiler=SimpleNamespace(CompileException=CompileError))
    found.empty = lambda size, kind: Array(np.full(size, 0xA5, kind))
    found.zeros = lambda size, kind: Array(np.zeros(size, kind))
    found.RawModule = RawModule
    return found


@contextmanager
def cupy_there() -> Iterator[ModuleType]:
    """While it is entered, devices cuda:N are those of `cupy_on_threads`."""
    before, found = {name: sys.modules.pop(name, None) for name in ("cupy", MODULE)}, cupy_on_threads()
    sys.modules["cupy"] = found
    device._cuda.cache_clear()
    try:
        yield found
    finally:
        device._cuda.cache_clear()
        for name, module in before.items():
            sys.modules.pop(name, None)
            if module is not None:
                sys.modules[name] = module
