"""What Prometheus sees of moves and jobs: counted in the database when it asks, so that any process can tell."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from libs.domain.plan import PlanKind
from libs.domain.region_condition import ConditionStatus, RegionConditionType
from libs.store.database import Database, Transaction
from libs.store.jobs import count_jobs
from libs.store.movers import load_calls
from libs.store.moves import count_dead_letters, count_moves
from libs.store.plans import count_changes
from libs.store.region_conditions import load_conditions_of_type


class MoveCollector(Collector):
    """Pass it to create_app as a collector."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def describe(self) -> Iterator[Metric]:
        """What collect() gives, without asking the database: registering must not need it."""
        yield from _families().values()

    def collect(self) -> Iterator[Metric]:
        """Count now."""
        families = _families()
        with self._database.snapshot() as tx:
            for name, labels, value in _samples(tx):
                families[name].add_metric(labels, value)
        yield from families.values()


def _families() -> dict[str, GaugeMetricFamily | CounterMetricFamily]:
    gauge, counter, region = GaugeMetricFamily, CounterMetricFamily, "region"
    return {
        "moves": gauge("plimsoll_moves", "Moves by region and status", labels=[region, "status"]),
        "jobs": gauge("plimsoll_jobs", "Jobs that are kept, by kind and status", labels=["kind", "status"]),
        "dead_letters": gauge("plimsoll_dead_letters", "Moves that wait for an operator", labels=[region]),
        "paused": gauge("plimsoll_mover_paused", "1 while a region's mover is paused", labels=[region]),
        "reachable": gauge("plimsoll_actuator_reachable", "0 while the actuator answers nothing", labels=[region]),
        "calls": counter("plimsoll_actuator_calls", "Calls by how they ended", labels=[region, "outcome"]),
        "drawn": counter("plimsoll_replacements", "Lost servers that were replaced", labels=[region]),
        "lost": gauge(
            "plimsoll_lost_servers",
            "Servers that reservations have lost and that were not replaced, by why: buffer_empty, no_buffer, "
            "with_place (MSB or datacenter), covered, useless",
            labels=[region, "reason"],
        ),
    }


def _samples(tx: Transaction) -> Iterator[tuple[str, list[str], float]]:
    """(family, labels, value)."""
    for (region, status), number in count_moves(tx).items():
        yield "moves", [region, status.value], number
    for count in count_jobs(tx):
        yield "jobs", [count.kind, count.status.value], count.jobs
    for region, number in count_dead_letters(tx).items():
        yield "dead_letters", [region], number
    for (region, outcome), calls in load_calls(tx).items():
        yield "calls", [region, outcome], calls
    for region, changes in count_changes(tx, PlanKind.REPLACEMENT).items():
        yield "drawn", [region], changes // 2
    for name, kind, so in (
        ("paused", RegionConditionType.MOVING, ConditionStatus.FALSE),
        ("reachable", RegionConditionType.ACTUATOR_REACHABLE, ConditionStatus.TRUE),
    ):
        for region, condition in load_conditions_of_type(tx, kind).items():
            yield name, [region], float(condition.status is so)
    for region, condition in load_conditions_of_type(tx, RegionConditionType.LOST_SERVERS_REPLACED).items():
        for reason, servers in condition.numbers.items():
            if isinstance(servers, int):
                yield "lost", [region, reason], servers
