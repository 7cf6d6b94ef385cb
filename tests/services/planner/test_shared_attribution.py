"""Shards of spans are summed here or on workers, and their sums are those of one process, bit by bit."""

import json
from collections.abc import Callable, Iterator
from dataclasses import fields

import numpy as np
import pytest

from libs.domain.demand import METRICS, Demand
from libs.domain.job import JobStatus
from libs.domain.span_shard import SpanShard, shards_of
from libs.domain.spans import CLIENT, SERVER, Spans
from libs.flux.attribution.demand import demand_of
from libs.interchange.job_parts.framing import NotReadable
from libs.interchange.job_parts.span_shard import is_sendable, read_demand, read_shard, write_demand, write_shard
from libs.jobs.settings import JobSettings
from libs.reconcile.jobs import SUM_SPANS_PART
from libs.store.platform.database import Database
from libs.store.platform.jobs import list_jobs
from services.planner import shared_attribution
from services.planner.shared_attribution import SharedAttribution, answer_shard, attribution
from tests.crash.harness import JobProcesses, wait_until

pytestmark = pytest.mark.xdist_group("processes")
SERVICES, PRODUCTS = 7, 3


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    database = Database(database_url)
    yield database
    database.close()


def random_spans(seed: int, traces: int = 60, size: int = 9) -> Spans:
    """Traces whose spans call each other at random; some spans came twice, and some callers are missing."""
    rng, n = np.random.default_rng(seed), traces * size
    trace = np.repeat(rng.integers(0, 1 << 63, traces, np.uint64), size)
    at = np.tile(np.arange(1, size + 1), traces)
    rows = np.sort(np.append(rng.choice(n, int(0.95 * n), replace=False), rng.choice(n, 5)))
    spans = Spans(
        trace=trace,
        span=at.astype(np.uint64),
        parent=rng.integers(0, at).astype(np.uint64),
        service=rng.integers(0, SERVICES, n).astype(np.int32),
        gateway=np.where(at == 1, rng.integers(0, PRODUCTS, n), -1).astype(np.int32),
        kind=rng.choice(np.array([SERVER, CLIENT], np.int8), n),
        shared=np.zeros(n, bool),
        took_ns=rng.integers(0, 10**9, n),
        cpu=np.where(rng.random(n) < 0.9, rng.uniform(0, 1e6, n), np.nan),
        probability=np.repeat(rng.choice([1.0, 0.3, np.nan], traces), size),
    )
    return spans.take(rows)


def assert_same(found: Demand, expected: Demand) -> None:
    assert all(np.array_equal(found.cost[metric], expected.cost[metric]) for metric in METRICS)
    for name in ("gateway", "spans", "attributed", "orphaned", "cpu_stated"):
        assert np.array_equal(getattr(found, name), getattr(expected, name)), name
    assert found.duplicates == expected.duplicates
    for edge in fields(expected.edges):
        assert np.array_equal(getattr(found.edges, edge.name), getattr(expected.edges, edge.name))


def shard(seed: int = 1) -> SpanShard:
    return next(iter(shards_of(random_spans(seed), SERVICES, PRODUCTS, 4)))


@pytest.mark.parametrize("shards", [1, 2, 4, 8, 16])
@pytest.mark.parametrize("seed", range(3))
def test_the_sums_of_shards_that_travelled_add_up_exactly(seed: int, shards: int) -> None:
    spans, total = random_spans(seed), Demand.none(SERVICES, PRODUCTS)
    cut = list(shards_of(spans, SERVICES, PRODUCTS, shards))
    assert sum(len(one.spans) for one in cut) == len(spans)
    for one in cut:
        total = total.plus(read_demand(answer_shard(write_shard(one), lambda: False), one))
    expected = demand_of(spans, SERVICES, PRODUCTS)
    assert expected.cost["cpu"].any()
    assert expected.orphaned.any()
    assert expected.duplicates
    assert_same(total, expected)


def test_few_spans_and_large_sums_are_not_shared(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    spans, shared = random_spans(2), SharedAttribution(database, 30.0)
    monkeypatch.setattr(shared_attribution, "SharedParts", None)  # using it would raise
    assert_same(shared(spans, SERVICES, PRODUCTS), demand_of(spans, SERVICES, PRODUCTS))
    monkeypatch.setattr(shared_attribution, "SHARD_SPANS", 10)
    assert not is_sendable(100_000, 50, 16)
    shared(spans.take(slice(0, 40)), 40_000, 100)


def test_the_switch_is_the_setting(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    assert attribution(database, JobSettings.from_environment()) is demand_of
    monkeypatch.setenv("PLIMSOLL_JOB_PARTS_SHARED", "true")
    assert isinstance(attribution(database, JobSettings.from_environment()), SharedAttribution)


def test_a_killed_worker_changes_no_sum(
    database: Database, database_url: str, tmp_path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spans = random_spans(4)
    monkeypatch.setattr(shared_attribution, "SHARD_SPANS", 10)
    victim = JobProcesses(tmp_path, database_url, "services.standalone.worker parts")

    def running() -> list[int]:
        with database.snapshot() as tx:
            found = list_jobs(tx, limit=100).items
        return [one.attempts for one in found if one.kind == SUM_SPANS_PART and one.status is JobStatus.RUNNING]

    def slow(one: SpanShard) -> Demand:
        """Hold the sweep until a worker has died with a shard in its hands."""
        wait_until(lambda: victim.exit_status("worker") is not None and bool(running()), "a worker dies")
        return demand_of(one.spans, one.services, one.products)

    monkeypatch.setattr(shared_attribution, "_demand", slow)
    with victim:
        victim.start(PLIMSOLL_CRASH_AT="jobs.claim.after", PLIMSOLL_JOB_LEASE_S="300", PLIMSOLL_JOB_SLOTS="1")
        found = SharedAttribution(database, 300.0)(spans, SERVICES, PRODUCTS)
    assert running() == [1]
    assert_same(found, demand_of(spans, SERVICES, PRODUCTS))


def header_changed(content: bytes, change: Callable[[dict], object]) -> bytes:
    line, _, rest = content.partition(b"\n")
    header = json.loads(line)
    change(header["numbers"])
    return json.dumps(header).encode() + b"\n" + rest


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"services": 2}, "service or product"),
        ({"products": 1}, "service or product"),
        ({"services": 10**9}, "services"),
        ({"services": -1}, "services"),
        ({"shards": 3}, "its shard"),
        ({"shard": 4}, "its shard"),
        ({"shard": None}, "no shard"),
    ],
)
def test_a_damaged_shard_is_refused(change: dict, why: str) -> None:
    with pytest.raises(NotReadable, match=why):
        read_shard(header_changed(write_shard(shard()), lambda numbers: numbers.update(change)))


def test_sums_of_another_shard_are_refused() -> None:
    one, demand = shard(), demand_of(shard().spans, SERVICES, PRODUCTS)
    other = SpanShard(spans=one.spans, services=SERVICES + 1, products=PRODUCTS, shard=0, shards=4)
    with pytest.raises(NotReadable, match="does not fit"):
        read_demand(write_demand(demand, one), other)
    demand.gateway[0, 0] = np.nan
    with pytest.raises(NotReadable, match="damaged"):
        read_demand(write_demand(demand, one), one)
    with pytest.raises(NotReadable, match="twice"):
        read_demand(header_changed(write_demand(demand_of(one.spans, SERVICES, PRODUCTS), one), dict.clear), one)
