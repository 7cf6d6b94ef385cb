"""`plimsoll convert` makes region folders that `plimsoll solve` reads."""

from pathlib import Path

import pytest

from libs.interchange.bundles.solve import load_bundle
from services.cli.failure import CliFailure
from services.cli.solve import solve
from services.cli.sources import convert

NODES = Path(__file__).parents[2] / "libs" / "interchange" / "inventory" / "nodes"


def test_nodes_become_a_region_that_is_solved(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "west"
    convert(NODES / "bare_metal.json", out, labels=NODES / "bare_metal.toml")
    assert "2 servers in 2 racks, 2 MSBs and 1 datacenter, of 2 hardware types" in capsys.readouterr().out
    snapshot = load_bundle(out).region.snapshot
    assert snapshot.servers.name.tolist() == ["a-16", "a-17"]
    assert len(snapshot.reservations) == 0
    solve(out, out=tmp_path / "assignment.parquet", time_limit=None, neighbourhoods=None, seed=None, report=None)
    assert "2 servers, 0 reservations" in capsys.readouterr().out


def test_a_label_that_lacks_is_named_and_nothing_is_written(tmp_path: Path) -> None:
    with pytest.raises(CliFailure, match="--map rack=LABEL"):
        convert(NODES / "eks.json", tmp_path / "west")
    assert not (tmp_path / "west").exists()
    with pytest.raises(CliFailure, match="exists already"):
        convert(NODES / "eks.json", tmp_path)
