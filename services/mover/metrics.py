"""What Prometheus sees of moves and jobs: counted in the database when it asks, so that any process can tell."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from libs.store.database import Database
from libs.store.jobs import count_jobs
from libs.store.moves import count_moves


class MoveCollector(Collector):
    """Pass it to create_app as a collector."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def describe(self) -> Iterator[GaugeMetricFamily]:
        """What collect() gives, without asking the database: registering must not need it."""
        yield GaugeMetricFamily("plimsoll_moves", "Moves by region and status", labels=["region", "status"])
        yield GaugeMetricFamily("plimsoll_jobs", "Jobs that are kept, by kind and status", labels=["kind", "status"])

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Count now."""
        moves, jobs = self.describe()
        with self._database.snapshot() as tx:
            for (region, status), number in count_moves(tx).items():
                moves.add_metric([region, status.value], number)
            for count in count_jobs(tx):
                jobs.add_metric([count.kind, count.status.value], count.jobs)
        yield moves
        yield jobs
