"""`python -m studies.tenants`: the cells of a mesh, and of as many tiles in clusters."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from mrfhw.machine.config import Config, ConfigError
from mrfhw.machine.derived import Derived
from studies.tenants import halved, main


def test_tiles_in_clusters():
    one = Config.preset("census", mesh_rows=12, lanes=8, tile_rows=32)
    assert [Derived.of(halved(one, parts)).size for parts in (2, 4)] == ["2of6x1x8", "4of3x1x8"]
    assert halved(Config(mesh_rows=2, mesh_cols=8), 4) == Config(mesh_rows=2, mesh_cols=2, clusters=4)
    with pytest.raises(ConfigError, match=r"^parts is 4 and mesh_cols is 6; each cluster has as many: give a multiple of 4$"):
        halved(Config(mesh_rows=2, mesh_cols=6), 4)


@pytest.mark.tools
@pytest.mark.long
@pytest.mark.claim("clusters", "each tile as before, and less than 2,500 look-up tables for a second cluster's control and log "
                   "(make long)")
def test_what_a_second_cluster_costs():
    given = ["--machine", "smallest", "--mesh", "1x2", "--set", "label_bits=3", "--set", "gumbel_uniform_bits=8"]
    done = CliRunner().invoke(main, given)
    assert done.exit_code == 0, done.output
    found = {line.split()[0]: (int(line.split()[1]), int(line.split()[5])) for line in done.output.splitlines()}
    assert set(found) == {"logic", "ff", "ram", "dsp"}
    assert found["dsp"][0] == found["dsp"][1]
    assert 0 < found["logic"][1] - found["logic"][0] < 2500
