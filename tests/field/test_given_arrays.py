"""What a Problem and a Run take as arrays and numbers, and that they keep it."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import mrfhw
from mrfhw.backends.windows import WindowPlan
from mrfhw.field.energy import singleton_energies
from mrfhw.field.problem import Problem, ProblemError, Run, Schedule
from mrfhw.machine.config import Config
from mrfhw.placement.placement import Placement
from mrfhw.samplers import exact
from mrfhw.twin import machine

PROBLEM_ARRAYS_NUMBERS = pytest.mark.claim("problem",
    "a Problem's arrays and numbers are whole and finite, its masks booleans or 0 and 1, and they do not change with the caller's")

SHAPE = (4, 6)
HUGE = pytest.param(10**5000, id="5001 digits")
MASK = np.arange(24).reshape(SHAPE) % 3 == 0
RUN = Run(sweeps=6, burn_in=2, seed=1)
IMAGE = np.arange(24).reshape(SHAPE)


def problem(**changes):
    return Problem(**{"labels": 3, "singleton1": IMAGE, "constants": np.array([0, 9, 20]), "tau": 2,
                      "schedule": Schedule.constant(4.0), **changes})


def two_images(**changes):
    return problem(**{"constants": None, "singleton2": IMAGE[::-1], "offsets": np.array([[0, 0], [0, -1], [1, 0]]), **changes})


@PROBLEM_ARRAYS_NUMBERS
@pytest.mark.parametrize("kind", [bool, np.uint8, np.int8, np.int64])
def test_masks_of_0_and_1_are_masks(kind):
    given = problem(clamped=MASK.astype(kind), observed=(~MASK).astype(kind))
    assert given.clamped.dtype == given.observed.dtype == bool
    assert np.array_equal(given.clamped, MASK)
    result, wanted = machine.solve(Config(), given, RUN), machine.solve(Config(), problem(clamped=MASK, observed=~MASK), RUN)
    assert np.array_equal(result.counts, wanted.counts)
    assert (result.counts.sum(-1) == np.where(MASK, 0, RUN.counted)).all()
    assert np.array_equal(exact.solve(given, RUN).counts, exact.solve(problem(clamped=MASK, observed=~MASK), RUN).counts)
    assert np.array_equal(Placement(Config(), given, RUN).clamped[:4, :6], MASK)
    assert (singleton_energies(given)[MASK] == 0).all()


@PROBLEM_ARRAYS_NUMBERS
def test_what_the_second_image_shows_has_its_shape():
    with pytest.raises(ProblemError, match=r"^shown has shape \(3, 6\); the second image has \(4, 6\): give a mask of that"):
        two_images(shown=MASK[:3])
    with pytest.raises(ProblemError, match=r"^shown is of the second image, and there is none: give singleton2, or leave"):
        problem(shown=MASK)
    assert two_images(shown=MASK).digest != two_images().digest
    assert "shown" not in two_images().record.arrays


@PROBLEM_ARRAYS_NUMBERS
@pytest.mark.parametrize("name", ["observed", "clamped"])
@pytest.mark.parametrize(("mask", "said"), [
    (np.full(SHAPE, 2), "has values from 2 to 2"), (IMAGE.astype(np.uint8) * 10, "has values from 0 to 230"),
    (MASK.astype(int) * -1, "has values from -1 to 0"), (MASK.astype(float), "has values of type float64"),
    (MASK.astype(object), "has values of type object"), (MASK.astype(str), "has values of type <U5"),
    (MASK[:3], r"has shape \(3, 6\)")])
def test_other_masks_are_refused(name, mask, said):
    with pytest.raises(ProblemError, match=f"^{name} {said}") as error:
        problem(**{name: mask})
    assert "\n" not in str(error.value)


@PROBLEM_ARRAYS_NUMBERS
@pytest.mark.parametrize("name", ["singleton1", "singleton2", "constants", "offsets", "vectors"])
@pytest.mark.parametrize(("strange", "said"), [
    (np.nan, "has the value nan"), (np.inf, "has the value inf"), (0.5, "has the value 0.5"), (2.0**40, "to 1099511627776"),
    ("1", "has values of type <U"), (None, "has values of type object"), (1j, "has values of type complex128"),
    (2**64, "has values of type object")])
def test_data_that_are_no_whole_numbers(name, strange, said):
    make = problem if name == "constants" else two_images
    whole = {"vectors": np.zeros((3, 2)), "constants": np.zeros(3)}.get(name)
    whole = getattr(make(), name) if whole is None else whole
    given = whole.astype(float if isinstance(strange, float) else complex if isinstance(strange, complex) else object)
    given[(-1,) * given.ndim] = strange
    if isinstance(strange, str):
        given = given.astype(str)
    spoken = {"singleton1": "first image", "singleton2": "second image"}.get(name, name)
    with pytest.raises(ProblemError, match=f"^{spoken} .*{said}") as error:
        make(**{name: given})
    assert "\n" not in str(error.value)


@PROBLEM_ARRAYS_NUMBERS
@pytest.mark.parametrize("strange", [np.nan, np.inf, 0.5, 1e30, "1", None, 2**64])
def test_initial_labels_that_are_none(strange):
    given = np.zeros(SHAPE).astype(object if not isinstance(strange, float) else float)
    given[1, 1] = strange
    with pytest.raises(ProblemError, match=r"^initial has"):
        Run(sweeps=1, initial=given)


@PROBLEM_ARRAYS_NUMBERS
@pytest.mark.parametrize("name", ["labels", "alpha", "beta", "tau", "energy_shift", "out_of_range"])
@pytest.mark.parametrize("strange", [float("nan"), float("inf"), 2.5, 10**30, -(10**30), HUGE, "3", True, np.array([1, 2])])
def test_numbers_that_are_none(name, strange):
    with pytest.raises(ProblemError, match=f"^{name} (is|has) ") as error:
        problem(**{name: strange})
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 200


@pytest.mark.parametrize("name", ["sweeps", "burn_in", "seed"])
@pytest.mark.parametrize("strange", [float("nan"), 2.5, 10**30, HUGE, "3", None])
def test_lengths_that_are_none(name, strange):
    with pytest.raises(ProblemError, match=f"^{name} is "):
        Run(**{"sweeps": 5, name: strange})


@pytest.mark.parametrize("strange", [float("nan"), float("inf"), HUGE, -1, "warm", None])
def test_temperatures_that_are_none(strange):
    for make in (Schedule.constant, lambda value: Schedule.of_table((1.0, value)),
                 lambda value: Schedule.geometric(5.0, 0.5, value)):
        with pytest.raises(ProblemError, match=r"^temperature.* is "):
            make(strange)


def test_floats_of_whole_value_and_lists_are_numbers():
    given = two_images(singleton1=IMAGE.astype(float), singleton2=IMAGE[::-1].tolist(), alpha=2.0, tau=np.float32(2),
                       labels=np.int8(3))
    assert given.singleton1.dtype == np.int32
    assert (type(given.alpha), type(given.tau), type(given.labels)) == (int, int, int)
    plain = machine.solve(Config(), two_images(alpha=2), RUN)
    assert np.array_equal(machine.solve(Config(), given, RUN).counts, plain.counts)
    start = Run(sweeps=6, burn_in=2, seed=1, initial=(IMAGE % 3).astype(float))
    assert np.array_equal(machine.solve(Config(), given, start).initial, IMAGE % 3)


@PROBLEM_ARRAYS_NUMBERS
def test_no_array_changes_with_the_callers():
    arrays = {"singleton1": IMAGE.astype(np.uint8), "singleton2": IMAGE.astype(np.int32), "offsets": np.zeros((3, 2), np.int32),
              "vectors": np.zeros((3, 2), int), "clamped": MASK.copy(), "observed": MASK.astype(np.uint8)}
    given = two_images(**arrays, doubleton="squared")
    start = np.zeros(SHAPE, np.uint8)
    run = Run(sweeps=1, initial=start)
    before = {name: getattr(given, name).copy() for name in arrays}
    start += 1
    for name, array in arrays.items():
        array[...] = 1 - array if array.dtype != bool else ~array
        assert np.array_equal(getattr(given, name), before[name]), name
        with pytest.raises(ValueError, match="read-only"):
            getattr(given, name)[...] = 0
        assert getattr(given, name).flags.c_contiguous
    assert not run.initial.any()


def test_a_read_only_view_of_what_can_be_written_is_copied():
    below = IMAGE.astype(np.uint8)
    view = below[:]
    view.flags.writeable = False
    given = problem(singleton1=view)
    below[...] = 0
    assert given.singleton1.any()


@PROBLEM_ARRAYS_NUMBERS
def test_frozen_arrays_and_pieces_of_kept_ones_are_not_copied():
    image = IMAGE.astype(np.uint8)
    image.flags.writeable = False
    given = two_images(singleton1=image, singleton2=image, observed=MASK)
    assert given.singleton1 is image
    again = dataclasses.replace(given, alpha=2)
    assert all(getattr(again, name) is getattr(given, name) for name in ("singleton1", "singleton2", "offsets", "observed"))
    plan = WindowPlan(Config(mesh_rows=1, mesh_cols=1, tile_rows=4, tile_cols=4), given)
    part = plan.windows[0].cut(given)
    assert len(plan.windows) > 1
    assert np.shares_memory(part.singleton1, image)
    assert part.singleton2 is image


def test_data_whose_energies_no_number_holds():
    with pytest.raises(ProblemError, match="the limit is 2"):
        exact.solve(problem(singleton1=np.full(SHAPE, 2**31 - 1), singleton="squared", alpha=1000), RUN)


def test_tables_of_a_schedule_may_be_arrays() -> None:
    wanted = Schedule.of_table((5.0, 4.0), 2)
    assert Schedule("table", table=np.array([5.0, 4.0]), stride=2.0) == wanted  # type: ignore[arg-type]
    assert type(Schedule.of_table([5, 4], stride=2.0).stride) is int  # type: ignore[arg-type]
    for table in (5, None):
        with pytest.raises(ProblemError, match=r"^table is (5|None); it has temperatures one after the other: give such as "):
            Schedule("table", table=table)  # type: ignore[arg-type]


@pytest.mark.parametrize("text", [np.array(["potts", "mode"]), ["potts"], None, 3])
def test_names_are_text(text: object) -> None:
    with pytest.raises(ProblemError, match=r"^doubleton is .*; it must be one of absolute, squared, potts, table: choose one$"):
        Problem(labels=3, unary=np.zeros((2, 2, 3), int), doubleton=text)  # type: ignore[arg-type]
    with pytest.raises(ProblemError, match=r"^estimate is .*; it must be one of mode, mean, last: choose one$"):
        Run(sweeps=3, estimate=text)  # type: ignore[arg-type]


def test_only_the_first_channel_is_compared_bit_by_bit() -> None:
    problem = Problem(labels=2, singleton1=np.zeros((2, 2, 2), int), constants=np.zeros((2, 2), int), singleton="hamming")
    with pytest.raises(ProblemError, match=r"^singleton is 'hamming' for channel 2; the first channel's data can be compared bit "
                                           r"by bit, the others' take absolute or squared: give one for each channel, such as "
                                           r"\[hamming, absolute\]$"):
        mrfhw.solve(problem, sweeps=4, backend="model")
