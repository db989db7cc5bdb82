"""The float64 chain beside a machine: at the temperatures that the machine realizes, and with its uniform numbers."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import numpy as np

from mrfhw.field.problem import Problem, ProblemError, Run
from mrfhw.field.result import Result
from mrfhw.machine.config import Config
from mrfhw.machine.samplers import Race
from mrfhw.placement.fit import check_fits
from mrfhw.placement.placement import Placement
from mrfhw.placement.temperature import coefficients, realized
from mrfhw.samplers.chain import Observe, advance
from mrfhw.samplers.exact import FloatChain, FloatTables
from mrfhw.samplers.random import lane_states
from mrfhw.system.progress import compiling
from mrfhw.twin.kernel import fill_uniforms, float_race

__all__ = ["PairedChain", "solve"]


class _MachineUniforms:
    """The uniforms that a machine's generators give to sites, colour by colour from sweep 0 on."""

    def __init__(self, placement: Placement, sites: list[np.ndarray]) -> None:
        """sites: of each colour, flat indices."""
        sampler = placement.config.sampler
        self._order = placement.order
        self._state = lane_states(placement.run.seed, placement.config.generators)
        self._race, self._bits = isinstance(sampler, Race), sampler.uniform_bits
        self._sites = [np.divmod(of, placement.problem.shape[1]) for of in sites]

    def next(self, sweep: int, colour: int) -> np.ndarray:
        """A colour's: (sites, L) integers for a race, (sites,) in [0, 1) for a cdf. All colours are to be asked for, in order."""
        order = self._order
        _, unit, turn = order.visit(sweep, *self._sites[colour])
        first = order.number(sweep, colour, 0, 0)[1]
        drawn = np.empty((len(self._state), order.turns * order.numbers_a_turn, order.numbers_a_step), np.uint32)
        fill_uniforms(drawn, self._state, self._bits)
        labels: np.ndarray | int = 0
        if self._race:
            unit, turn, labels = unit[:, None], turn[:, None], np.arange(order.labels)
        generator, number = order.number(sweep, colour, turn, unit, labels)
        found = drawn[generator, number - first, order.part(labels)]
        return np.ascontiguousarray(found) if self._race else found / (1 << self._bits)


class PairedChain(FloatChain):
    """A chain in float64 of a problem that fits a machine; arguments as of `solve`, tables: those of another chain of it.

    config: the machine.
    """

    def __init__(self, problem: Problem, run: Run, *, config: Config, uniforms: str = "pcg64", tables: FloatTables | None = None):
        check_fits(config, problem)
        if uniforms == "hardware" and config.subset_slots:
            raise ProblemError(f"subset_slots is {config.subset_slots}; the float sampler draws among all labels, and has no "
                               'uniforms of a subset: give uniforms = "pcg64", or a machine with subset_slots = 0')
        self.config = config
        super().__init__(problem, run, tables=tables)
        self._hardware, self._gumbel = None, np.empty(0)
        if uniforms == "hardware":
            self._hardware = _MachineUniforms(Placement(config, problem, run), self.tables.sites)
            if isinstance(config.sampler, Race):
                size = 1 << config.sampler.uniform_bits
                self._gumbel = -np.log(-np.log((np.arange(size) + 0.5) / size))

    def temperatures(self) -> Iterator[float]:
        """Those that the machine realizes, in units of unshifted energy."""
        return (realized(self.config, value, self.problem.energy_shift) for value in coefficients(self.config, self.problem))

    def _uniforms(self, colour: int) -> np.ndarray:
        return super()._uniforms(colour) if self._hardware is None else self._hardware.next(self.sweeps, colour)

    def _draw(self, colour: int, temperature: float) -> None:
        if not self._gumbel.size:
            return super()._draw(colour, temperature)
        with compiling("float race", self.tables.kind):
            float_race(*self._drawing(colour, temperature, self._gumbel), self._uniforms(colour))


def solve(problem: Problem, run: Run, *, config: Config | None = None, uniforms: str = "pcg64",
          progress: Callable[[int], object] | None = None,
          observe: Observe | None = None) -> Result:
    """Sample `problem` for `run.sweeps` sweeps in float64.

    problem: the field.
    run: sweeps, burn-in, seed and what is estimated.
    config: the machine whose realized temperatures are used and whose words the problem must fit
    (ProblemError where it does not); None for `mrfhw.samplers.exact.solve`.
    uniforms: "pcg64", those of `mrfhw.samplers.exact.FloatChain`. "hardware": those of `config`, each at the site and label that
    draws it, so that a chain differs from the machine's by quantization alone: a race takes the label of least
    E / T + log(-log((u + 1/2) / 2^bits)), a cdf the uniform u / 2^bits.
    progress: called after each sweep with the number of finished sweeps.
    observe: called with that number, a copy of the labels (H, W) uint8 and None.
    Result: backend "float"; no messages, cycles or lanes.
    """
    if uniforms not in ("pcg64", "hardware") or (uniforms == "hardware" and config is None):
        raise ProblemError(f"uniforms is {uniforms!r}; the float sampler takes pcg64, or hardware with a machine: give one")
    began = time.perf_counter()
    chain = FloatChain(problem, run) if config is None else PairedChain(problem, run, config=config, uniforms=uniforms)
    advance(chain, progress, observe)
    return chain.result(time.perf_counter() - began)
