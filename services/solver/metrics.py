"""What Prometheus sees of solves: read from the database when it asks, so that any process can tell."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from libs.domain.region_condition import ConditionStatus, RegionConditionType
from libs.store.database import Database
from libs.store.region_conditions import load_conditions_of_type


class SolveCollector(Collector):
    """Pass it to create_app as a collector."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def describe(self) -> Iterator[GaugeMetricFamily]:
        """What collect() gives, without asking the database: registering must not need it."""
        yield GaugeMetricFamily(
            "plimsoll_region_solved",
            "1 where the region's latest solve ended as it should, else 0, with the reason of its condition Solved",
            labels=["region", "reason"],
        )

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Read now."""
        (solved,) = self.describe()
        with self._database.snapshot() as tx:
            for region, condition in load_conditions_of_type(tx, RegionConditionType.SOLVED).items():
                solved.add_metric([region, condition.reason], float(condition.status is ConditionStatus.TRUE))
        yield solved
