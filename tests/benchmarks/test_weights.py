"""The benchmark of weights solves a region with each weight, and draws the figures."""

import json
from pathlib import Path

import numpy as np
import pytest

from benchmarks.weights import FACTORS, SHOWN, bench_weights, picture_of
from libs.interchange.region.write import dump_region, image_of
from tests.builders.random_region import random_region


def test_each_weight_is_raised_and_lowered(tmp_path: Path) -> None:
    region = tmp_path / "region"
    region.mkdir()
    for name, content in dump_region(image_of(random_region(np.random.default_rng(3), 60, 4, msbs=4, types=2))).items():
        (region / name).write_bytes(content)
    out = tmp_path / "out"
    found = bench_weights([str(region), "--out", str(out), "--weights", "buffer_cost,move_cost_in_use"])
    assert json.loads((out / "weights.json").read_text()) == found
    weights = found["weights"]
    assert sorted(weights) == ["buffer_cost", "move_cost_in_use"]
    assert all([row["factor"] for row in rows] == list(FACTORS) for rows in weights.values())
    assert [row["value"] for row in weights["buffer_cost"]] == [1.25, 2.5, 5.0, 10.0, 20.0]
    usual = [next(row for row in rows if row["factor"] == 1) for rows in weights.values()]
    assert usual[0]["embedded_rru"] == usual[1]["embedded_rru"]
    moved = [row["moved_in_use"] for row in weights["move_cost_in_use"]]
    assert moved[0] >= moved[-1]
    assert (out / "weights.svg").read_text().startswith("<svg")


def test_an_unknown_weight_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        bench_weights([str(tmp_path), "--out", str(tmp_path), "--weights", "bufer_cost"])
    assert "--weights names bufer_cost" in capsys.readouterr().err


def test_multiples_beyond_the_picture_leave_a_gap() -> None:
    found = ((0.5, 90.0), (1, 2.0), (2, 4.0))
    rows = [{"factor": f, "value": f, **dict.fromkeys(SHOWN.values(), value)} for f, value in found]
    drawn = picture_of({"buffer_cost": rows}, "a region")
    assert drawn.count("<circle") == 2 * len(SHOWN)
    assert "buffer_cost (default 1)" in drawn
