import dataclasses
import json

import numpy as np
import pyarrow.csv as pv
import pyarrow.parquet as pq
import pytest

from libs.interchange.files.errors import InterchangeError
from libs.interchange.world.planning_inputs import load_planning_inputs
from libs.interchange.world.read import load_cost_models, load_gateways, load_observations, load_vocabulary
from libs.interchange.world.service_models import load_service_models, save_service_models
from tests.builders.world import random_world, write_table, write_world


@pytest.fixture
def world(tmp_path):
    return write_world(tmp_path / "world", traces=1)


def test_a_world_becomes_arrays(world):
    words = load_vocabulary(world)
    assert words.regions.tolist() == ["east", "north", "west"]
    assert words.products.tolist() == ["feed", "shop"]
    seen = load_observations(world, words)
    assert seen.usage.shape == (3, 3, 142)  # 144 samples less the two of the drain
    assert not np.isin([700, 720], seen.minute).any()
    assert 740 in seen.minute
    front = words.services.tolist().index("feed-front")
    assert seen.usage[front, 0, 0] == pytest.approx(500 * 0.2 * 0.75 * 3e6 / 1e9, rel=0.05)
    inputs = load_planning_inputs(world, words)
    assert inputs.supply[:, 0].tolist() == [[3.0, 6.0, 6.0]] * 2
    assert inputs.controls.requires_approval.tolist() == [False, False, True]
    assert inputs.growth.tolist() == [[0.0, 0.0, 0.1], [0.0, 0.0, 0.0]]
    assert np.isinf(inputs.growth_priority).all()
    assert inputs.traffic_growth[1].tolist() == [0.02, 0.0]


def test_parquet_says_the_same_as_csv(world):
    words = load_vocabulary(world)
    before = load_observations(world, words)
    pq.write_table(pv.read_csv(world / "usage.csv"), world / "usage.parquet")
    (world / "usage.csv").unlink()
    after = load_observations(world, words)
    assert np.array_equal(before.usage, after.usage, equal_nan=True)


def test_a_service_on_another_type_is_another_placement(world):
    supply = [[1, r, h, 5.0] for r in ("east", "west", "north") for h in ("compute", "flash")]
    write_table(world, "supply", ["step", "region", "hardware_type", "capacity"], supply)
    write_table(world, "traffic_growth", ["step", "product", "growth"], [])
    write_table(world, "fungibility", ["service", "hardware_type", "ratio"], [["store", "flash", 0.5]])
    write_table(
        world, "controls", ["service", "region", "hardware_type", "capacity_max"], [["store", "west", "flash", 2.0]]
    )
    words = load_vocabulary(world)
    assert words.placement_ratio.tolist() == [1.0, 1.0, 1.0, 0.5]
    assert words.services[words.placement_service[3]] == "store"
    most = load_planning_inputs(world, words).controls.capacity_max
    assert np.argwhere(np.isfinite(most)).tolist() == [[3, 2]]


