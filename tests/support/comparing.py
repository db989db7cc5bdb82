"""A chip beside the model of its machine: bits, counts, sums."""

from __future__ import annotations

import dataclasses

import numpy as np

from mrfhw.field.result import Result, first_difference
from mrfhw.placement.placement import Placement
from mrfhw.simulation.chip import CompiledChip, run_placed
from mrfhw.twin import machine


def prefixes(placement: Placement) -> list[Placement]:
    """The same run cut after each of its sweeps."""
    run = placement.run
    cut = [dataclasses.replace(run, sweeps=n, burn_in=min(run.burn_in, n - 1)) for n in range(1, run.sweeps)]
    return [*(placement.again(r) for r in cut), placement]


def compare(chip: CompiledChip, placement: Placement) -> None:
    model = machine.solve(placement.config, placement.problem, placement.run)
    rtl = run_placed(chip, placement, patience=50_000_000)
    difference = first_difference(rtl, model)
    assert difference is None, f"{difference}\n{placement.config}\n{placement.problem}\n{placement.run}"
    clamped = placement.problem.clamped
    assert (rtl.counts is not None, rtl.sums is not None) == (placement.run.estimate == "mode", placement.run.estimate == "mean")
    assert rtl.messages_counted == len(model.messages)
    if placement.run.estimate == "last":
        assert rtl.messages_counted == 0
        return
    counted = rtl.counts.sum(-1) if rtl.sums is None else rtl.sums[..., 1]
    unclamped = np.ones(placement.problem.shape, bool) if clamped is None else ~clamped
    assert (counted[unclamped] == placement.run.counted).all()
    assert (counted[~unclamped] == 0).all()
    if rtl.sums is not None:
        assert rtl.messages_counted == 0
        check_sums(placement, rtl)


def check_sums(placement: Placement, found: Result) -> None:
    """Sums are those of the histogram of the same run."""
    run = dataclasses.replace(placement.run, estimate="mode")
    counts = machine.solve(placement.config, placement.problem, run).counts
    assert np.array_equal(found.sums[..., 0], counts @ np.arange(placement.problem.labels))
    assert np.array_equal(found.sums[..., 1], counts.sum(-1))
