"""Runs on a chip whose bus and log this process accesses directly: a compiled chip, or one in a system on chip."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np

from mrfhw.backends.backend import Backend, Fresh, Observe, Pauses, Progress, Steps
from mrfhw.driver.driver import Driver
from mrfhw.driver.readout import Done, carried, read_result
from mrfhw.field.problem import Problem, Run
from mrfhw.field.result import Result
from mrfhw.field.state import RunState
from mrfhw.field.state_check import Stands, check_state
from mrfhw.machine.config import Config
from mrfhw.machine.derived import Derived
from mrfhw.machine.entry_sums import most_of_entries, sums_of_entries
from mrfhw.machine.registers import CONTROL_BITS
from mrfhw.placement.placement import Placement, place
from mrfhw.system.progress import working

__all__ = ["ChipRun", "DrivenBackend"]


class DrivenBackend(Backend):
    """A session with a chip behind a `Driver`. Each kind of chip has its own `settle`, `run_out` and `bus_cycles`."""

    def __init__(self, config: Config, driver: Driver):
        self.config, self.driver = config, driver

    def settle(self) -> None:
        """End a run that an earlier program left running, and drop its log."""
        raise NotImplementedError

    def run_out(self, before: int, progress: Progress | None, pauses: Pauses | None) -> Steps[tuple[bytes, int | None]]:
        """Run to the end, or to the next pause; gives whenever it has waited for a while. Returns the log up to there, and the
        cycles that a simulation took.

        before: lines that the chip had counted when the run started or continued.
        """
        raise NotImplementedError

    def bus_cycles(self) -> int | None:
        """Cycles of the bus so far, where the session knows them."""
        return None

    def stop_if(self, pauses: Pauses | None, sweep: int) -> None:
        """If a pause is due, stop the run after the current sweep."""
        if pauses is not None and pauses.now(sweep):
            self.driver.set(control=1 << CONTROL_BITS["stop"])

    def prepare(self, problem: Problem | Placement, run: Run, *, fresh: Fresh = True, state: RunState | None = None,
                progress: Progress | None = None, observe: Observe | None = None, pauses: Pauses | None = None) -> ChipRun:
        """See `mrfhw.backends.backend.Backend`."""
        return ChipRun(self, place(self.config, problem, run), fresh, state, progress, pauses)


class ChipRun:
    """See `mrfhw.backends.backend.ActiveRun`."""

    def __init__(self, session: DrivenBackend, placement: Placement, fresh: Fresh, state: RunState | None,
                 progress: Progress | None, pauses: Pauses | None):
        self.session, self.placement, self.fresh, self.before = session, placement, fresh, state
        self._progress, self._pauses = progress, pauses
        self.sweeps = 0 if state is None else state.sweeps
        self._baseline: dict[str, int] = {}  # the counters' values before the first sweep
        self._log, self._wall, self._simulated, self._pieces = bytearray(), 0.0, 0, 0
        self._outcome: Result | None = None
        if state is not None:
            check_state(state, placement.problem, placement.run, Stands(
                Derived.of(placement.config).generators, lmem=most_of_entries(placement.config, placement.run.estimate)))
        self._past, self._lmem = carried(placement, state)
        self._loaded = False

    @property
    def finished(self) -> bool:
        return self.sweeps >= self.placement.run.sweeps

    @property
    def last(self) -> np.ndarray:
        return self._read().last

    def _load(self) -> Iterator[None]:
        session, driver, state = self.session, self.session.driver, self.before
        driver.check()
        session.settle()
        if self.sweeps:
            driver.forward(self.placement, self.sweeps)
            yield from session.run_out(0, None, None)
            self._baseline = driver.counters()
            session.settle()
        began, cycles = time.perf_counter(), session.bus_cycles()
        with working("loading the chip"):
            if state is None:
                stated = driver.load(self.placement, generators=self.fresh)
            else:
                assert state.generators is not None
                stated = driver.load(self.placement, state.generators, self._lmem)
        measured = _since(cycles, session.bus_cycles())
        self._loading_seconds, self._loading_cycles = time.perf_counter() - began, stated if measured is None else measured
        self._loaded = True

    def _go(self) -> Iterator[None]:
        """To the next pause or the end, with a stop where the sums are cleared."""
        while True:
            self._clear()
            end = self.placement.piece_end(self.sweeps)
            yield from self._run_to(end if self._pauses is None else self._pauses.limit(end))
            if self.finished or self.sweeps < end or (self._pauses is not None and self._pauses.now(end)):
                break
        if self._progress and self.finished:
            self._progress(self.placement.run.sweeps)

    def _clear(self) -> None:
        """Where LMem can hold no larger sums, take them and clear them."""
        driver, p = self.session.driver, self.placement
        if p.sums_end(self.sweeps) and not self.finished:
            with working("reading the chip"):
                lmem = driver.lmem(p)
                self._past = self._past + sums_of_entries(p.config, lmem)
                driver.clear(p, lmem[..., 0])

    def _run_to(self, end: int) -> Iterator[None]:
        """Sweep to `end`, or until a pause is due."""
        driver, run, resume = self.session.driver, self.placement.run, self.sweeps > 0
        lines = driver.get("lines")[0] if resume else 0
        if end < run.sweeps or self._pieces:
            driver.set(sweeps=end)
        began = time.perf_counter()
        driver.start(resume)
        self._pieces += 1
        log, simulated = yield from self.session.run_out(lines, self._progress, self._pauses)
        self._wall += time.perf_counter() - began
        self._log += log
        self._simulated += simulated or 0
        self._simulates = simulated is not None
        self.sweeps = end if self._pauses is None else driver.get("sweep")[0]

    def advance(self) -> None:
        for _ in self.steps():
            pass

    def steps(self) -> Iterator[None]:
        self._outcome = None
        if not self._loaded:
            yield from self._load()
        yield from self._go()

    def _read(self) -> Result:
        """The result of the chip so far."""
        if self._outcome is None:
            session, driver = self.session, self.session.driver
            began, cycles = time.perf_counter(), session.bus_cycles()
            with working("reading the chip"):
                lmem = driver.lmem(self.placement)
            reading, read = time.perf_counter() - began, _since(cycles, session.bus_cycles())
            counters = {name: count - self._baseline.get(name, 0) for name, count in driver.counters().items()}
            read = driver.reading_cycles(self.placement) if read is None else read
            result = read_result(counters, self.placement, self._log, lmem, wall=self._wall, backend=session.backend,
                                 before=self.before, past=self._past,
                                 done=Done(0 if self.before is None else self.before.sweeps, self.sweeps, self._pieces),
                                 measured={"loading_seconds": self._loading_seconds, "reading_seconds": reading,
                                           "loading_cycles": self._loading_cycles, "reading_cycles": read,
                                           "simulated_cycles": self._simulated if self._simulates else None})
            self._outcome = result
        return self._outcome

    def state(self, counted: bool = True) -> RunState:
        state = RunState(sweeps=self.sweeps, so_far=self._read(), generators=self.session.driver.generators())
        return state if counted else state.uncounted()

    def result(self) -> Result:
        return self._read()


def _since(before: int | None, now: int | None) -> int | None:
    return None if before is None or now is None else now - before
