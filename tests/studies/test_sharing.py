"""What policies gain on the machine of 1,024 tiles; the document has the study's tables."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from mrfhw.field.problem import Run
from mrfhw.sharing.jobs import WHOLE, Job, Part, Visit
from mrfhw.sharing.policies import Clusters, Contexts, Sequential
from mrfhw.sharing.profile import Bus, profile_of
from mrfhw.sharing.simulation import simulate
from studies.sharing import MACHINE, PARTS, SMALL, SMALL_FIELDS, Profiles, fields, main, measured, policies, table

GAIN = pytest.mark.claim("sharing", "contexts gain 1.1 times in pairs and 1.25 times under load, turnarounds are 0.7 of "
                         "sequential's or less, and quarters gain 2.2 times on small fields")
DOCUMENT = pytest.mark.claim("sharing", "the document has the study's tables (make long)")


@GAIN
@pytest.mark.slow
@pytest.mark.parametrize("chains", [1, 2])
def test_what_is_gained(chains: int) -> None:
    of: Profiles = {one.name: profile_of(MACHINE, one.problem, Run(sweeps=one.sweeps), Bus(), (WHOLE, Part(1, 1, 2)), chains)
                    for one in fields()}
    (row,) = measured(of, 10, 80, [Contexts()])
    assert row.pairs >= 1.1
    assert row.least >= 1
    (_, at_less), (throughput, at_more) = row.loads
    assert throughput >= 1.25
    assert max(at_less, at_more) <= 0.7
    small = fields()[-1]
    assert small.name == SMALL
    job = Job(SMALL, profile_of(MACHINE, small.problem, Run(sweeps=small.sweeps), Bus(), (WHOLE, Part(1, 4)), chains))
    found = [simulate([job] * SMALL_FIELDS, policy).makespan for policy in (Sequential(), Clusters(4))]
    assert found[0] / found[1] >= 2.2


def test_rows_of_every_policy() -> None:
    """Fields that take the bus no time and each part in its share: nothing is gained, and nothing lost but by who is alone."""
    of: Profiles = {name: {part: ((Visit(0, cycles * part.of // part.units, 0),),) for part in PARTS}
                    for name, cycles in (("one", 8400), ("other", 8400), (SMALL, 840))}
    rows = {row.policy: row for row in measured(of, 2, 6, policies())}
    assert [row.pairs for row in rows.values()] == pytest.approx([1, 1, 1, 0.5, 1])
    assert [row.small for row in rows.values()] == pytest.approx([1, 1, 1, 1, 1])
    assert table(list(rows.values())).count("\n") == 1 + len(rows)


@DOCUMENT
@pytest.mark.long
def test_the_document_has_the_tables(tmp_path: Path) -> None:
    done = CliRunner().invoke(main, ["-o", str(tmp_path)])
    assert done.exit_code == 0, done.output
    text = (Path(__file__).parents[2] / "docs" / "scaling.md").read_text()
    cycles, gains, _, gains_today = (part.strip() for part in done.output.split("\n\n") if part.startswith("| "))
    for part in (cycles, gains, gains_today):
        assert part in text
    assert {path.name for path in tmp_path.iterdir()} == {"sharing.csv", "sharing.png", "sharing.txt"}
