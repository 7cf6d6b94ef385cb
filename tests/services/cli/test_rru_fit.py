"""`plimsoll rru fit` on files."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from services.cli.failure import CliFailure
from services.cli.rru.command import app
from services.cli.rru.values import read_values

ROWS = """suite,unit,sku,median
redis,rps,old,100
redis,rps,new,200
pg,TPS,old,10
pg,TPS,new,80
pg,ms,old,8
pg,ms,new,2
"""
COLUMNS = ("--type-column", "sku", "--value-column", "median", "--workload-column", "suite")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "measured.csv"
    path.write_text(ROWS)
    return path


def fit(file: Path, *options: str) -> dict:
    done = CliRunner().invoke(app, ["fit", str(file), "--reference", "old", *options, "-o", "json"])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return json.loads(done.stdout)


def test_rows_are_filtered_and_paired(file: Path, tmp_path: Path) -> None:
    found = fit(file, *COLUMNS, "--where", "unit=rps", "--where", "unit=TPS")
    assert (found["reference"], found["rru"]) == ("old", {"new": 4.0, "old": 1.0})
    assert [one["workloads"] for one in found["types"]] == [2, 2]
    assert fit(file, *COLUMNS, "--where", "unit=ms", "--lower-is-better")["rru"]["new"] == 4.0
    (tmp_path / "fit.json").write_text(json.dumps(found))
    assert read_values(tmp_path / "fit.json", "web") == found["rru"]  # `rru set --from` reads it


@pytest.mark.parametrize(
    ("text", "options", "told"),
    [
        (ROWS, (), "has no column hardware_type"),
        (ROWS.replace("200", "fast"), COLUMNS, "line 3: median 'fast' must be a positive number"),
        (ROWS.replace("200", "-1"), COLUMNS, "line 3: median '-1'"),
        (ROWS.replace("old", "older"), COLUMNS, "old was not measured"),
        (ROWS, (*COLUMNS, "--where", "unit=GB"), "no row that --where lets through"),
        ("", COLUMNS, "no row"),
    ],
)
def test_a_wrong_file_is_named(file: Path, text: str, options: tuple[str, ...], told: str) -> None:
    file.write_text(text)
    with pytest.raises(CliFailure, match=told):
        fit(file, *options)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(CliFailure, match="No such file"):
        fit(tmp_path / "none.csv")
