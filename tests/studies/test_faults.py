"""`python -m studies.faults`: which faults are drawn, and where none is put; and the list that `python -m studies` prints."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from studies.__main__ import studies
from studies.faults import ROOT, Fault, changes, drawn, faults_of, files_of_tests, first_failed
from studies.mutants import STRATA, files_of, stages_of, table

SOURCE = '''"""A room; 1 < 2."""

__all__ = ["limited"]

LIMIT: int = 7


def limited(value: "int | None", most: int = LIMIT, strict: bool = True) -> int:
    """At most 5."""
    assert value != 3, "not 3"
    if value is None or value > most and strict:
        raise ValueError(f"{value} is more than {most + 1}: give 2")
    return min(value, most) << 1
'''


def written(folder: Path) -> list[Fault]:
    path = folder / "mrfhw" / "room" / "limits.py"
    path.parent.mkdir(parents=True)
    path.write_text(SOURCE)
    return list(faults_of("room", path, folder))


def test_faults_are_of_what_decides(tmp_path: Path):
    """By kind, and by the lines that they change; nothing in docstrings, messages, annotations, asserts and `__all__`."""
    faults = written(tmp_path)
    assert {fault.line for fault in faults} == {5, 8, 11, 12, 13}
    found = {fault.put_into(SOURCE.encode()).decode() for fault in faults}
    for line, instead in (
            ("LIMIT: int = 7", "LIMIT: int = 8"), ("LIMIT: int = 7", "LIMIT: int = 6"),
            ("strict: bool = True", "strict: bool = False"),
            ("value is None or value > most and strict", "(value is None and (value > most and strict))"),
            ("value > most and strict", "(value > most or strict)"), ("value > most", "(value >= most)"),
            ("value is None", "(value is not None)"),
            ("value is None or value > most and strict", "(not (value is None or (value > most and strict)))"),
            ('raise ValueError(f"{value} is more than {most + 1}: give 2")', "pass"), ("min(value", "max(value"),
            ("min(value, most) << 1", "(min(value, most) >> 1)"), ("<< 1", "<< 2"), ("<< 1", "<< 0")):
        assert SOURCE.count(line) == 1 or line in ("value is None", "value > most")
        assert SOURCE.replace(line, instead, 1) in found, instead
    assert all(changes(fault, tmp_path) for fault in faults)
    assert not changes(dataclasses.replace(faults[0], text="7"), tmp_path)
    assert not changes(dataclasses.replace(faults[0], text="7 +"), tmp_path)


def test_a_fault_is_shown_by_its_lines(tmp_path: Path):
    assert written(tmp_path)[0].difference(tmp_path) == "-LIMIT: int = 7\n+LIMIT: int = 8"


def test_the_same_seed_draws_the_same_faults():
    first, again, other = (drawn(["placement", "field"], 6, seed) for seed in (1, 1, 2))
    assert first == again != other
    assert [fault.room for fault in first] == ["placement", "field"] * 3
    assert all(changes(fault) for fault in first)


def test_files_that_import_the_module_come_first():
    fault = Fault("placement", "mrfhw/placement/visit_order.py", 1, "", 0, 0, "")
    files = files_of_tests(fault, ROOT)
    assert files.index("tests/placement/test_visit_order.py") == 0
    assert sorted(files) == [str(path.relative_to(ROOT)) for path in sorted((ROOT / "tests" / "placement").glob("test_*.py"))]


def test_the_failed_test_is_told_with_its_parameters():
    for name in ("tests/a/test_b.py::test_c", "tests/a/test_b.py::test_c[race tie-[1, 2]]", "tests/a/test_b.py"):
        assert first_failed(f"..F\nFAILED {name} - assert [1] - 2\nFAILED x::y") == name
        assert first_failed(f"ERROR {name}\n") == name
    assert first_failed("2 passed in 1 s") == ""


def test_a_stratum_has_files_and_tests():
    for name, stratum in STRATA.items():
        assert files_of(stratum), name
        fault = next(faults_of(name, files_of(stratum)[-1], ROOT))
        for stage in stages_of(fault):
            assert all((ROOT / word).exists() for word in stage.words if not word.startswith("--")), name
    fault = next(faults_of("control", ROOT / "mrfhw/gateware/control/temperature.py", ROOT))
    assert stages_of(fault)[0].words[0] == "tests/gateware/test_temperature.py"


def test_the_share_found_has_an_interval():
    fault = Fault("units", "mrfhw/gateware/unit/spu.py", 1, "", 0, 0, "")
    said = table([(fault, {"outcome": outcome}) for outcome in ["found"] * 9 + ["survived"]])
    assert said.splitlines()[2:] == ["| units | 10 | 9 | 1 | 0 | 90% (60% to 98%) |", "| all | 10 | 9 | 1 | 0 | 90% (60% to 98%) |"]


def test_every_study_says_what_it_is():
    found = studies()
    assert {"asic", "bench", "reproduce", "scaling", "statistics", "faults", "mutants"} <= found.keys()
    assert all(found.values())
