"""Tables of usage and traffic: a repeated upload counts once, and errors name row and field."""

from datetime import UTC, datetime, timedelta

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from libs.domain.telemetry import Samples
from libs.store.platform.refusals import NotPossible
from libs.store.telemetry.measures import TRAFFIC, USAGE, count_measured, forget_samples, load_series, put_samples
from libs.store.telemetry.window import load_telemetry
from tests.services.planner.intake.conftest import WORDS

CSV = {"Content-Type": "text/csv"}
PARQUET = {"Content-Type": "application/vnd.apache.parquet"}
MIDNIGHT = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0) - timedelta(days=3)
FROM = {"minute_zero": MIDNIGHT.isoformat()}
HEAD = "minute,service,region,hardware_type,used\n"
STORE, FRONT = 0, 1
STORE_ON_FLASH = 4
EAST, WEST = 0, 1


def seen(database, *, days=2, start=MIDNIGHT):
    with database.snapshot() as tx:
        return load_telemetry(tx, WORDS, start=start, end=start + timedelta(days=days))


def test_tables_become_arrays_in_the_order_of_the_vocabulary(reporter, database):
    usage = HEAD + "0,store,east,hw,1.5\n0,store,west,flash,2\n61,front,west,hw,3\n1500,store,east,hw,4\n"
    answer = reporter.post("/v1/usage", params=FROM, content=usage, headers=CSV)
    assert answer.status_code == 200, answer.text
    assert answer.json()["samples"] == 4
    assert answer.json()["series"] == 3
    assert datetime.fromisoformat(answer.json()["first_minute_at"]) == MIDNIGHT
    assert datetime.fromisoformat(answer.json()["last_minute_at"]) == MIDNIGHT + timedelta(minutes=1500)
    traffic = "minute,product,region,requests_per_s\n61,search,east,70\n"
    assert reporter.post("/v1/traffic", params=FROM, content=traffic, headers=CSV).status_code == 200
    found = seen(database).observations
    assert found.minute.tolist() == [0, 61, 1500]
    assert found.usage.shape == (5, 2, 3)
    assert found.usage[STORE, EAST, [0, 2]].tolist() == [1.5, 4]
    assert found.usage[STORE_ON_FLASH, WEST, 0] == 2
    assert found.usage[FRONT, WEST, 1] == 3
    assert np.isnan(found.usage).sum() == 5 * 2 * 3 - 4
    assert found.traffic[1, EAST, 1] == 70
    assert np.isnan(found.traffic).sum() == 3 * 2 * 3 - 1


def test_what_is_sent_again_is_there_once_and_the_latest_counts(reporter, database):
    for table in (
        "0,store,east,hw,1\n1,store,east,hw,2\n",
        "1,store,east,hw,5\n1,store,east,hw,6\n2,store,east,hw,3\n",
    ):
        for _ in range(2):
            assert reporter.post("/v1/usage", params=FROM, content=HEAD + table, headers=CSV).status_code == 200
    found = seen(database).observations
    assert found.minute.tolist() == [0, 1, 2]
    assert found.usage[STORE, EAST].tolist() == [1, 6, 3]


def test_parquet_is_read_and_a_dry_run_keeps_nothing(reporter, database):
    columns = {"minute": [0], "service": ["store"], "region": ["east"], "hardware_type": ["hw"], "used": [9.5]}
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table(columns), sink)
    body = sink.getvalue().to_pybytes()
    trial = reporter.post("/v1/usage", params=FROM | {"dry_run": True}, content=body, headers=PARQUET)
    assert trial.json()["samples"] == 1
    with database.snapshot() as tx:
        assert count_measured(tx, USAGE).series == 0
    reporter.post("/v1/usage", params=FROM, content=body, headers=PARQUET)
    assert seen(database).observations.usage[STORE, EAST].tolist() == [9.5]


