"""Metrics of the whole platform: sums and figures that each API process reads from the database."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from libs.domain.approval_figures import Waiting
from libs.domain.region_condition import ConditionStatus, RegionConditionType
from libs.domain.region_summary import RegionChurn
from libs.observability.tallies import TALLIES, Key, Tally
from libs.store.capacity.readiness import load_region_readiness
from libs.store.executions.approval_figures import load_decided, load_waiting
from libs.store.fleet.departure_waits import load_oldest_waits
from libs.store.fleet.loans import count_loans
from libs.store.moves.moves import count_dead_letters
from libs.store.platform.database import Database
from libs.store.platform.load_figures import (
    count_bookings,
    count_running_moves,
    load_last_plan_s,
    load_last_solves,
    load_maintenance_queues,
    load_open_jobs,
)
from libs.store.platform.tallies import load_tallies
from libs.store.regions.region_conditions import load_all_conditions
from libs.store.telemetry.metric_sources import list_sources
from libs.store.telemetry.span_batches import count_waiting

_RRU = {
    "plimsoll_capacity_rru": "Capacity that guaranteed reservations ask for, granted or not",
    "plimsoll_held_rru": "Capacity that their servers give which have joined and are up",
    "plimsoll_held_after_msb_loss_rru": "Likewise, each without the MSB that gives it most",
    "plimsoll_missing_rru": "Capacity that reservations which are not ready lack of what they ask for",
}
"""Sums of a region, for no reservation alone: owners create reservations, so their series would have no bound."""


class DatabaseCollector(Collector):
    """A collector for create_app. All processes report the same values, so take the maximum over instances."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def describe(self) -> Iterator[Metric]:
        """Yield the metrics of collect() without values, because registering must not need the database."""
        yield from _gauges().values()
        for tally in TALLIES:
            yield _family(tally, {})

    def collect(self) -> Iterator[Metric]:
        """Yield the present metrics."""
        gauges = _gauges()
        with self._database.snapshot() as tx:
            sums = load_tallies(tx)
            for job in load_open_jobs(tx):
                gauges["plimsoll_jobs"].add_metric([job.kind, job.status], job.jobs)
                gauges["plimsoll_job_oldest_seconds"].add_metric([job.kind, job.status], job.oldest_s)
            for region, number in count_dead_letters(tx).items():
                gauges["plimsoll_dead_letters"].add_metric([region], number)
            for region, condition in load_all_conditions(tx):
                is_true = float(condition.status is ConditionStatus.TRUE)
                gauges["plimsoll_region_condition"].add_metric([region, condition.type, condition.reason], is_true)
                if condition.type is RegionConditionType.LOST_SERVERS_REPLACED:
                    for reason, servers in condition.numbers.items():
                        if isinstance(servers, int):
                            gauges["plimsoll_lost_servers"].add_metric([region, reason], servers)
            for region, found in load_region_readiness(tx).items():
                for state in ("ready", "not_there_yet", "capacity_lost"):
                    gauges["plimsoll_reservations"].add_metric([region, state], getattr(found, state))
                for name in _RRU:
                    gauges[name].add_metric([region], getattr(found, name.removeprefix("plimsoll_")))
                watched_s = found.watched_until.timestamp()
                gauges["plimsoll_reservations_watched_timestamp_seconds"].add_metric([region], watched_s)
            for region, since_s in load_maintenance_queues(tx).items():
                gauges["plimsoll_maintenance_queued_timestamp_seconds"].add_metric([region], since_s)
            for region, since_s in load_oldest_waits(tx).items():
                gauges["plimsoll_departure_waiting_timestamp_seconds"].add_metric([region], since_s)
            for (kind, decider), since_s in _oldest_s(load_waiting(tx)).items():
                gauges["plimsoll_approval_waiting_timestamp_seconds"].add_metric([kind, decider], since_s)
            for decided in load_decided(tx):
                labels = [decided.kind.value, decided.status.value]
                gauges["plimsoll_approval_wait_seconds"].add_metric([*labels, "0.5"], decided.median_s)
                gauges["plimsoll_approval_wait_seconds"].add_metric([*labels, "0.9"], decided.p90_s)
            for region, numbers in count_loans(tx).items():
                for state, servers in numbers.items():
                    gauges["plimsoll_lent_servers"].add_metric([region, state], servers)
            for of, number in count_bookings(tx).items():
                gauges["plimsoll_bookings"].add_metric(of, number)
            for region, running in count_running_moves(tx).items():
                gauges["plimsoll_moves_running"].add_metric([region], running)
            for solve in load_last_solves(tx):
                gauges["plimsoll_last_solve_timestamp_seconds"].add_metric([solve.region], solve.finished_s)
                gauges["plimsoll_last_solve_shortfall_rru"].add_metric([solve.region], solve.shortfall_rru)
                for one in () if solve.churn is None else fields(RegionChurn):
                    number = getattr(solve.churn, one.name)
                    gauges["plimsoll_last_solve_churn_servers"].add_metric([solve.region, one.name], number)
                if solve.over_power is not None:
                    gauges["plimsoll_last_solve_over_power_domains"].add_metric([solve.region], solve.over_power)
                if solve.gap is not None:
                    gauges["plimsoll_last_solve_gap_ratio"].add_metric([solve.region], solve.gap)
            waiting = count_waiting(tx)
            gauges["plimsoll_spans_waiting"].add_metric([], waiting.spans)
            gauges["plimsoll_spans_waiting_oldest_seconds"].add_metric([], waiting.oldest_s)
            for source in list_sources(tx).items:
                until_s = 0.0 if source.pull is None else source.pull.pulled_until.timestamp()
                gauges["plimsoll_metrics_pulled_until_timestamp_seconds"].add_metric([source.name], until_s)
            planned_s = load_last_plan_s(tx)
            if planned_s is not None:
                gauges["plimsoll_last_plan_timestamp_seconds"].add_metric([], planned_s)
        used, size = self._database.pool_use()
        gauges["plimsoll_database_connections"].add_metric(["used"], used)
        gauges["plimsoll_database_connections"].add_metric(["at_most"], size)
        yield from gauges.values()
        for tally in TALLIES:
            yield _family(tally, sums)


