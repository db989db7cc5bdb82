"""`python -m studies.statistics`: the table, its CSV, and what it says of the samplers."""

import csv
import dataclasses

import numpy as np
import pytest
from click.testing import CliRunner

from mrfhw.machine.config import Config
from mrfhw.machine.samplers import Cdf, Race
from studies.statistics import SHIFTS, TEMPERATURES, WIDTHS, Row, chains, command, conditionals, rows

SHAPE = (len(WIDTHS), len(SHIFTS), len(TEMPERATURES))


def invoke(*arguments):
    return CliRunner().invoke(command, [str(argument) for argument in arguments], prog_name="python -m studies.statistics")


@pytest.mark.claim("statistics", "a table of total variation to the exact distribution by sampler, width, shift and T")
def test_the_table_is_printed_and_written(tmp_path):
    result = invoke("--draws", 2, "-o", tmp_path / "table.csv")
    assert result.exit_code == 0, result.output
    printed = result.stdout.splitlines()
    assert len(printed) == 2 + SHAPE[0] * SHAPE[1] + 1
    assert printed[-1] == f"wrote {tmp_path / 'table.csv'}"
    with (tmp_path / "table.csv").open(newline="") as file:
        table = list(csv.DictReader(file))
    assert len(table) == np.prod(SHAPE)
    assert list(table[0]) == [field.name for field in dataclasses.fields(Row)]
    for row in table:
        found = [float(row[field.name]) for field in dataclasses.fields(Row)[4:] if row[field.name]]
        # log2(e) / T does not fit its register for T = 1 in units of 16.
        missing = row["sampler"] != "race" and (row["energy_shift"], row["temperature"]) == ("4", "1")
        assert len(found) == (0 if missing else 4)
        assert all(0 <= x <= 1 for x in found)
    assert invoke("--draws", 2).stdout.splitlines() == printed[:-1]


def test_the_rows_are_in_order():
    found = [next(rows(1)), *list(rows(1))[-1:]]
    assert [(r.sampler, r.bits, r.energy_shift, r.temperature) for r in found] == [
        ("cdf power_of_two", "4", 0, 1.0), ("race", "12/8", 4, 64.0)]


@pytest.mark.parametrize(("arguments", "message"), [
    (("--draws", 0), "draws is 0; the limits are 1 to 10000"),
    (("--seed", -1), "seed is -1; the limits are 0 to 2^64 - 1"),
    (("-o", "nowhere/table.csv"), "nowhere is no directory"),
])
def test_mistakes_are_one_line(arguments, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = invoke(*arguments)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert message in result.stderr
    assert result.stderr.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_an_output_that_is_a_directory_is_refused(tmp_path):
    result = invoke("-o", tmp_path)
    assert result.exit_code == 2
    assert result.stderr.count("\n") == 1


def mean(what, sampler=Race(), shift=0, temperature=16.0):  # noqa: B008
    return np.mean(what(Config(sampler=sampler), shift, temperature, 10, 0))


def test_more_bits_cure_the_integer_floor_and_not_the_power_of_two():
    for what in (conditionals, chains):
        two = [mean(what, Cdf(floor="power_of_two", probability_bits=bits)) for bits in (8, 12)]
        whole = [mean(what, Cdf(probability_bits=bits)) for bits in (8, 12)]
        assert min(two) > 0.08
        assert whole[0] < 0.01
        assert whole[1] < 0.0025


def test_the_default_machine_is_near_and_a_shift_is_not():
    for what in (conditionals, chains):
        assert mean(what) < 0.005
        assert mean(what, Race(uniform_bits=14, segments=8)) < 0.005  # the table of lanes that share a site
        assert mean(what, shift=4) > 0.05
        assert mean(what, Race(fraction_bits=8)) < mean(what) / 2
