"""What the figures share: scenes, their traces, the lengths of the chains and a progress bar."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from tqdm import tqdm  # type: ignore[import-untyped,unused-ignore]

from mrfhw.field.initial import initial_labels
from mrfhw.field.problem import ProblemError, Run
from mrfhw.machine.derived import Derived
from mrfhw.samplers.gpu.chain import Choice
from mrfhw.system.progress import Lines, counting
from studies.reproduce.chains import machine_for, machine_labels
from studies.reproduce.scenes import BUILT_IN, Scene, chosen_settings, load_scene
from studies.reproduce.traces import POLICIES, WAYS, Trace, follow

__all__ = ["ITERATIONS_MAX", "Context"]

ITERATIONS_MIN, ITERATIONS_MAX = 4, 65535
CHAINS_MAX = 100
ALGORITHM_1 = ("LRP", 2)


@dataclass
class Context:
    """A call of the command.

    names: of the scenes, none for all. data: directory of the published pictures, or None. iterations: of every
    chain, None for Table 3.2's. chains: independent ones where a spread is asked for. seed: of the first.
    all_memories: whether traces simulate every size and policy of Figure 3.8. gpu: a device that figures with a GPU's times are
    measured on, too.
    """

    names: Sequence[str] = ()
    data: Path | None = None
    iterations: int | None = None
    chains: int = 3
    seed: int = 0
    all_memories: bool = True
    gpu: Choice | None = None
    _traces: dict[tuple[str, float], Trace] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, value, low, high in (("iterations", self.iterations, ITERATIONS_MIN, ITERATIONS_MAX),
                                       ("chains", self.chains, 1, CHAINS_MAX), ("seed", self.seed, 0, (1 << 32) - 1)):
            if value is not None and not low <= value <= high:
                raise ProblemError(f"{name} is {value}; the limits are {low} to {high}: give a number between them")

    @cached_property
    def scenes(self) -> list[Scene]:
        return [load_scene(setting, self.data) for setting in chosen_settings(self.names)]

    def of(self, application: str) -> list[Scene]:
        """The scenes of an application. Raises ProblemError where none was chosen."""
        found = [scene for scene in self.scenes if scene.setting.application == application]
        if not found:
            raise ProblemError(f"scene is {', '.join(self.names)}; this figure takes those of {application}: give one of "
                               f"{', '.join(s.name for s in chosen_settings(()) if s.application == application)}, or none")
        return found

    def sweeps(self, scene: Scene) -> int:
        return self.iterations or scene.setting.iterations

    def bar(self, total: int, what: str) -> tqdm | Lines:
        """How far it is, on stderr."""
        return counting(total, what, "sweep")

    def trace(self, scene: Scene, heat: float = 1.0) -> Trace:
        """The trace of the published machine's chain, with T times `heat`; made once."""
        key = (scene.name, heat)
        if key not in self._traces:
            problem, sweeps = scene.problem(heat), self.sweeps(scene)
            config = Derived.of(machine_for(problem))
            every = self.all_memories and heat == 1.0
            kinds = [(policy, ways) for policy in POLICIES for ways in WAYS] if every else [ALGORITHM_1]
            names = [one.name for one in self.scenes]
            place = f"{scene.name} ({names.index(scene.name) + 1} of {len(names)})" if scene.name in names else scene.name
            with self.bar(sweeps, place if heat == 1.0 else f"{place}, T x {heat:g}") as bar:
                self._traces[key] = follow(
                    machine_labels(config, problem, sweeps, self.seed),
                    initial_labels(problem, Run(sweeps=sweeps, seed=self.seed)), sweeps, kinds, config.count_max, bar.update)
        return self._traces[key]

    def provenance(self) -> list[str]:
        """Lines that say how these numbers differ in kind from the published ones; none where they do not."""
        lines = []
        stand_ins = [scene.name for scene in self.scenes if scene.built_in]
        if stand_ins:
            lines.append(f"{BUILT_IN}s of half the rows and columns stand in for {', '.join(stand_ins)}: "
                         "give --data for the published pictures")
        if self.iterations is not None:
            whose = ", ".join(scene.name for scene in self.scenes) if self.names else "every scene"
            lines.append(f"{self.iterations} iterations of {whose} in place of Table 3.2's")
        return lines