def _oldest_s(waiting: Iterable[Waiting]) -> dict[tuple[str, str], float]:
    """Return (kind, owner or operator) -> time since which the first approval waits. Owners have no series each."""
    found: dict[tuple[str, str], float] = {}
    for one in waiting:
        key = one.kind.value, "operator" if one.owner is None else "owner"
        found[key] = min(found.get(key, float("inf")), one.oldest_at.timestamp())
    return found


def _gauges() -> dict[str, GaugeMetricFamily]:
    known = {
        "plimsoll_jobs": ("Queued and running jobs", ["kind", "status"]),
        "plimsoll_job_oldest_seconds": ("Age of the oldest queued or running job", ["kind", "status"]),
        "plimsoll_moves_running": ("Running moves", ["region"]),
        "plimsoll_dead_letters": ("Moves that wait for an operator", ["region"]),
        "plimsoll_region_condition": (
            "1 if a condition is True, the healthy status, else 0",
            ["region", "type", "reason"],
        ),
        "plimsoll_lost_servers": (
            "Servers that reservations have lost and that were not replaced, by reason: buffer_empty, no_buffer, "
            "with_place (MSB or datacenter), held (waits for a while), covered, useless",
            ["region", "reason"],
        ),
        "plimsoll_reservations": (
            "Guaranteed reservations: ready (hold what they ask for), not_there_yet, capacity_lost (below their grant)",
            ["region", "state"],
        ),
        **{name: (text, ["region"]) for name, text in _RRU.items()},
        "plimsoll_reservations_watched_timestamp_seconds": (
            "Time of the last look at what the reservations hold, on the Clock",
            ["region"],
        ),
        "plimsoll_maintenance_queued_timestamp_seconds": (
            "Time since which the first maintenance in the queue waits, on the Clock; absent if none waits",
            ["region"],
        ),
        "plimsoll_departure_waiting_timestamp_seconds": (
            "Time since which the first server waits to leave a reservation that cannot spare it, on the Clock; absent "
            "if none waits",
            ["region"],
        ),
        "plimsoll_approval_waiting_timestamp_seconds": (
            "Time since which the first approval of a kind waits, on the Clock, by who decides: owner or operator",
            ["kind", "decider"],
        ),
        "plimsoll_approval_wait_seconds": (
            "Time that approvals decided in the last 7 days waited, on the Clock: median and 90 %",
            ["kind", "status", "quantile"],
        ),
        "plimsoll_lent_servers": (
            "Servers on loan for exchanges: lent, or returning because the loan is over; absent if there are none",
            ["region", "state"],
        ),
        "plimsoll_bookings": (
            "Reservations that begin later, by whether servers are booked for them: promise, no_promise, "
            "beyond_horizon (too far ahead); absent if there are none",
            ["region", "state"],
        ),
        "plimsoll_last_solve_timestamp_seconds": ("Time of the last successful solve, on the Clock", ["region"]),
        "plimsoll_last_solve_shortfall_rru": ("Capacity without servers after the last successful solve", ["region"]),
        "plimsoll_last_solve_churn_servers": (
            "Preemptions of servers in use beside the churn budget, as the last successful solve reported: used, most, "
            "planned, over (to repair a promise), held_back",
            ["region", "state"],
        ),
        "plimsoll_last_solve_over_power_domains": (
            "Domains in which the targets of the last successful solve draw more than plans may use; absent without "
            "watts",
            ["region"],
        ),
        "plimsoll_last_solve_gap_ratio": (
            "Bound on the gap between the last successful solve and the optimum",
            ["region"],
        ),
        "plimsoll_spans_waiting": ("Stored spans that are not summed yet", []),
        "plimsoll_spans_waiting_oldest_seconds": ("Age of the oldest stored span that is not summed yet", []),
        "plimsoll_metrics_pulled_until_timestamp_seconds": (
            "Time up to which a metric source is pulled; 0: never",
            ["source"],
        ),
        "plimsoll_last_plan_timestamp_seconds": ("Time of the last placement plan, on the Clock", []),
        "plimsoll_database_connections": ("Connections of this process's pool", ["state"]),
    }
    return {name: GaugeMetricFamily(name, text, labels=labels) for name, (text, labels) in known.items()}


def _family(tally: Tally, sums: Mapping[Key, float]) -> Metric:
    if not tally.buckets:
        counter = CounterMetricFamily(tally.name, tally.help, labels=tally.labels)
        for (name, labels), value in sorted(sums.items()):
            if name == tally.name:
                counter.add_metric(labels, value)
        return counter
    histogram = HistogramMetricFamily(tally.name, tally.help, labels=tally.labels)
    for (name, labels), total in sorted(sums.items()):
        if name == f"{tally.name}_count":
            within = {le: sums.get((f"{tally.name}_bucket", (*labels, f"{le:g}")), 0.0) for le in tally.buckets}
            buckets = [(str(float(le)), number) for le, number in within.items()]
            histogram.add_metric(labels, [*buckets, ("+Inf", total)], sums[f"{tally.name}_sum", labels])
    return histogram
