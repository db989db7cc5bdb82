"""`mrfhw tune --backend gpu`: which way of drawing a field is soonest on a device."""

from __future__ import annotations

import json
import math
from dataclasses import asdict

from mrfhw.fpga.report import markdown
from mrfhw.samplers.chain import chain_type
from mrfhw.samplers.gpu.chain import LONGEST_TUNING, Choice
from mrfhw.samplers.gpu.device import of_name
from mrfhw.samplers.gpu.points import KernelPoint
from mrfhw.samplers.gpu.tables import GpuTables
from mrfhw.samplers.gpu.tuning import tried
from mrfhw.system.errors import ProblemError
from mrfhw.tuning.job import Job

__all__ = ["check_device_backend", "tuned_device"]


def check_device_backend(backend: str) -> Choice:
    """What stands behind gpu's question mark. Raises ProblemError for another backend."""
    if backend.partition("?")[0] != "gpu":
        raise ProblemError(f"backend is {backend!r}; ways of drawing are tried on devices alone: give gpu, or such as gpu?device=0")
    choice: Choice = chain_type(backend)[1]["choice"]
    return choice


def tuned_device(choice: Choice, job: Job, budget: float, as_json: bool) -> str:
    """A table of the variants that were tried, and the backend's name with the soonest one. Raises ProblemError.

    budget: seconds; 0 to try the plain variant alone.
    """
    if budget > LONGEST_TUNING:
        raise ProblemError(f"budget is {budget:g} s; ways of drawing are tried for {LONGEST_TUNING:g} s at most: give less")
    device, tables = of_name(choice.device), GpuTables(job.problem)
    trials = sorted(tried(device, tables, budget, choice.memory), key=lambda trial: trial.sweep_s)
    evaluations = job.problem.unclamped_sites * job.problem.labels
    named = "&".join(filter(None, (f"device={choice.device}" if choice.device else "", trials[0].variant.text)))
    name = f"gpu?{named}".replace("+", "%2B")
    if as_json:
        points = [asdict(KernelPoint.of(device, tables, trial.variant, trial.sweep_s)) for trial in trials
                  if math.isfinite(trial.sweep_s)]
        return json.dumps({"backend": name, "points": points}, indent=1)
    rows: list[tuple[str, ...]] = [("variant", "ms a sweep", "M labels/s")]
    rows += [(trial.variant.text, f"{1e3 * trial.sweep_s:.4g}", f"{evaluations / trial.sweep_s / 1e6:,.0f}") for trial in trials]
    return f"{job.said}, on {device.name}\n{markdown(rows)}\n--backend '{name}'"
