"""Backend gpu by CuPy: CUDA's half of the kernels' text gives the bits of their NumPy twin where threads of a processor stand for a
GPU's, and NVIDIA's compiler takes it. No GPU is needed; nothing here says what one does."""

from __future__ import annotations

import ctypes
import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from mrfhw.analysis.alike_device import alike_text
from mrfhw.applications.stereo.between_device import between_text
from mrfhw.field.problem import Problem, ProblemError, Run
from mrfhw.samplers.gpu import device as devices
from mrfhw.samplers.gpu.blocks import blocks_text
from mrfhw.samplers.gpu.chain import Choice, GpuChain
from mrfhw.samplers.gpu.paths import device_paths
from mrfhw.samplers.gpu.source import Variant, paths_source, source
from mrfhw.samplers.path_start import path_start
from support.cuda_on_threads import MODULE, NAME, CudaError, OutOfMemoryError, Stream, cupy_there
from support.gpu_fields import VARIANTS, a_problem, twin

pytestmark = [pytest.mark.tools, pytest.mark.claim(
    "gpu", "the kernels' text as CUDA C gives the same bits on a processor's threads, and NVIDIA's compiler takes it (`make "
           "long`); it has run on no GPU in these tests")]
CUDA = "cuda:0"


@pytest.fixture
def cupy() -> Iterator[ModuleType]:
    with cupy_there() as found:
        yield found


@pytest.mark.parametrize("seed", range(5))
def test_the_bits_of_the_twin(seed: int, cupy: ModuleType) -> None:
    """By every variant, with launches that are recorded and carried out again."""
    problem, run = a_problem(seed), Run(sweeps=100, burn_in=3, seed=seed)
    labels, counts = twin(problem, run)
    chain = GpuChain(problem, run, choice=Choice(CUDA, VARIANTS[seed]))
    assert chain.device.name == NAME
    for _ in range(run.sweeps):
        chain.sweep()
    energy = chain.energy
    assert np.array_equal(chain.sample, labels)
    assert np.array_equal(chain.counts, counts)
    opencl = GpuChain(problem, run, choice=Choice("0"))
    for _ in range(run.sweeps):
        opencl.sweep()
    assert energy == opencl.energy


