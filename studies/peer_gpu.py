"""Gibbs sampling of a field of ours on an NVIDIA GPU, beside thrml on the same one and `--backend cpu` on this computer's cores.

    python -m studies.peer_gpu PROBLEM [--chains 1,8,64] [--seconds 3] [--thrml]

PROBLEM: of `mrfhw run ... --save-problem`, symmetric, of at most 128 labels, none clamped; its temperature rests at that of the
first sweep. The kernel is written for the purpose, in CUDA C by CuPy: a thread draws a site by all its labels, whose energies it
holds in registers, by exp and one uniform number; the sites of a colour are drawn at once, for all chains; the launches of a number
of sweeps are recorded as one graph. Every sweep of a run is counted after its burn-in in histograms of 16 bits.

labels/s: chains x sites x labels x sweeps over the seconds of the GPU, of as many sweeps as take `--seconds`, histograms included.
W: the card's own count of energy (NVML) over these seconds, of the whole card and not of its host. nJ: of it, a label. energy: of
the field, mean and standard error of last samples of the chains. tv: mean total variation of the histograms to those of the cpu
backend, at the run's own sweeps and two chains, beside that of two runs of cpu with other seeds: the law is the same where these
are alike.

What a GPU does better: it draws some ninety times as many labels a second as the fastest machine of ours that was placed and
routed, with exact exponentials in floating point, and any other field takes a change of some lines.
"""

from __future__ import annotations

import importlib
import importlib.util
import math
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import numpy as np

from mrfhw.commands.machine_options import OneLineCommand
from mrfhw.field.energy import Energy
from mrfhw.field.initial import initial_labels
from mrfhw.field.problem import Problem, ProblemError, Run, load_problem
from mrfhw.samplers.cpu import RESTING, solve
from mrfhw.samplers.field_energy import FieldEnergy
from studies.scene_jobs import CHAINS

PACKAGES = {"cupy": "cupy-cuda13x", "pynvml": "nvidia-ml-py"}  # of modules
MOST_LABELS = 128  # that a thread holds
MOST_COUNTED = 1 << 16  # sweeps that a histogram takes
MANY = 64  # chains whose mean energy is well known
THREADS = 128  # of a block
AT_ONCE = 50  # sweeps of a graph
CUDA = r"""
extern "C" __global__ void draw(
    const float* own, const int* around, const float* weights, const float* table, unsigned char* labels,
    const unsigned char* others, unsigned short* counts, const unsigned* sweep, int offset, int colour, int sites,
    int sites_of_others, float scale, float tau, unsigned long long seed, int counted)
{
    __shared__ float doubles[FORMULA ? 1 : LABELS * (LABELS + 1)];
    if (!FORMULA) {
        for (int n = threadIdx.x; n < LABELS * LABELS; n += blockDim.x)
            doubles[n / LABELS * (LABELS + 1) + n % LABELS] = table[n];
        __syncthreads();
    }
    int site = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned long long chain = blockIdx.y;
    if (site >= sites) return;
    float near[4], weight[4];
    for (int k = 0; k < 4; ++k) {
        near[k] = others[chain * sites_of_others + around[k * sites + site]];
        weight[k] = weights[k * sites + site];
    }
    // SplitMix64 of (sweep, colour, chain, site).
    unsigned long long z = ((((unsigned long long)(*sweep + offset) * 2 + colour) * gridDim.y + chain) * sites + site) + seed;
    z *= 0x9E3779B97F4A7C15ull;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    z ^= z >> 31;
    float energy[LABELS], least = 1e30f;
    #pragma unroll
    for (int l = 0; l < LABELS; ++l) {
        float e = own[(size_t)l * sites + site];
        #pragma unroll
        for (int k = 0; k < 4; ++k)
            e += weight[k] * (FORMULA ? fminf(tau, fabsf(l - near[k])) : doubles[(int)near[k] * (LABELS + 1) + l]);
        energy[l] = e;
        least = fminf(least, e);
    }
    float total = 0;
    #pragma unroll
    for (int l = 0; l < LABELS; ++l) total += energy[l] = exp2f((least - energy[l]) * scale);
    float point = (z >> 40) * 0x1p-24f * total, running = 0;
    int drawn = 0;
    #pragma unroll
    for (int l = 0; l < LABELS - 1; ++l) drawn += point >= (running += energy[l]);
    labels[chain * sites + site] = drawn;
    if (counted) ++counts[(chain * LABELS + drawn) * sites + site];
}

extern "C" __global__ void pass(unsigned* sweep, int sweeps) { *sweep += sweeps; }
"""