@pytest.mark.parametrize(
    ("rows", "field", "says"),
    [
        ("0,store,east,hw,-1\n", "usage.csv[0].used", "less than 0"),
        ("0,store,east,hw,1\n0,,east,hw,1\n", "usage.csv[1].service", "null"),
        ("0.5,store,east,hw,1\n", "usage.csv[0].minute", "whole"),
        ("9000,store,east,hw,1\n", "usage.csv[0].minute", "future"),
        ("-99999,store,east,hw,1\n", "usage.csv[0].minute", "older"),
        ("0,store,east,hw,1\n0,store,east,hw,many\n", "usage.csv[1].used", "'many' is not a number"),
        ("0,store,east,hw,1\n0,store,east\n", "usage.csv", "Row #3"),
        ("-99999,store,east,hw,1\n" * 9, "usage.csv[0].minute", "older"),
        ("0,store,east,hw,1e31\n", "usage.csv[0].used", "more than"),
    ],
)
def test_a_bad_row_is_named_and_nothing_is_taken(reporter, database, rows, field, says):
    response = reporter.post("/v1/usage", params=FROM, content=HEAD + rows, headers=CSV)
    assert response.status_code == 422
    error = response.json()["errors"][0]
    assert error["field"] == field
    assert says in error["message"]
    assert len(response.json()["errors"]) <= 3, "the same of many rows is said a few times, and of how many"
    with database.snapshot() as tx:
        assert count_measured(tx, USAGE).series == 0


def test_another_type_of_body_is_refused(reporter):
    response = reporter.post("/v1/traffic", content=b"[]", headers={"Content-Type": "application/json"})
    assert (response.status_code, response.json()["code"]) == (415, "unsupported_media_type")


def test_series_whose_names_the_vocabulary_lacks_are_left_out_and_counted(reporter, database):
    reporter.post("/v1/usage", params=FROM, content=HEAD + "0,ghost,east,hw,1\n0,store,east,hw,2\n", headers=CSV)
    found = seen(database)
    assert found.unknown == {"usage": 1, "traffic": 0, "demand": 0}
    assert np.nansum(found.observations.usage) == 2


def put(database, minutes, values, *, names=("store", "east", "hw"), series_max=10):
    samples = Samples(series=np.zeros(len(minutes), np.int64), minute=np.array(minutes), value=np.array(values, float))
    with database.write() as tx:
        put_samples(tx, USAGE, [names], samples, series_max=series_max)


def test_the_number_of_series_is_bounded(database):
    put(database, [0], [1], names=("a", "b", "c"), series_max=1)
    with pytest.raises(NotPossible, match="at most 1"):
        put(database, [0], [1], names=("a", "b", "d"), series_max=1)


def test_a_window_that_does_not_fit_comes_in_coarser_means(database, monkeypatch):
    zero = int(MIDNIGHT.timestamp()) // 60
    put(database, [zero, zero + 1, zero + 7, zero + 1440], [1, 3, 5, 100])
    fine = 5 * 2 * 24 * 60 * 8
    monkeypatch.setattr("libs.store.telemetry.window.BYTES_MAX", fine // 5)
    found = seen(database, days=1).observations
    assert found.minute.tolist() == [0, 5]
    assert found.usage[STORE, EAST].tolist() == [2, 5]


def test_the_window_ends_where_it_should(database):
    zero = int(MIDNIGHT.timestamp()) // 60
    put(database, [zero - 1, zero, zero + 30, zero + 31], [1, 2, 3, 4])
    with database.snapshot() as tx:
        found = load_telemetry(tx, WORDS, start=MIDNIGHT, end=MIDNIGHT + timedelta(minutes=31))
    assert found.observations.minute.tolist() == [0, 30]
    with database.snapshot() as tx, pytest.raises(ValueError, match="midnight"):
        load_telemetry(tx, WORDS, start=MIDNIGHT + timedelta(hours=1), end=MIDNIGHT + timedelta(days=1))


def test_old_samples_are_forgotten_with_series_that_have_no_others(database):
    put(database, [59, 60], [1, 2])
    put(database, [0], [3], names=("front", "east", "hw"))
    with database.write() as tx:
        assert forget_samples(tx, USAGE, 1) == 2
    with database.snapshot() as tx:
        assert load_series(tx, USAGE)[1] == [("store", "east", "hw")]
        assert count_measured(tx, USAGE).first_hour_at == datetime(1970, 1, 1, 1, tzinfo=UTC)
        assert count_measured(tx, TRAFFIC).first_hour_at is None
