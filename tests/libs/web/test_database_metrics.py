"""Check the tallies in /metrics of processes that Prometheus does not scrape."""

import threading
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from libs.domain.metric_source import Fills, MetricQuery
from libs.domain.plan import SolveStatus
from libs.domain.policy import RegionPolicy
from libs.domain.reservation import ReservationSpec
from libs.observability.tallies import JOBS, SOLVE_S, take
from libs.store.fleet.regions import create_region
from libs.store.plans.solve_runs import finish_solve_run, start_solve_run
from libs.store.platform.database import Database
from libs.store.platform.jobs import enqueue
from libs.store.platform.tallies import add_tallies, load_tallies
from libs.store.regions.region_import import import_region
from libs.store.telemetry.metric_sources import set_source
from libs.web.database_metrics import DatabaseCollector
from services.mover.reconcilers.watch_reservations import WatchReservations
from tests.builders.clock import ManualClock
from tests.builders.region import region_image

NOW = datetime(2026, 11, 1, tzinfo=UTC)


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    database = Database(database_url, pool_size=3)
    take()  # drop the counts of earlier tests of this process
    yield database
    database.close()


def scrape(database: Database) -> dict[tuple[str, tuple[str, ...]], float]:
    registry = CollectorRegistry()
    registry.register(DatabaseCollector(database))
    families = text_string_to_metric_families(generate_latest(registry).decode())
    return {
        (s.name, tuple(s.labels[name] for name in sorted(s.labels))): s.value
        for family in families
        for s in family.samples
    }


def test_counts_of_other_processes_add_up(database: Database) -> None:
    for _ in range(2):
        JOBS.count("solve", "done")
        SOLVE_S.observe(0.3, "west")
        SOLVE_S.observe(7.0, "west")
        with database.write() as tx:
            add_tallies(tx, take())
    told = scrape(database)
    assert told["plimsoll_jobs_ended_total", ("solve", "done")] == 2
    assert told["plimsoll_solve_seconds_count", ("west",)] == 4
    assert told["plimsoll_solve_seconds_sum", ("west",)] == pytest.approx(14.6)
    buckets = {labels[0]: value for (name, labels), value in told.items() if name == "plimsoll_solve_seconds_bucket"}
    assert (buckets["0.25"], buckets["0.5"], buckets["5.0"], buckets["10.0"], buckets["+Inf"]) == (0, 2, 2, 4, 4)


def test_counts_of_a_transaction_that_is_rolled_back_are_not_told(database: Database) -> None:
    JOBS.count("solve", "done")
    with database.write() as tx:
        add_tallies(tx, take())
        tx.rollback()
    assert ("plimsoll_jobs_ended_total", ("solve", "done")) not in scrape(database)


