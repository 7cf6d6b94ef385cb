import json
import math
import zipfile
from dataclasses import replace

import numpy as np
import pytest

from libs.domain.canary import Canary
from libs.domain.policy import RegionPolicy
from libs.interchange.bundles.solve import bundle_of, load_bundle, save_bundle
from libs.interchange.files.errors import InterchangeError
from libs.interchange.region.write import save_region
from tests.builders.random_region import random_region


@pytest.fixture
def bundle():
    snapshot = random_region(np.random.default_rng(0), 100, 4)
    return bundle_of(snapshot, seed=7, limits={"time_s_max": math.inf, "neighbourhoods_max": 5, "stall": None})


@pytest.mark.parametrize("name", ["deep/solve.zip", "deep/solve"])
def test_a_bundle_comes_back(bundle, tmp_path, name):
    save_bundle(bundle, tmp_path / name)
    again = load_bundle(tmp_path / name)
    assert (again.seed, dict(again.limits)) == (7, {"neighbourhoods_max": 5.0})
    assert np.array_equal(again.region.snapshot.servers.target, bundle.region.snapshot.servers.target)
    assert [p.name for p in (tmp_path / "deep").iterdir()] == [name.split("/")[1]]


@pytest.mark.parametrize("name", ["solve.zip", "solve"])
def test_a_bundle_keeps_the_cost_units_that_the_solve_counted(tmp_path, name):
    snapshot = replace(random_region(np.random.default_rng(0), 100, 4), cost_units=np.array([0.7, 3.0]))
    save_bundle(bundle_of(snapshot, seed=7, limits={}), tmp_path / name)
    again = load_bundle(tmp_path / name).region.snapshot
    assert again.cost_units.tolist() == [0.7, 3.0]
    assert again.units_per_rru.tolist() == snapshot.units_per_rru.tolist()


def test_a_bundle_keeps_what_was_imagined(tmp_path):
    asked = {"lose": [{"scope": "msb", "name": "msb-01"}]}
    snapshot = random_region(np.random.default_rng(0), 100, 4)
    save_bundle(bundle_of(snapshot, seed=7, limits={}, what_if=asked), tmp_path / "asked.zip")
    assert load_bundle(tmp_path / "asked.zip").what_if == asked
    save_bundle(bundle_of(snapshot, seed=7, limits={}), tmp_path / "plain.zip")
    assert load_bundle(tmp_path / "plain.zip").what_if is None


def test_a_bundle_keeps_the_canary_of_its_solve(tmp_path):
    canary = Canary(policy=RegionPolicy(buffer_cost=9.0), share=0.5, salt="7")
    snapshot = replace(random_region(np.random.default_rng(0), 100, 4), canary=canary)
    save_bundle(bundle_of(snapshot, seed=7, limits={}), tmp_path / "canary.zip")
    again = load_bundle(tmp_path / "canary.zip").region.snapshot
    assert again.canary == canary
    assert again.price("buffer_cost").tolist() == snapshot.price("buffer_cost").tolist()


def test_equal_solves_make_equal_bundles(bundle, tmp_path):
    for name in ("a.zip", "b.zip"):
        save_bundle(bundle, tmp_path / name)
    assert (tmp_path / "a.zip").read_bytes() == (tmp_path / "b.zip").read_bytes()


def test_a_folder_is_written_once(bundle, tmp_path):
    save_bundle(bundle, tmp_path / "solve")
    with pytest.raises(FileExistsError):
        save_bundle(bundle, tmp_path / "solve")


def test_a_bare_region_is_a_bundle_without_limits(bundle, tmp_path):
    save_region(bundle.region, tmp_path)
    assert load_bundle(tmp_path).limits == {}


def test_what_is_no_bundle_is_refused(bundle, tmp_path):
    with pytest.raises(InterchangeError, match="is missing"):
        load_bundle(tmp_path / "none.zip")
    (tmp_path / "text.zip").write_text("no")
    with pytest.raises(InterchangeError, match="neither"):
        load_bundle(tmp_path / "text.zip")
    with zipfile.ZipFile(tmp_path / "empty.zip", "w"):
        pass
    with pytest.raises(InterchangeError, match=r"servers\.parquet: is missing"):
        load_bundle(tmp_path / "empty.zip")
    save_bundle(bundle, tmp_path / "solve")
    manifests = ("[]", "{", "[" * 100_000, *map(json.dumps, ({"seed": "x"}, {"seed": -5}, {"limits": [1]})))
    for manifest in manifests:
        (tmp_path / "solve" / "replay.json").write_text(manifest)
        with pytest.raises(InterchangeError, match="manifest"):
            load_bundle(tmp_path / "solve")
