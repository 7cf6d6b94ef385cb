"""Tell what a run has seen so far: its figures, one row for each simulated day, and a line of progress."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import sqlalchemy as sa

from libs.domain.job import JobStatus
from libs.reconcile.jobs import SOLVE
from libs.store.platform.database import Transaction
from libs.store.tables import jobs, moves, solve_runs
from services.cli.client import Client
from services.cli.demo.people import HealthSystem, Owners
from soak.promise.bound import fewest_servers
from soak.promise.people import Maintainer, Operators, promises_now
from soak.promise.platform import Platform
from soak.promise.servers import RealServers
from soak.promise.watch import Dip, Least, Watcher

_DAY_S = 86_400.0
_DIPS_SHOWN_MAX = 100


@dataclass(slots=True, kw_only=True)
class Report:
    """The report of a run.

    plan      the parameters of the run
    file      where `save` writes the figures; None: nowhere
    by_day    one row for each simulated day that is over. A churn budget is a share of the servers in use at the moment
              of a solve, so a row has the most that were in use at any hour of the day beside those at its end
    """

    plan: Mapping[str, object]
    file: Path | None
    types: list[str]
    msbs: int
    servers: RealServers
    watcher: Watcher
    platform: Platform
    admin: Client
    owners: Owners
    health: HealthSystem
    operators: Operators
    maintainer: Maintainer
    by_day: list[dict[str, object]] = field(default_factory=list)
    _in_use_most: int = 0
    _began_s: float = field(default_factory=time.monotonic)

    def line(self) -> str:
        """Return the progress in one line."""
        least = self.watcher.least
        return (
            f"day {self._day():5.2f}  {time.monotonic() - self._began_s:6.0f} s  "
            f"{len(self.watcher.promises.name)} reservations, {sum(self.owners.said.values())} requests, "
            f"{sum(self.health.reported.values())} failures, {self.platform.ran[SOLVE]} solves, "
            f"{self.servers.counts.joined} joins; least "
            + ", ".join(f"{name} {one.ratio:.4g}" for name, one in least.items())
            + "\n"
        )

    def end_hour(self) -> None:
        """Note the servers that are in use."""
        self._in_use_most = max(self._in_use_most, int(self.servers.in_use.sum()))

    def end_day(self) -> None:
        """Add the row of the day that is over."""
        day = round(self._day()) - 1
        if day < 0:
            return
        counts, most = self.servers.counts, self._in_use_most
        self._in_use_most = 0
        row: dict[str, object] = {"day": day + 1, "in_use": int(self.servers.in_use.sum()), "in_use_most": most}
        row |= {"preempted_in_use": counts.preempted_by_day[day], "of_the_churn_budget": self._churned().get(day, 0)}
        self.by_day.append(row | self._held() | {n: round(one.ratio, 6) for n, one in self.watcher.least.items()})

    def save(self) -> None:
        """Write the figures so far, so that a run that is killed still tells them."""
        if self.file is not None:
            beside = self.file.with_suffix(".part")
            beside.write_text(json.dumps(self.figures(), indent=1) + "\n")
            beside.replace(self.file)

    def figures(self) -> dict[str, object]:
        """Return the figures so far."""
        counts, platform = self.servers.counts, self.platform
        with platform.database.snapshot() as tx:
            ended = tx.execute(sa.select(moves.c.status, sa.func.count()).group_by(moves.c.status)).all()
            solved = tx.execute(sa.select(solve_runs.c.status, sa.func.count()).group_by(solve_runs.c.status)).all()
            failed = failed_for_good(tx)
        return {
            "plan": dict(self.plan),
            "days": round(self._day(), 2),
            "real_s": round(time.monotonic() - self._began_s),
            "requests": dict(self.owners.said),
            "refused": dict(self.owners.refused + self.operators.refused),
            "failures": dict(self.health.reported),
            "maintenance": dict(self.maintainer.answers),
            "ran": dict(platform.ran),
            "solves": platform.ran[SOLVE],
            "workers_killed": dict(platform.killed),
            "solve_runs": {str(status): number for status, number in solved},
            "jobs_raised": dict(platform.raised),
            "jobs_stale": dict(platform.stale),
            "jobs_failed": failed,
            "answers_lost": counts.lost_answers,
            "steps_failed": counts.failed_steps,
            "moves": {str(status): number for status, number in ended},
            "preempted_in_use": counts.preempted_in_use,
            "preempted_idle": counts.preempted_idle,
            "preempted_in_use_most_a_day": max(counts.preempted_by_day.values(), default=0),
            "joined": counts.joined,
            "wrong_steps": counts.wrong[:20],
            "never_kept": int(np.isnan(self.watcher.kept_after_s).sum()),
            "longest_wait_s": round(self.watcher.longest_wait_s),
            **self._held(),
            "least": {name: _told(one) for name, one in self.watcher.least.items()},
            "by_day": self.by_day,
        }

    def _day(self) -> float:
        return self.platform.clock.now_s / _DAY_S

    def _held(self) -> dict[str, object]:
        """Compare the servers that reservations hold with the fewest that could keep all promises."""
        s, promises = self.servers, promises_now(self.admin, self.platform.region, self.types)
        up = s.down == 0
        supply = np.zeros((self.msbs, len(self.types)), np.int64)
        np.add.at(supply, (s.msb[up], s.hardware_type[up]), 1)
        numbers = [s.number[str(name)] for name in promises.name if str(name) in s.number]
        held = int((np.isin(s.reservation, numbers) & up).sum())
        bound = fewest_servers(promises, supply)
        known = bool(np.isfinite(bound)) and bound > 0
        return {
            "reservations": len(promises.name),
            "servers_held": held,
            "servers_bound": round(bound, 1) if known else None,
            "held_to_bound": round(held / bound, 3) if known else None,
        }

    def _churned(self) -> Mapping[int, int]:
        """Return, for each day, how many preemptions the platform counted against the churn budget."""
        with self.platform.database.snapshot() as tx:
            times = tx.execute(sa.select(moves.c.churned_at).where(moves.c.churned_at.is_not(None))).scalars().all()
        begins = self.platform.clock.begins
        return Counter(int((at - begins).total_seconds() // _DAY_S) for at in times)


def failed_for_good(tx: Transaction) -> dict[str, int]:
    """Return kind -> number of jobs that spent all of their attempts."""
    over = jobs.c.status == JobStatus.FAILED
    found = tx.execute(sa.select(jobs.c.kind, sa.func.count()).where(over).group_by(jobs.c.kind)).tuples()
    return dict(found.all())


def _told(one: Least) -> dict[str, object]:
    return {
        "ratio": round(one.ratio, 6) if np.isfinite(one.ratio) else None,
        "reservation": one.reservation,
        "day": round(one.at_s / _DAY_S, 3),
        "below_s": round(one.below_s),
        "reservations_below": len(one.below),
        "dips": [_dip(dip) for dip in sorted(one.dips, key=lambda dip: dip.ratio)[:_DIPS_SHOWN_MAX]],
    }


def _dip(dip: Dip) -> dict[str, object]:
    """Return when a dip began, in days, its seconds, and its least ratio."""
    lasted_s = round(dip.until_s - dip.from_s)
    day = round(dip.from_s / _DAY_S, 4)
    return {"reservation": dip.reservation, "day": day, "s": lasted_s, "ratio": round(dip.ratio, 6)}
