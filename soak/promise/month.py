"""One run: a region, its owners, failures, maintenance and operators, over simulated days."""

from __future__ import annotations

import json
import random
import sys
import time
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import numpy as np
import sqlalchemy as sa

from libs.domain.policy import RegionPolicy
from libs.domain.principal import Role
from libs.domain.unavailability import UnavailabilityScope
from libs.interchange.region.write import dump_region
from libs.reconcile.jobs import ADVANCE_WINDOWS, ASSESS, CYCLES, MOVE, SOLVE, WATCH_RESERVATIONS
from libs.simulator.demand import DemandEvent, draw_demand
from libs.simulator.failures import Failure, FailureRates, draw_failures
from libs.simulator.fleet import made_up_fleet
from libs.store.tables import moves
from services.cli.client import Client
from services.cli.demo.day import Action, Agenda
from services.cli.demo.people import HealthSystem, Owners
from services.portal.set_up import prepare_database
from services.standalone.postgres import running_postgres
from soak.promise.bound import fewest_servers
from soak.promise.clock import SteppedClock
from soak.promise.people import Containers, Maintainer, Nature, Operators, promises_of, reservations
from soak.promise.platform import Platform, environment, given_environment, running
from soak.promise.servers import Luck, RealServers
from soak.promise.watch import Watcher