def test_work_that_comes_again_is_recorded(cupy: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    recorded, end = [], Stream.end_capture
    monkeypatch.setattr(Stream, "end_capture", lambda stream: recorded.append(end(stream)) or recorded[-1])
    chain = GpuChain(a_problem(5), Run(sweeps=200, seed=1), choice=Choice(CUDA))
    for _ in range(160):
        chain.sweep()
    assert chain.sample.shape == chain.problem.shape
    assert [(len(graph.launches), graph.launched) for graph in recorded] == [(64, 4)]


def test_bands_and_a_chain_that_goes_on(cupy: ModuleType) -> None:
    problem, run = a_problem(1), Run(sweeps=10, burn_in=2, seed=3)
    first, second = (GpuChain(problem, run, choice=Choice(CUDA, memory=memory)) for memory in (None, 2 * 4 * 256 * 8))
    for _ in range(4):
        first.sweep()
    second.restore(first.state())
    for _ in range(6):
        second.sweep()
    labels, counts = twin(problem, run)
    assert np.array_equal(second.sample, labels)
    assert np.array_equal(second.counts, counts)


def test_first_labels_by_paths(cupy: ModuleType) -> None:
    rng = np.random.default_rng(2)
    problem = Problem(labels=37, unary=rng.integers(0, 1 << 16, (9, 13, 37)), beta=300, doubleton="absolute", tau=4,
                      edges=rng.integers(0, 4, (9, 13, 2)))
    for group in (16, 64):
        assert np.array_equal(device_paths(devices.of_name(CUDA), problem, 3, group), path_start(problem, 3))


# -- which device


def test_it_is_taken_where_opencl_has_no_gpu(cupy: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    assert devices.of_name("").name == NAME
    monkeypatch.setitem(sys.modules, "mrfhw.samplers.gpu.opencl", None)
    assert devices.of_name("").name == NAME
    with pytest.raises(ProblemError, match=rf"^backend gpu needs PyOpenCL, or CuPy .*: CuPy has these: cuda:0: {NAME}: give gpu"):
        devices.of_name("7")


def test_devices_that_are_not_there_are_one_line(cupy: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ProblemError, match=rf"^device is cuda:1; CuPy has these: cuda:0: {NAME}: give the number of one, or b"):
        devices.of_name("cuda:1")

    def no_driver() -> int:
        raise CudaError("cudaErrorInsufficientDriver")

    monkeypatch.setattr(cupy.cuda.runtime, "getDeviceCount", no_driver)
    with pytest.raises(ProblemError, match=r"^device is cuda:0; CuPy has these: none: give"):
        devices.of_name("cuda")


def test_no_cupy_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cupy", None)
    monkeypatch.delitem(sys.modules, MODULE, raising=False)
    devices._cuda.cache_clear()
    with pytest.raises(ProblemError, match=r"^device cuda:0 needs CuPy: pip install 'mrfhw\[cuda\]', or give backend cpu$"):
        devices.of_name("cuda")


# -- what fails


def test_a_device_that_is_lost_is_one_line(cupy: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    chain = GpuChain(a_problem(0), Run(sweeps=9, seed=1), choice=Choice(CUDA))
    chain.sweep()
    assert chain.sample is not None

    def lost(stream: Stream) -> None:
        raise CudaError("cudaErrorECCUncorrectable: uncorrectable ECC error encountered")

    monkeypatch.setattr(Stream, "synchronize", lost)
    chain.sweep()
    with pytest.raises(ProblemError, match=r"failed when it \w+ .*: cudaErrorECCUncorrectable: .*: give another device"):
        assert chain.sample is not None


def test_memory_that_is_not_there_is_one_line(cupy: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OutOfMemoryError("out of memory allocating 1,073,741,824 bytes")

    opened = devices.of_name(CUDA)
    monkeypatch.setattr(cupy, "zeros", full)
    with pytest.raises(devices.DeviceMemoryError, match=r"too little memory when it made room for counts: give an estimate"):
        opened.zeros(1 << 30)


def test_a_text_that_is_refused_is_one_line(cupy: ModuleType) -> None:
    with pytest.raises(ProblemError, match=r"failed when it compiled the sampler: .*error: .*: give another device"):
        devices.of_name(CUDA).kernel("KERNEL void draw() \n{ nothing; }", "draw")


# -- NVIDIA's compiler


class Nvrtc:
    """NVIDIA's runtime compiler, which needs no GPU."""

    def __init__(self, library: Path):
        self._of = ctypes.CDLL(str(library))

    def log_of(self, text: str, architecture: str) -> str:
        """What it says of a text, with what its kernels take; raises where it refuses."""
        program = ctypes.c_void_p()
        assert not self._of.nvrtcCreateProgram(ctypes.byref(program), text.encode(), b"kernels.cu", 0, None, None)
        given = [f"-arch={architecture}".encode(), b"-std=c++17", b"--ptxas-options=-v"]
        failed = self._of.nvrtcCompileProgram(program, len(given), (ctypes.c_char_p * len(given))(*given))
        size = ctypes.c_size_t()
        self._of.nvrtcGetProgramLogSize(program, ctypes.byref(size))
        log = ctypes.create_string_buffer(size.value)
        self._of.nvrtcGetProgramLog(program, log)
        assert not failed, log.value.decode()
        return log.value.decode()


@pytest.fixture(scope="module")
def nvrtc() -> Nvrtc:
    spec = importlib.util.find_spec("nvidia")
    found = [path for folder in (spec.submodule_search_locations or []) if spec is not None
             for path in Path(folder).glob("**/libnvrtc.so*")] if spec is not None else []
    if not found:
        pytest.skip("long: pip install nvidia-cuda-nvrtc-cu12 has it")
    return Nvrtc(found[0])


@pytest.mark.long
@pytest.mark.parametrize("architecture", ["sm_75", "sm_90"])
@pytest.mark.parametrize("variant", VARIANTS, ids=lambda variant: variant.text)
def test_nvidia_s_compiler_takes_it(variant: Variant, architecture: str, nvrtc: Nvrtc) -> None:
    for events in (False, True):
        log = nvrtc.log_of(source("cuda", variant, 64, 64 * 65, 16, 16, True, events), architecture)
        assert "registers" in log
        assert "warning" not in log


@pytest.mark.long
@pytest.mark.parametrize("text", [paths_source("cuda", 64, 64, 256), alike_text("cuda", 2, 16, 5, 0xFFFF), between_text("cuda", 5),
                                  blocks_text("cuda", 13)], ids=["paths", "averages", "disparities", "blocks"])
def test_nvidia_s_compiler_takes_the_rest(text: str, nvrtc: Nvrtc) -> None:
    assert "registers" in nvrtc.log_of(text, "sm_90")