LOAD_TEST = ["service", "region", "hardware_type", "capacity", "throughput", "utilisation", "utilisation_max"]
BAD = [
    ("services", ["service", "hardware_type"], [["a", "compute"], ["a", "compute"]], "twice"),
    ("services", ["service", "hardware_type"], [["a", "quantum"]], "'quantum' is not a hardware type"),
    ("services", ["service"], [["a"]], "hardware_type: the column is missing"),
    ("supply", ["step", "region", "hardware_type", "capacity"], [[1, "east", "compute", -1]], "less than 0"),
    ("supply", ["step", "region", "hardware_type", "capacity"], [[1, "east", "compute", "much"]], "supply.csv"),
    ("supply", ["step", "region", "hardware_type", "capacity"], [[1.5, "east", "compute", 1]], "whole numbers"),
    ("supply", ["step", "region", "hardware_type", "capacity"], [[1, "east", "compute", 1]] * 2, "twice"),
    ("gateways", ["product", "service", "operation"], [], "no entry point"),
    ("gateways", ["product", "service", "operation"], [["a", "x", "y"], ["b", "x", "y"]], "another product"),
    ("growth", ["step", "service", "hardware_type", "capacity"], [[9, "store", "compute", 1]], "not a step"),
    ("growth", ["step", "service", "hardware_type", "capacity"], [[1, "nobody", "compute", 1]], "'nobody'"),
    ("traffic_growth", ["step", "product", "growth"], [[1, "shop", -2]], "less than -1"),
    ("ledger", ["service", "region", "hardware_type", "delta"], [["store", "mars", "compute", 1]], "'mars'"),
    ("fungibility", ["service", "hardware_type", "ratio"], [["store", "compute", 1]], "own type"),
    ("presence_limits", ["product", "region", "share_min", "share_max"], [["shop", "east", 0.5, 0.4]], "less than"),
    ("cost_models", ["service", "product", "share"], [["store", "shop", 0.5]], "sum to 1"),
    ("events", ["start_minute", "end_minute"], [[10, 5]], "before start_minute"),
    ("load_tests", LOAD_TEST, [["nobody", "east", "compute", 1, 100, 0.5, ""]], "'nobody'"),
    ("load_tests", LOAD_TEST, [["store", "mars", "compute", 1, 100, 0.5, ""]], "'mars'"),
    ("load_tests", LOAD_TEST, [["store", "east", "flash", 1, 100, 0.5, ""]], "'flash'"),
    ("load_tests", LOAD_TEST, [["store", "east", "compute", 0, 100, 0.5, ""]], "not above 0"),
    ("load_tests", LOAD_TEST, [["store", "east", "compute", 1, 100, 50, ""]], "may not be above 1"),
    ("load_tests", LOAD_TEST, [["store", "east", "compute", 1, -1, 0.5, ""]], "less than 0"),
    ("load_tests", LOAD_TEST, [["store", "east", "compute", 1, u, 0.5, u] for u in (0.7, 0.8)], "differs within"),
    ("load_tests", LOAD_TEST[:3], [["store", "east", "compute"]], "the column is missing"),
    ("usage", ["minute", "service", "region", "hardware_type", "used"], [[0, "x", "east", "compute", 1]], "'x'"),
]


def load_all(world, words, name):
    if name in ("gateways", "services", "fungibility"):
        load_gateways(world)
        words = load_vocabulary(world)
    load_cost_models(world, words)
    if name in ("usage", "events"):
        load_observations(world, words)
    load_planning_inputs(world, words)


@pytest.mark.parametrize(("name", "header", "rows", "says"), BAD)
def test_what_is_wrong_is_named(world, name, header, rows, says):
    words = load_vocabulary(world)
    write_table(world, name, header, rows)
    with pytest.raises(InterchangeError) as caught:
        load_all(world, words, name)
    assert says in str(caught.value)
    assert caught.value.file.startswith(name)


@pytest.mark.parametrize(
    "policy", ["[]", "{", "[" * 100_000, '{"e9": 1}', '{"oscillation": -1}', '{"oscillation": true}']
)
def test_a_policy_that_makes_no_sense_is_refused(world, policy):
    (world / "policy.json").write_text(policy)
    with pytest.raises(InterchangeError, match=r"policy\.json"):
        load_planning_inputs(world, load_vocabulary(world))


def test_models_come_back_as_they_went(tmp_path):
    words, models, _ = random_world(3, several=[(1, 0, 0.5), (2, 1, 2.0)])
    baseline = models.baseline.copy()
    baseline[6:] = 1.5
    low = models.reasons.copy()
    low[2] = ("FewSpans", "ModelError")
    models = dataclasses.replace(models, baseline=baseline, reasons=low)
    save_service_models(tmp_path / "model.json", words, models)
    again = load_service_models(tmp_path / "model.json", words)
    for field in dataclasses.fields(models):
        before, after = getattr(models, field.name), getattr(again, field.name)
        assert after.tolist() == (pytest.approx(before) if before.dtype == float else before.tolist()), field.name
    assert again.residual(words) == pytest.approx(models.residual(words))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda d: d.pop("presence"), "no objects"),
        (lambda d: d["services"].update(nobody={}), "services.nobody"),
        (lambda d: d["services"]["service-1"].update(capacity="big"), "services.service-1.capacity"),
        (lambda d: d["services"]["service-1"]["attribution"].update({"product-0": 3.0}), "sum to 1"),
        (lambda d: d["services"]["service-1"]["baseline"].update(mars=1.0), "'mars'"),
        (lambda d: d["presence"].pop("product-1"), "presence.product-1"),
    ],
)
def test_models_that_make_no_sense_are_refused(tmp_path, change, says):
    words, models, _ = random_world(3)
    path = tmp_path / "model.json"
    save_service_models(path, words, models)
    document = json.loads(path.read_text())
    change(document)
    path.write_text(json.dumps(document))
    with pytest.raises(InterchangeError) as caught:
        load_service_models(path, words)
    assert says in str(caught.value)
