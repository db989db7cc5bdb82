"""What a device does for the sampler, whichever library drives it, and which devices there are."""

from __future__ import annotations

import abc
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

from mrfhw.field.given import short
from mrfhw.field.problem import ProblemError

__all__ = ["CUDA", "Device", "DeviceMemoryError", "Launch", "Work", "of_name", "whole_groups"]

CUDA = "cuda"  # begins the names of devices that CuPy drives
_LINE = 160  # characters of what a driver says
_WAY_OUT = "give another device (gpu?device=), go on from a checkpoint, or give backend cpu"

# A kernel with its cells, its group and its arguments.
Launch = tuple[Any, tuple[int, int, int], tuple[int, int, int], tuple[Any, ...]]


@dataclass(eq=False)
class Work:
    """Launches one after the other.

    runs: how often they were carried out.
    kept: what a device keeps for the next time.
    """

    launches: list[Launch]
    runs: int = 0
    kept: Any = None


class DeviceMemoryError(ProblemError):
    """A device has too little memory for what it is to hold at once."""


class Device(abc.ABC):
    """A device that carries out one thing after the other. Every failure of its driver is a ProblemError of one line.

    language: of `mrfhw.samplers.gpu.source.LANGUAGES`, that it compiles.
    name: its own.
    driver: its version.
    most_group: cells that a work-group may have.
    local_bytes: memory that a work-group shares.
    room: bytes that one array may take.
    doubles: it has float64.
    """

    language: str
    name: str
    driver: str
    most_group: int
    local_bytes: int
    room: int
    doubles: bool

    @abc.abstractmethod
    def kernel(self, text: str, name: str) -> Any:
        """One of a text, with arguments of its own; what was compiled is kept."""

    @abc.abstractmethod
    def array(self, values: np.ndarray) -> Any:
        """A copy on the device; of an empty array one byte."""

    @abc.abstractmethod
    def zeros(self, nbytes: int) -> Any:
        """An array of zeros."""

    @abc.abstractmethod
    def write(self, array: Any, values: np.ndarray) -> None:
        """To the front of an array."""

    @abc.abstractmethod
    def read(self, array: Any, values: np.ndarray) -> None:
        """Into `values`, after all that was asked for before."""

    @abc.abstractmethod
    def work(self, work: Work) -> None:
        """Carry out its launches, each on its cells in whole groups; the second time may cost less."""

    def run(self, kernel: Any, cells: tuple[int, int, int], group: tuple[int, int, int], *values: Any) -> None:
        """Carry out a kernel on so many cells, in whole groups."""
        self.work(Work([(kernel, cells, group, values)]))

    @abc.abstractmethod
    def wait(self) -> None:
        """Until all is carried out."""

    @abc.abstractmethod
    def _kinds(self) -> tuple[type[Exception] | tuple[type[Exception], ...], ...]:
        """What its library raises: without memory, and otherwise."""

    @contextmanager
    def failures(self, when: str) -> Iterator[None]:
        """What its library raises becomes one line."""
        memory, other = self._kinds()
        try:
            yield
        except memory:
            raise DeviceMemoryError(f"{self.name} has too little memory when it {when}: give an estimate without a histogram, or "
                                    "backend cpu") from None
        except other as error:
            lines = str(error).strip().splitlines() or [type(error).__name__]
            said = next((line for line in lines if "error:" in line), lines[0])
            raise ProblemError(f"{self.name} failed when it {when}: {said[:_LINE]}: {_WAY_OUT}") from None


def whole_groups(cells: tuple[int, int, int], group: tuple[int, int, int]) -> tuple[int, ...]:
    """Groups along each axis."""
    return tuple(-(-number // step) for number, step in zip(cells, group, strict=True))


def of_name(name: str) -> Device:
    """The device of a number among OpenCL's, of a part of its name, or "cuda:N" of CuPy's; of "" the first GPU, OpenCL's or else
    CuPy's. Raises ProblemError for none."""
    kind, _, number = name.casefold().partition(":")
    if kind == CUDA and (not number or number.isdecimal()):
        return _cuda(int(number or 0))
    try:
        opencl = import_module("mrfhw.samplers.gpu.opencl")
    except ImportError:
        found = cuda_names()
        if not name and found:
            return _cuda(0)
        there = f"CuPy has these: {', '.join(found)}: give gpu?device={CUDA}:0" if found else "pip install 'mrfhw[gpu]'"
        raise ProblemError(f"backend gpu needs PyOpenCL, or CuPy and an NVIDIA GPU: {there}, or give backend cpu") from None
    if not name:
        first = opencl.first_gpu()
        if first is not None:
            return _opencl(first)
        if cuda_names():
            return _cuda(0)
    found = opencl.devices()
    names = ", ".join([*(f"{number}: {device.name.strip()}" for number, device in enumerate(found)), *cuda_names()]) or "none"
    if not name:
        rest = f"{'give gpu?device=N to draw on one that is no GPU' if found else 'install its driver'}, or give backend cpu"
        raise ProblemError(f"backend gpu finds no GPU; there are these devices: {names}: {rest}")
    if name.isdecimal():
        fits = found[int(name):int(name) + 1]
    else:
        fits = [device for device in found if name.casefold() in device.name.casefold()]
    if not fits:
        raise ProblemError(f"device is {short(repr(name))}; there are these: {names}: give the number of one, or a part of its "
                           "name")
    return _opencl(fits[0])


def cuda_names() -> list[str]:
    """ "cuda:0: NVIDIA H200" and so on; none where CuPy or its driver is missing."""
    try:
        return [f"{CUDA}:{number}: {name}" for number, name in enumerate(import_module("mrfhw.samplers.gpu.cuda").names())]
    except ImportError:
        return []


@cache
def _opencl(device: Any) -> Device:
    return import_module("mrfhw.samplers.gpu.opencl").OpenClDevice(device)


@cache
def _cuda(number: int) -> Device:
    try:
        module = import_module("mrfhw.samplers.gpu.cuda")
    except ImportError:
        raise ProblemError(f"device {CUDA}:{number} needs CuPy: pip install 'mrfhw[cuda]', or give backend cpu") from None
    names = module.names()
    if number >= len(names):
        raise ProblemError(f"device is {CUDA}:{number}; CuPy has these: {', '.join(cuda_names()) or 'none'}: give the number of "
                           "one, or backend cpu")
    return module.CudaDevice(number, names[number])