def test_two_processes_that_count_the_same_at_once_lose_nothing(database: Database) -> None:
    counts = {("a", ("x",)): 1.0, ("b", ()): 2.0}

    def add() -> None:
        for _ in range(20):
            with database.write() as tx:
                add_tallies(tx, counts)

    threads = [threading.Thread(target=add) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with database.snapshot() as tx:
        assert load_tallies(tx) == {("a", ("x",)): 60.0, ("b", ()): 120.0}


def test_what_waits_and_the_last_good_solve_are_told(database: Database) -> None:
    with database.write() as tx:
        region_id = create_region(tx, "west", RegionPolicy(), now=NOW)
        enqueue(tx, "solve", "west")
        limits = {"limit_w": 1000.0, "headroom": 0.1, "current_w": 0.0, "full_w": 2000.0, "kind": "MSB"}
        drawn_w = {"m1": 901.0, "m2": 900.0, "m3": 1200.0}
        domains = [{**limits, "domain": name, "target_w": drawn} for name, drawn in drawn_w.items()]
        domains.append({**domains[0], "domain": "m4", "limit_w": None, "headroom": None})
        report = {"gap": 0.02, "shortfall_rru": {"web": 1.5, "db": 2.0}, "power": {"domains": domains}}
        for status, its_report in ((SolveStatus.UNCHANGED, report), (SolveStatus.FAILED, None)):
            run = start_solve_run(tx, region_id, trigger="test", seed=0, parent_plan_id=None, now=NOW)
            finish_solve_run(tx, run, status, now=NOW, report=its_report)
    told = scrape(database)
    assert told["plimsoll_jobs", ("solve", "queued")] == 1
    assert told["plimsoll_job_oldest_seconds", ("solve", "queued")] >= 0
    assert told["plimsoll_moves_running", ("west",)] == 0
    assert told["plimsoll_last_solve_gap_ratio", ("west",)] == 0.02
    assert told["plimsoll_last_solve_shortfall_rru", ("west",)] == 3.5
    assert told["plimsoll_last_solve_over_power_domains", ("west",)] == 2
    assert told["plimsoll_last_solve_timestamp_seconds", ("west",)] == NOW.timestamp()
    assert told["plimsoll_database_connections", ("at_most",)] == 3


def test_a_region_that_was_never_solved_is_told_by_its_condition_alone(database: Database) -> None:
    """PlimsollNeverSolved relies on this: a counter of solves has no series before the first solve."""
    with database.write() as tx:
        create_region(tx, "west", RegionPolicy(), now=NOW)
    told = scrape(database)
    assert told["plimsoll_region_condition", ("AwaitingSolve", "west", "Solved")] == 0
    assert ("plimsoll_last_solve_timestamp_seconds", ("west",)) not in told


def test_a_request_that_waits_is_in_no_figure_called_a_promise(database: Database) -> None:
    registry = CollectorRegistry()
    registry.register(DatabaseCollector(database))
    lines = generate_latest(registry).decode().splitlines()
    told = {line.split()[2]: line for line in lines if line.startswith("# HELP ")}
    of_all = ("capacity_rru", "missing_rru", "reservations", "reservation_seconds_total")
    for line in (told[f"plimsoll_{name}"] for name in of_all):
        assert "promise" not in line, line
    assert told["plimsoll_capacity_rru"].endswith("ask for, granted or not")


def test_asked_for_and_held_are_told_by_region_and_never_by_reservation(database: Database) -> None:
    whole = ReservationSpec(capacity_rru=2, rru={"hw-a": 1.0}, survives_msb_loss=False)
    current = {"server-00": "web", "server-04": "web", "server-01": "db"}
    image = region_image(reservations={"web": whole, "db": whole}, current=current)
    with database.write() as tx:
        import_region(tx, image, actor="test", now=NOW)
    assert ("plimsoll_reservations", ("west", "ready")) not in scrape(database)
    clock = ManualClock()
    for _ in range(2):
        WatchReservations(database, clock, "west").reconcile()
        clock.sleep(5)
    with database.write() as tx:
        add_tallies(tx, take())
    told = scrape(database)
    assert told["plimsoll_reservations", ("west", "ready")] == 1
    assert told["plimsoll_reservations", ("west", "not_there_yet")] == 1
    assert told["plimsoll_reservations", ("west", "capacity_lost")] == 0
    names = ("capacity_rru", "held_rru", "held_after_msb_loss_rru", "missing_rru")
    assert [told[f"plimsoll_{name}", ("west",)] for name in names] == [4, 3, 1, 1]
    assert told["plimsoll_reservation_seconds_total", ("west", "ready")] == 5
    assert told["plimsoll_reservations_watched_timestamp_seconds", ("west",)] == clock.now().timestamp() - 5
    assert not [labels for _, labels in told if "web" in labels]


def test_a_source_that_was_never_pulled_is_told_to_be_behind(database: Database) -> None:
    with database.write() as tx:
        query = MetricQuery(fills=Fills.USAGE, query="up", labels={}, constants={}, step_minutes=1, scale=1.0)
        set_source(tx, "cpu", query, generation=0)
    assert scrape(database)["plimsoll_metrics_pulled_until_timestamp_seconds", ("cpu",)] == 0