REGION = "promise"
HOUR_S, DAY_S = 3600.0, 86_400.0
POLICY = RegionPolicy(buffer_cost=1.0, spread_cost=0.5, shared_buffer_share=0.02)
"""As the demo's: costs per RRU for servers of about 5 RRU."""
RATES = FailureRates(server_share_down=0.01, server_repair_s=DAY_S)
"""1 % of the servers are down at a time (RAS, 3.3). The paper says that repairs take minutes to weeks; here a day."""
_BUSY_S, _IDLE_S = 30.0, 300.0
"""Seconds between two ticks while servers move, and otherwise."""
_SLOWEST_S = 300.0
"""Least seconds between two runs of the jobs that find nothing to do most of the time. A failure asks for its own."""
_ASK_AGAIN_S = 600.0
_QUIET_S = 8 * HOUR_S
"""Hours at the end without demand, failures or maintenance, in which solves give surplus servers back."""
_FRAGILE = 0.15
"""Share of the reservations that do not survive the loss of an MSB."""
_DECIDING = (ASSESS, ADVANCE_WINDOWS, SOLVE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The parameters of a run. `kills` is the chance of a worker's death at each crash point."""

    seed: int
    days: float
    servers: int
    requests_per_day: float
    solve_every_s: float = HOUR_S
    kills: float = 0.0005
    load: float = 0.55


class Month:
    """The run of one plan."""

    def __init__(self, plan: Plan, home: Path) -> None:
        self.plan, self._home = plan, home
        self.image = made_up_fleet(REGION, servers=plan.servers, seed=plan.seed, policy=POLICY)
        self.clock = SteppedClock(datetime.now(UTC).replace(microsecond=0) - timedelta(days=plan.days + 2))
        snapshot = self.image.snapshot
        self.types = [str(name) for name in snapshot.hardware_types]
        self.servers = RealServers(
            snapshot.servers.name,
            snapshot.topology.rack_msb[snapshot.servers.rack].astype(np.int64),
            snapshot.servers.hardware_type.astype(np.int64),
            luck=Luck(seed=plan.seed),
            now_s=lambda: self.clock.now_s,
            watch=lambda at_s: self.watcher.look(at_s),
        )
        self.watcher = Watcher(self.servers, len(snapshot.topology.msbs), promises_of([], self.types))
        self.began_s = time.monotonic()
        self._ran: Mapping[str, int] = {}

    def run(self) -> dict[str, object]:
        """Run the plan, and return its figures."""
        with running_postgres(self._home / "postgres", durable=False) as url:
            cycles = {kind: max(every_s, _SLOWEST_S) for kind, every_s in CYCLES.items()}
            cycles |= {MOVE: _BUSY_S, WATCH_RESERVATIONS: _SLOWEST_S, SOLVE: self.plan.solve_every_s}
            with given_environment(environment(self._home, url, json.dumps(cycles))), ExitStack() as kept:
                token_file = self._home / "token"
                prepare_database(url, token_file, self.clock)
                platform = kept.enter_context(
                    running(
                        url,
                        self.clock,
                        lambda: self.servers,
                        chance=random.Random(self.plan.seed),
                        kills=self.plan.kills,
                        solve_takes_s=600.0,
                    )
                )
                admin = Client(platform.url, token_file.read_text().strip())
                kept.callback(admin.close)
                return self._live(platform, admin, kept)

    def _live(self, platform: Platform, admin: Client, kept: ExitStack) -> dict[str, object]:
        plan = self.plan
        files = {name.partition(".")[0]: (name, content) for name, content in dump_region(self.image).items()}
        admin.post(f"/v1/regions/{REGION}/import", files=files)
        self.clock.pass_time = partial(self._pass, platform, admin)
        agenda = Agenda(self.clock, self.clock.begins)
        demand = self._demand()

        def client(name: str, role: Role, owners: Iterable[str] = ()) -> Client:
            secret = admin.post("/v1/tokens", {"name": name, "role": role, "owners": sorted(owners)})["secret"]
            made = Client(platform.url, secret)
            kept.callback(made.close)
            return made

        owners = Owners(client("owners", Role.REQUESTER, {one.owner for one in demand}), REGION)
        health = HealthSystem(client("health", Role.HEALTH), REGION)
        operators = Operators(admin, REGION, random.Random(plan.seed))
        nature = Nature(self.servers, self.image.snapshot, health, agenda)
        maintainer = Maintainer(health.client, REGION, nature, random.Random(plan.seed))
        containers = Containers(client("containers", Role.ALLOCATOR), REGION, self.servers)

        def again(action: Action) -> None:
            agenda.at(agenda.now_s() + _ASK_AGAIN_S, partial(self._change, action))

        for event in demand:
            agenda.at(event.at_s, partial(self._change, partial(owners.act, event, again)))
        for failure in self._failures():
            agenda.at(failure.at_s, partial(nature.fail, failure))
        ends_s = plan.days * DAY_S
        busy_s = ends_s - _QUIET_S
        agenda.every(HOUR_S, ends_s, containers.act)
        agenda.every(HOUR_S, ends_s, operators.approve)
        agenda.every(DAY_S, ends_s, platform.forget_jobs)
        for first_s, every_s, action in (
            (10 * HOUR_S, DAY_S, maintainer.act),
            (5 * HOUR_S, 2 * DAY_S, operators.change_weights),
            (7 * HOUR_S, DAY_S, operators.change_rru),
        ):
            _repeat(agenda, first_s, every_s, busy_s, action)
        agenda.every(DAY_S / 4, ends_s, lambda: self._tell(platform, owners, health))
        agenda.run(ends_s, lambda: self._tick(platform, admin))
        return self._figures(platform, admin, owners, health, operators, maintainer)

    def _demand(self) -> list[DemandEvent]:
        """Return the changes that owners ask for. Some reservations are not to survive the loss of an MSB."""
        plan = self.plan
        drawn = draw_demand(
            self.image,
            duration_s=plan.days * DAY_S - _QUIET_S,
            requests_per_day=plan.requests_per_day,
            load=plan.load,
            seed=plan.seed,
        )
        chance = random.Random(plan.seed)
        names = sorted({event.reservation for event in drawn})
        fragile = {name for name in names if chance.random() < _FRAGILE}
        return [
            replace(event, spec=replace(event.spec, survives_msb_loss=False))
            if event.spec is not None and event.reservation in fragile
            else event
            for event in drawn
        ]

    def _failures(self) -> list[Failure]:
        """Return failures at the published rates, and the loss of one MSB for six hours at two fifths of the run."""
        plan, snapshot = self.plan, self.image.snapshot
        names, until_s = snapshot.servers.name, plan.days * DAY_S - _QUIET_S
        drawn = draw_failures(snapshot.topology, names, duration_s=until_s, rates=RATES, seed=plan.seed)
        msb = str(snapshot.topology.msbs[plan.seed % len(snapshot.topology.msbs)])
        at_s = 0.4 * plan.days * DAY_S
        lost = Failure(at_s=at_s, over_s=at_s + 6 * HOUR_S, scope=UnavailabilityScope.MSB, name=msb)
        return [*drawn, lost]

    def _pass(self, platform: Platform, admin: Client, duration_s: float) -> None:
        """Let time pass, in steps that are short while servers move."""
        while duration_s > 0:
            step_s = min(_BUSY_S if self.servers.is_busy or platform.is_moving() else _IDLE_S, duration_s)
            duration_s -= step_s
            self.clock.skip(step_s)
            self.servers.go_on(self.clock.now_s)
            self.watcher.look(self.clock.now_s)
            self._tick(platform, admin)

    def _change(self, action: Action) -> None:
        """Do what may change a promise at once, such as a deletion."""
        action()
        self._ran = {}

    def _tick(self, platform: Platform, admin: Client) -> None:
        if not self._ran:
            self._read_promises(admin)
        platform.tick()
        ran = {kind: platform.ran[kind] for kind in _DECIDING}
        if ran != self._ran:
            self._ran = ran
            self._read_promises(admin)

    def _read_promises(self, admin: Client) -> None:
        self.watcher.promise(promises_of(reservations(admin, REGION), self.types), self.clock.now_s)

    def _tell(self, platform: Platform, owners: Owners, health: HealthSystem) -> None:
        least = self.watcher.least
        sys.stderr.write(
            f"day {self.clock.now_s / DAY_S:5.2f}  {time.monotonic() - self.began_s:6.0f} s  "
            f"{len(self.watcher.promises.name)} reservations, {sum(owners.said.values())} requests, "
            f"{sum(health.reported.values())} failures, {platform.ran[SOLVE]} solves, "
            f"{self.servers.counts.joined} joins; least "
            + ", ".join(f"{name} {one.ratio:.4g}" for name, one in least.items())
            + "\n"
        )

    def _figures(
        self,
        platform: Platform,
        admin: Client,
        owners: Owners,
        health: HealthSystem,
        operators: Operators,
        maintainer: Maintainer,
    ) -> dict[str, object]:
        rows = reservations(admin, REGION)
        promises = promises_of(rows, self.types)
        up, s = self.servers.down == 0, self.servers
        supply = np.zeros((len(self.image.snapshot.topology.msbs), len(self.types)), np.int64)
        np.add.at(supply, (s.msb[up], s.hardware_type[up]), 1)
        numbers = [s.number[str(name)] for name in promises.name if str(name) in s.number]
        held = int((np.isin(s.reservation, numbers) & up).sum())
        bound = fewest_servers(promises, supply)
        with platform.database.snapshot() as tx:
            ended = tx.execute(sa.select(moves.c.status, sa.func.count()).group_by(moves.c.status)).all()
        counts = s.counts
        return {
            "plan": {name: getattr(self.plan, name) for name in Plan.__dataclass_fields__},
            "real_s": round(time.monotonic() - self.began_s),
            "requests": dict(owners.said),
            "refused": dict(owners.refused + operators.refused),
            "failures": dict(health.reported),
            "maintenance": dict(maintainer.answers),
            "solves": platform.ran[SOLVE],
            "workers_killed": dict(platform.killed),
            "answers_lost": counts.lost_answers,
            "steps_failed": counts.failed_steps,
            "moves": {str(status): number for status, number in ended},
            "preempted_in_use": counts.preempted_in_use,
            "preempted_idle": counts.preempted_idle,
            "preempted_in_use_most_a_day": max(counts.preempted_by_day.values(), default=0),
            "joined": counts.joined,
            "wrong_steps": counts.wrong[:20],
            "reservations": len(rows),
            "never_kept": int(np.isnan(self.watcher.kept_after_s).sum()),
            "longest_wait_s": round(self.watcher.longest_wait_s),
            "servers_held": held,
            "servers_bound": round(bound, 1) if np.isfinite(bound) else None,
            "held_to_bound": round(held / bound, 3) if np.isfinite(bound) and bound else None,
            "least": {
                name: {
                    "ratio": round(one.ratio, 6) if np.isfinite(one.ratio) else None,
                    "reservation": one.reservation,
                    "day": round(one.at_s / DAY_S, 3),
                    "below_s": round(one.below_s),
                    "reservations_below": len(one.below),
                }
                for name, one in self.watcher.least.items()
            },
        }


def _repeat(agenda: Agenda, at_s: float, every_s: float, until_s: float, action: Action) -> None:
    def again() -> None:
        action()
        _repeat(agenda, at_s + every_s, every_s, until_s, action)

    if at_s < until_s:
        agenda.at(at_s, again)
