"""What a run takes on a machine, by its bit-exact twin."""

from __future__ import annotations

from mrfhw.cost.rates import Workload
from mrfhw.field.problem import Problem, Run
from mrfhw.machine.config import Config
from mrfhw.machine.derived import Derived
from mrfhw.twin.machine import Machine

__all__ = ["workload"]

SWEEPS = 60  # of the run, half of them logged


def workload(config: Config, problem: Problem) -> Workload:
    """Of `SWEEPS` sweeps, half of them counted. Raises ProblemError for a problem that the machine cannot take."""
    config, run = Derived.of(config), Run(sweeps=SWEEPS, burn_in=SWEEPS // 2)
    machine = Machine(config, problem, run)
    for _ in range(SWEEPS):
        machine.sweep()
    machine.timing.finish()
    sweep = machine.placement.order.label_evaluations(problem.sites, 1)
    lines = machine.log_messages / config.line_messages
    return Workload(*problem.shape, problem.labels, SWEEPS * sweep / (config.all_lanes * machine.timing.cycles),
                    lines * config.line_bits / 8 / ((SWEEPS - run.burn_in) * sweep), sweep // problem.sites)