class GpuChains:
    """`chains` chains of `problem`, side by side on the GPU, from the labels of `run`."""

    def __init__(self, problem: Problem, run: Run, chains: int):
        self._cupy = cp = importlib.import_module("cupy")
        assert problem.symmetric
        assert problem.clamped is None
        assert problem.labels <= MOST_LABELS
        energy, (rows, cols) = Energy(problem), problem.shape
        tables, tau = energy.doubles, float(energy.doubles.max() / problem.beta)
        levels = np.arange(problem.labels)
        formula = np.array_equal(tables, problem.beta * np.minimum(np.abs(levels[:, None] - levels), tau))
        self._module = cp.RawModule(code=CUDA, options=("--std=c++17", "--use_fast_math", f"-DLABELS={problem.labels}",
                                                           f"-DFORMULA={int(formula)}"))
        self._draw, self._pass = self._module.get_function("draw"), self._module.get_function("pass")
        black = np.indices((rows, cols)).sum(0) % 2 == 0
        self._where = [np.flatnonzero(colour) for colour in (black.ravel(), ~black.ravel())]
        number = np.zeros(rows * cols, np.int32)
        for sites in self._where:
            number[sites] = np.arange(len(sites))
        initial = initial_labels(problem, run).ravel()
        self._data = []
        for sites in self._where:
            r, c = sites // cols, sites % cols
            beside = np.stack([(r - 1).clip(0) * cols + c, (r + 1).clip(None, rows - 1) * cols + c,
                               r * cols + (c - 1).clip(0), r * cols + (c + 1).clip(None, cols - 1)])
            weights = energy.weights.reshape(-1, 4)[sites].T * (problem.beta if formula else 1)  # 0 where there is no neighbour
            others = np.where(weights > 0, number[beside], 0)
            self._data.append([cp.asarray(np.ascontiguousarray(part)) for part in (
                energy.singles.reshape(-1, problem.labels)[sites].T.astype(np.float32), others.astype(np.int32),
                weights.astype(np.float32))] + [cp.asarray(np.tile(initial[sites], (chains, 1)))]
                + [cp.zeros((chains, problem.labels, len(sites)), np.uint16)])
        self._table, self._sweep = cp.asarray(tables.astype(np.float32)), cp.zeros(1, np.uint32)
        self._scale, self._tau = np.float32(1 / (problem.schedule.start * math.log(2))), np.float32(tau)
        self._seed, self._chains, self._shape, self._labels = np.uint64(run.seed << 40), chains, (rows, cols), problem.labels
        self._stream, self._graphs = cp.cuda.Stream(non_blocking=True), dict[tuple[int, bool], Any]()
        cp.cuda.Device().synchronize()

    def _launch(self, sweeps: int, counted: bool) -> None:
        for sweep in range(sweeps):
            for colour, (own, around, weights, labels, counts) in enumerate(self._data):
                others = self._data[1 - colour][3]
                self._draw((-(-labels.shape[1] // THREADS), self._chains), (THREADS,), (
                    own, around, weights, self._table, labels, others, counts, self._sweep, np.int32(sweep), np.int32(colour),
                    np.int32(labels.shape[1]), np.int32(others.shape[1]), self._scale, self._tau, self._seed, np.int32(counted)))
        self._pass((1,), (1,), (self._sweep, np.int32(sweeps)))

    def advance(self, sweeps: int, counted: bool) -> None:
        """Draw all sites so often, as graphs of AT_ONCE sweeps and of what is left; returns before they are drawn."""
        with self._stream:
            while sweeps:
                some = min(sweeps, AT_ONCE)
                if (some, counted) not in self._graphs:
                    self._stream.begin_capture()
                    self._launch(some, counted)
                    self._graphs[some, counted] = self._stream.end_capture()
                self._graphs[some, counted].launch(self._stream)
                sweeps -= some

    def wait(self) -> None:
        self._stream.synchronize()

    def read(self) -> tuple[np.ndarray, np.ndarray]:
        """(counts (H, W, L) of all chains, last labels (chains, H, W))."""
        self.wait()
        counts, last = np.zeros((math.prod(self._shape), self._labels), np.int64), np.zeros((self._chains, math.prod(self._shape)),
                                                                                           np.uint8)
        for where, (*_, labels, found) in zip(self._where, self._data, strict=True):
            counts[where], last[:, where] = found.sum(0, dtype=np.int64).get().T, labels.get()
        return counts.reshape(*self._shape, -1), last.reshape(-1, *self._shape)


class Card:
    """The first card of this computer, by NVML."""

    def __init__(self) -> None:
        self._nvml = importlib.import_module("pynvml")
        self._nvml.nvmlInit()
        self._handle = self._nvml.nvmlDeviceGetHandleByIndex(0)
        self.name = self._nvml.nvmlDeviceGetName(self._handle)

    def joules(self) -> float:
        """Since its driver was loaded."""
        return float(self._nvml.nvmlDeviceGetTotalEnergyConsumption(self._handle)) / 1e3


def variation(one: np.ndarray, other: np.ndarray) -> float:
    """Mean over sites of the total variation of two histograms (H, W, L)."""
    shares = [counts / counts.sum(-1, keepdims=True) for counts in (one, other)]
    return float(np.abs(shares[0] - shares[1]).sum(-1).mean() / 2)


def on_cpu(problem: Problem, run: Run, chains: int) -> tuple[np.ndarray, np.ndarray, float]:
    """(counts of all chains, last labels of each, seconds)."""
    found = [solve(problem, replace(run, seed=run.seed + chain)) for chain in range(chains)]
    counts = np.sum([one.counts for one in found if one.counts is not None], 0, dtype=np.int64)
    return np.asarray(counts), np.stack([one.last for one in found]), sum((one.wall_seconds for one in found), 0.0)


def rate(problem: Problem, run: Run, chains: int, seconds: float, card: Card) -> tuple[float, float]:
    """(labels/s, W) of as many sweeps as take `seconds`; their histograms may wrap."""
    gpu = GpuChains(problem, run, chains)

    def took(sweeps: int) -> float:
        began = time.perf_counter()
        gpu.advance(sweeps, True)
        gpu.wait()
        return time.perf_counter() - began

    took(AT_ONCE)
    sweeps = AT_ONCE * max(1, round(seconds / took(AT_ONCE)))
    took(sweeps // 4)  # until clocks and power are those of work
    before, needed = card.joules(), took(sweeps)
    return chains * problem.sites * problem.labels * sweeps / needed, (card.joules() - before) / needed


def numbers(text: str) -> list[int]:
    """Numbers of chains. Raises ProblemError."""
    parts = text.split(",")
    if not all(part.isdecimal() and 0 < int(part) < 1 << 16 for part in parts):
        raise ProblemError(f"chains is {text!r}; chains side by side are 1 to 65535, such as 1,8,64: give them so")
    return [int(part) for part in parts]


def field_of(path: Path) -> tuple[Problem, Run]:
    """What is sampled; raises ProblemError for a field that the kernel does not take."""
    problem, run = load_problem(path)
    wrong = ("it has no run" if run is None else "it is not symmetric" if not problem.symmetric
             else "it has clamped sites" if problem.clamped is not None
             else f"it has {problem.labels} labels, of at most {MOST_LABELS}" if problem.labels > MOST_LABELS
             else f"{run.counted} sweeps are counted, of less than {MOST_COUNTED}" if run.counted >= MOST_COUNTED else None)
    if wrong or run is None:
        raise ProblemError(f"{path} cannot be sampled here ({wrong}): give another file of mrfhw run ... --save-problem")
    return problem, replace(run, estimate="mode")


def check_packages(beside: bool) -> None:
    """Raises ProblemError where one is missing; beside: thrml is wanted, too."""
    packages = {**PACKAGES, **({"thrml": "thrml"} if beside else {})}
    missing = [module for module in packages if importlib.util.find_spec(module) is None]
    if missing:
        raise ProblemError(f"{missing[0]} is not installed: pip install {' '.join(packages.values())} beside an NVIDIA GPU")


@click.command(cls=OneLineCommand)
@click.argument("path", metavar="PROBLEM", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option("--chains", default="1,8,64", show_default=True, metavar="N,...", help="Chains side by side.")
@click.option("--seconds", type=click.FloatRange(0.1, 600), default=3.0, show_default=True, help="Of each measurement.")
@click.option("--thrml", "beside", is_flag=True, help="thrml as well.")
def main(path: Path, chains: str, seconds: float, beside: bool) -> None:
    """Print a table."""
    side_by_side, (problem, run) = numbers(chains), field_of(path)
    check_packages(beside)
    energy, card = FieldEnergy(problem), Card()
    print(f"{card.name}; {problem.shape[1]}x{problem.shape[0]} sites, {problem.labels} labels, T {problem.schedule.start:g}, "
          f"{run.sweeps} sweeps, {run.burn_in} of burn-in")
    on_cpu(problem, replace(run, sweeps=3 * RESTING, burn_in=RESTING), 1)  # compiles
    wanted, last, wall = on_cpu(problem, run, CHAINS)
    again, *_ = on_cpu(problem, replace(run, seed=run.seed + 100), CHAINS)

    def say(name: str, seconds: float, last: np.ndarray, difference: float) -> None:
        energies = np.array([energy(labels) for labels in last])
        error = energies.std(ddof=1) / math.sqrt(len(energies)) if len(energies) > 1 else math.nan
        print(f"{name:28}{seconds:9.3f} s  energy {energies.mean():.0f} +- {error:.0f}  tv {difference:.4f}", flush=True)

    say(f"cpu, {CHAINS} chains", wall, last, variation(wanted, again))
    for _ in range(2):  # the first time the kernel is compiled
        gpu = GpuChains(problem, run, CHAINS)
        began = time.perf_counter()
        gpu.advance(run.burn_in, False)
        gpu.advance(run.counted, True)
        counts, last = gpu.read()
        wall = time.perf_counter() - began
    say(f"GPU, {CHAINS} chains", wall, last, variation(counts, wanted))
    if beside:
        counts, last, (wall, _) = importlib.import_module("studies.peer_thrml").sampled(problem, run, CHAINS)
        say(f"thrml, GPU, {CHAINS} chains", wall, last[None], variation(counts, wanted))
    many = GpuChains(problem, run, MANY)
    many.advance(run.sweeps, False)
    say(f"GPU, {MANY} chains", math.nan, many.read()[1], math.nan)
    del many
    for number in side_by_side:
        labels, watts = rate(problem, run, number, seconds, card)
        print(f"GPU, {number:3} chains: {labels / 1e9:8.1f} G labels/s  {watts:6.1f} W  {1e9 * watts / labels:.3f} nJ a label",
              flush=True)


if __name__ == "__main__":
    main()
