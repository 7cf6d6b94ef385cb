"""Test the service's additions to worlds: conversion ratios, overrides, sums of traces, worlds in a zip."""

import zipfile

import numpy as np
import pytest

from libs.domain.calls import Calls
from libs.domain.demand import GROUPS, METRICS, Demand
from libs.interchange.bundles.world import open_world, save_world
from libs.interchange.files.errors import InterchangeError
from libs.interchange.world.demand import dump_demand, load_demand
from libs.interchange.world.observations import dump_observations
from libs.interchange.world.planning_inputs import load_planning_inputs
from libs.interchange.world.read import in_events, load_observations, load_vocabulary
from tests.builders.world import write_table, write_world

OVERRIDES = ["override", "service", "product", "region", "hardware_type", "least", "most", "reason"]


@pytest.fixture
def world(tmp_path):
    world = write_world(tmp_path / "world", traces=1)
    supply = [[1, r, h, 5.0] for r in ("east", "west", "north") for h in ("compute", "flash")]
    write_table(world, "supply", ["step", "region", "hardware_type", "capacity"], supply)
    write_table(world, "traffic_growth", ["step", "product", "growth"], [])
    write_table(world, "fungibility", ["service", "hardware_type", "ratio"], [["store", "flash", 0.5]])
    return world


def inputs_of(world):
    return load_planning_inputs(world, load_vocabulary(world))


def test_growth_counts_in_units_of_the_services_own_type(world):
    header = ["step", "service", "hardware_type", "capacity", "conversion_ratio"]
    rows = [
        [1, "store", "flash", 8.0, ""],
        [1, "feed-front", "flash", 8.0, 0.25],
        [1, "shop-front", "compute", 8.0, ""],
    ]
    write_table(world, "growth", header, rows)
    assert inputs_of(world).growth.tolist() == [[2.0, 8.0, 4.0]]
    write_table(world, "growth", header, [[1, "feed-front", "flash", 8.0, ""]])
    with pytest.raises(InterchangeError, match="conversion_ratio"):
        inputs_of(world)
    write_table(world, "growth", header, [[1, "feed-front", "flash", 8.0, 0.0]])
    with pytest.raises(InterchangeError, match="not above 0"):
        inputs_of(world)


def test_overrides_tighten_and_never_loosen(world):
    write_table(
        world,
        "controls",
        ["service", "region", "hardware_type", "capacity_min", "capacity_max", "reason"],
        [
            ["store", "west", "compute", 1.0, 3.0, "the hall"],
        ],
    )
    write_table(
        world,
        "overrides",
        OVERRIDES,
        [
            [1, "store", "", "west", "", 0.5, 2.0, "less"],
            [2, "store", "", "west", "", 1.5, 9.0, "more"],
            [3, "store", "", "east", "flash", "", 4.0, "slow disks"],
            [4, "", "feed", "north", "", 0.1, 0.4, "network"],
        ],
    )
    words, inputs = load_vocabulary(world), inputs_of(world)
    store, on_flash = words.services.tolist().index("store"), 3
    west, east, north = (words.regions.tolist().index(region) for region in ("west", "east", "north"))
    c = inputs.controls
    assert (c.capacity_min[store, west], c.capacity_max[store, west]) == (1.5, 2.0)
    assert (c.capacity_min[on_flash, east], c.capacity_max[on_flash, east]) == (0.0, 4.0)
    assert c.reason[store, west] == "the hall; override 1 (less); override 2 (more)"
    feed = words.products.tolist().index("feed")
    assert (inputs.presence_min[feed, north], inputs.presence_max[feed, north]) == (0.1, 0.4)
    assert np.isinf(np.delete(inputs.presence_max.ravel(), feed * 3 + north)).all()


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([[1, "store", "", "west", "", 3.0, "", "a"], [2, "store", "", "west", "", "", 2.0, "b"]], r"1 \(a\).*2 \(b\)"),
        ([[1, "", "feed", r, "", 0.4, "", r] for r in ("east", "west", "north")], "sum to 1.2, more than all of it"),
        ([[1, "", "feed", r, "", "", 0.3, r] for r in ("east", "west", "north")], "sum to 0.9, not all of it"),
        ([[1, "store", "feed", "west", "", 1.0, "", "a"]], "either a service or a product"),
        ([[1, "feed-front", "", "west", "flash", 1.0, "", "a"]], "neither the service's own type nor"),
        ([[1, "", "fed", "west", "", 1.0, "", "a"]], "'fed' is not a product"),
    ],
)
def test_overrides_that_cannot_be_kept_are_named(world, rows, message):
    write_table(world, "overrides", OVERRIDES, rows)
    with pytest.raises(InterchangeError, match=message):
        inputs_of(world)


def test_sums_of_traces_survive_a_file(world):
    words, rng = load_vocabulary(world), np.random.default_rng(0)
    S, P = len(words.services), len(words.products)
    demand = Demand(
        cost={m: rng.random((GROUPS, S, P)) * (rng.random((GROUPS, S, P)) < 0.5) for m in METRICS},
        gateway=rng.random((GROUPS, P)),
        spans=np.arange(S) + 3.0,
        attributed=np.arange(S) + 2.0,
        orphaned=np.arange(S) + 1.0,
        cpu_stated=np.arange(S) + 0.0,
        edges=Calls.none(),
        duplicates=0,
    )
    files = dump_demand(words, demand)
    found = load_demand(files, words)
    for metric in METRICS:
        assert np.array_equal(found.cost[metric], demand.cost[metric])
    for name in ("gateway", "spans", "attributed", "orphaned", "cpu_stated"):
        assert np.array_equal(getattr(found, name), getattr(demand, name))
    assert load_demand({}, words) is None
    del files["demand_services.parquet"]
    with pytest.raises(InterchangeError, match="demand_services"):
        load_demand(files, words)


def test_measurements_survive_a_file(world):
    words = load_vocabulary(world)
    seen = load_observations(world, words)
    seen.usage[0, 0, :5] = np.nan
    found = load_observations(dump_observations(words, seen), words)
    assert np.array_equal(found.minute, seen.minute)
    assert np.array_equal(found.usage, seen.usage, equal_nan=True)
    assert np.array_equal(found.traffic, seen.traffic, equal_nan=True)


def test_an_event_begins_with_its_first_minute_and_ends_before_its_last():
    start, end = np.array([10.0, 15.0]), np.array([20.0, 30.0])
    assert in_events(np.array([9, 10, 19, 20, 29, 30]), start, end).tolist() == [False, True, True, True, True, False]


def test_a_world_in_a_zip_is_the_folder(world, tmp_path):
    files = {path.name: path.read_bytes() for path in world.iterdir()}
    save_world(tmp_path / "w.zip", files)
    again = inputs_of(open_world(tmp_path / "w.zip"))
    assert np.array_equal(again.supply, inputs_of(world).supply)
    assert open_world(world) == world


def test_a_zip_that_is_none_or_too_large_is_refused(tmp_path):
    (tmp_path / "no.zip").write_bytes(b"PK no")
    with pytest.raises(InterchangeError, match="neither a world folder nor a zip"):
        open_world(tmp_path / "no.zip")
    with zipfile.ZipFile(tmp_path / "many.zip", "w") as archive:
        for number in range(65):
            archive.writestr(str(number), b"")
    with pytest.raises(InterchangeError, match="more than 64 files"):
        open_world(tmp_path / "many.zip")
