"""The files of a region's hardware types and RRU classes are read, and refused by file, row and field."""

import pyarrow as pa
import pytest

from libs.interchange.files.errors import InterchangeError
from libs.interchange.region.read import load_region
from libs.interchange.region.write import dump_region
from tests.libs.interchange.region.test_read import catalogue_files, catalogue_tables, content, files

R = "reservations.parquet"


def test_a_region_without_a_catalogue_has_no_cost_units():
    region = load_region(files())
    assert region.catalogue is None
    assert region.snapshot.cost_units is None
    assert not {"hardware_types.parquet", "rru_classes.parquet"} & dump_region(region).keys()


def test_either_file_of_the_catalogue_will_do():
    made = catalogue_files()
    for file, units in (("hardware_types.parquet", [1.0, 1.25, 1.0]), ("rru_classes.parquet", [1.0, 1.0, 1.0])):
        assert load_region(files() | {file: made[file]}).snapshot.cost_units.tolist() == units


T, K = "hardware_types.parquet", "rru_classes.parquet"
BAD_CATALOGUE = {
    "type twice": (T, "hardware_type", ["hw-0", "hw-0"], 1, "twice"),
    "no cost": (T, "cost_units", [0.0, 1.0], 0, "not above 0"),
    "huge cost": (T, "cost_units", [1.0, 1e7], 1, "not above 0 and at most 1e+06"),
    "no RRU": (K, "rru", [1.0, None, 1.0, 1.0, None], 1, "not above 0"),
    "an RRU of no type": (K, "rru", [1.0, 1.5, 1.0, 1.0, 2.0], 4, "null, but the row has an RRU"),
    "half a version": (K, "version", [1.5, 1, 2, 1, 2], 0, "whole number"),
    "a huge version": (K, "version", [1e300, 1e300, 2.0, 1.0, 2.0], 0, "at most 1000000"),
    "version 0": (K, "version", [0, 0, 1, 1, 2], 0, "less than 1"),
    "a version is missing": (K, "version", [1, 1, 3, 1, 2], 2, "1, 2 and so on"),
    "versions in disorder": (K, "version", [2, 2, 1, 1, 2], 0, "1, 2 and so on"),
    "type twice in a version": (K, "version", [1, 1, 1, 1, 2], 0, "appears twice"),
    "a reference that it lacks": (K, "reference", ["hw-0", "hw-0", "hw-0", "hw-1", "hw-1"], 3, "of hw-1 is not 1"),
    "a reference that is not 1": (K, "rru", [2.0, 1.5, 1.0, 1.0, None], 0, "of hw-0 is not 1"),
    "nobody asked": (K, "asked_by", ["ann"] * 5, 0, "not a JSON array"),
    "asked by numbers": (K, "asked_by", ["[1]"] * 5, 0, "not a JSON array"),
    "no time": (K, "created_at", ["yesterday"] * 5, 0, "not a time"),
    "a time without an offset": (K, "created_at", ["2026-01-31T12:00:00"] * 5, 0, "not a time"),
}


@pytest.mark.parametrize("name", BAD_CATALOGUE)
def test_a_bad_catalogue_is_named_by_file_row_and_field(name):
    file, field, value, row, message = BAD_CATALOGUE[name]
    with pytest.raises(InterchangeError) as caught:
        load_region(files() | catalogue_files([(file, field, value)]))
    problem = next(p for p in caught.value.problems if message in p.message)
    assert (problem.file, problem.row) == (file, row)


def test_a_catalogue_has_a_bounded_number_of_types_and_classes():
    many = [f"t{k}" for k in range(1001)]
    units = content({"hardware_type": many, "cost_units": [1.0] * 1001})
    with pytest.raises(InterchangeError, match="1001 different names; at most 1000"):
        load_region(files() | {T: units})
    rows = {field: [value[0]] * 201 for field, value in catalogue_tables()[K].items() if field != "hardware_type"}
    rows |= {"workload_class": many[:201], "hardware_type": ["hw-0"] * 201, "rru": [1.0] * 201, "reason": ["x"] * 201}
    with pytest.raises(InterchangeError, match="201 different names; at most 200"):
        load_region(files() | {K: content(rows)})


def test_present_classes_have_one_reference_type_and_retired_ones_may_have_another():
    changes = [
        (K, "reference", ["hw-0", "hw-0", "hw-0", "hw-1", "hw-1"]),
        (K, "hardware_type", pa.array(["hw-0", "hw-1", "hw-0", "hw-1", None], pa.string())),
    ]
    assert set(load_region(files() | catalogue_files(changes)).catalogue.present().classes) == {"batch"}
    kept = [(K, "hardware_type", ["hw-0", "hw-1", "hw-0", "hw-1", "hw-1"]), (K, "rru", [1.0, 1.5, 1.0, 1.0, 1.0])]
    with pytest.raises(InterchangeError, match="row 4: is hw-1, and batch has hw-0: a region has one reference type"):
        load_region(files() | catalogue_files([changes[0], *kept]))


@pytest.mark.parametrize("name", ["old", "unheard"])
def test_a_reservation_follows_a_class_that_the_catalogue_has(name):
    with pytest.raises(InterchangeError, match=f"'{name}' is not a class of"):
        load_region(files([(R, "workload_class", [None, name])]) | catalogue_files())
    with pytest.raises(InterchangeError, match="is not a class of"):
        load_region(files([(R, "workload_class", [None, "batch"])]))
