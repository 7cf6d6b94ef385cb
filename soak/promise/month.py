"""One run: a region, its owners, failures, maintenance and operators, over simulated days."""

from __future__ import annotations

import json
import math
import random
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import numpy as np

from libs.domain.policy import RegionPolicy
from libs.domain.principal import Role
from libs.domain.unavailability import UnavailabilityScope
from libs.interchange.region.write import dump_region
from libs.reconcile.environment import given_environment
from libs.reconcile.jobs import (
    ADVANCE_WINDOWS,
    ASSESS,
    CYCLES,
    DRAW_REPLACEMENTS,
    MOVE,
    REFRESH_UNAVAILABILITY,
    SOLVE,
)
from libs.simulator.demand import DemandEvent, draw_demand
from libs.simulator.failures import Failure, FailureRates, draw_failures
from libs.simulator.fleet import made_up_fleet
from services.cli.client import Client
from services.cli.demo.day import Action, Agenda
from services.cli.demo.people import HealthSystem, Owners
from services.portal.set_up import prepare_database
from services.standalone.postgres import running_postgres
from soak.promise.clock import SteppedClock
from soak.promise.people import Containers, Maintainer, Nature, Operators, promises_now, promises_of
from soak.promise.platform import Platform, environment, running
from soak.promise.report import Report
from soak.promise.servers import Luck, RealServers
from soak.promise.watch import Watcher

REGION = "promise"
HOUR_S, DAY_S = 3600.0, 86_400.0
POLICY = RegionPolicy(buffer_cost=1.0, spread_cost=0.5, shared_buffer_share=0.02)
"""As the demo's: costs per RRU for servers of about 5 RRU."""
RATES = FailureRates(server_share_down=0.01, server_repair_s=DAY_S)
"""1 % of the servers are down at a time (RAS, 3.3). The paper says that repairs take minutes to weeks; here a day."""
_SLOWEST_S = {DRAW_REPLACEMENTS: 300.0, REFRESH_UNAVAILABILITY: 300.0}
_SLOWEST_OTHERS_S = 900.0
"""Least seconds between two runs of the jobs that find nothing to do most of the time. A failure asks for its own."""
_ASK_AGAIN_S = 600.0
_LOSS_S_MAX = 1.5 * DAY_S
_FRAGILE = 0.15
"""Share of the reservations that do not survive the loss of an MSB."""
_NEAR = 0.65
"""Share of the capacity in each of two datacenters: together what a reservation holds to survive the loss of an MSB."""
_DECIDING = (ASSESS, ADVANCE_WINDOWS, SOLVE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The parameters of a run.

    solve_limit_s  real seconds that a solve may take
    kills          chance of a worker's death at each crash point
    load           share of the region's RRU that owners ask for at a time
    affinity       share of the reservations that want two neighbouring datacenters
    quiet_s        seconds at the end without demand, failures or maintenance, in which solves give surplus servers back
    retuned        whether operators change weights and RRU
    ticks_s        least and most seconds between two ticks of the mover: with news for it, and without
    """

    seed: int
    days: float
    servers: int
    requests_per_day: float
    lifetimes: float = 1.0
    solve_every_s: float = HOUR_S
    solve_limit_s: float = 60.0
    kills: float = 0.0005
    load: float = 0.55
    affinity: float = 0.0
    quiet_s: float = 8 * HOUR_S
    retuned: bool = True
    ticks_s: tuple[float, float] = (30.0, 300.0)


class _TimeIsUp(Exception):
    """The run has taken as much real time as it may."""


class Month:
    """The run of one plan.

    report      file for the figures so far, written every quarter of a simulated day; None: no file
    real_s      real seconds after which the run ends, however many days are over
    each_hour   called with the platform every simulated hour
    """

    def __init__(
        self,
        plan: Plan,
        home: Path,
        *,
        report: Path | None = None,
        real_s: float = math.inf,
        each_hour: Callable[[Platform], None] | None = None,
    ) -> None:
        self.plan, self._home, self._report, self._each_hour = plan, home, report, each_hour
        self._real_until_s = time.monotonic() + real_s
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
        self.watcher = Watcher(self.servers, len(snapshot.topology.msbs), promises_of([], {}, self.types))
        self._ran: Mapping[str, int] = {}
        self.is_news = True
        """Whether anything changed that the mover's last tick did not see."""

    def run(self) -> dict[str, object]:
        """Run the plan, and return its figures."""
        with running_postgres(self._home / "postgres", durable=False) as url:
            cycles = json.dumps({SOLVE: self.plan.solve_every_s})
            every_s = {
                kind: max(cycle_s, _SLOWEST_S.get(kind, _SLOWEST_OTHERS_S))
                for kind, cycle_s in CYCLES.items()
                if kind not in (SOLVE, MOVE)
            }
            with given_environment(environment(self._home, url, cycles, self.plan.solve_limit_s)), ExitStack() as kept:
                token_file = self._home / "token"
                prepare_database(url, token_file, self.clock)
                platform = kept.enter_context(
                    running(
                        url,
                        REGION,
                        self.clock,
                        lambda: self.servers,
                        every_s=every_s,
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
        busy_s = ends_s - plan.quiet_s
        agenda.every(HOUR_S, ends_s, containers.act)
        agenda.every(HOUR_S, ends_s, operators.approve)
        agenda.every(DAY_S, ends_s, platform.forget_jobs)
        retuning = ((5 * HOUR_S, 2 * DAY_S, operators.change_weights), (7 * HOUR_S, DAY_S, operators.change_rru))
        for first_s, every_s, action in (
            (10 * HOUR_S, DAY_S, maintainer.act),
            *(retuning if plan.retuned else ()),
        ):
            _repeat(agenda, first_s, every_s, busy_s, action)
        report = Report(
            plan={name: getattr(plan, name) for name in Plan.__dataclass_fields__},
            file=self._report,
            types=self.types,
            msbs=len(self.image.snapshot.topology.msbs),
            servers=self.servers,
            watcher=self.watcher,
            platform=platform,
            admin=admin,
            owners=owners,
            health=health,
            operators=operators,
            maintainer=maintainer,
        )

        def meanwhile() -> None:
            self._tick(platform, admin)
            if time.monotonic() > self._real_until_s:
                raise _TimeIsUp

        def tell() -> None:
            sys.stderr.write(report.line())
            report.save()

        agenda.every(HOUR_S, ends_s, report.end_hour)
        if self._each_hour is not None:
            agenda.every(HOUR_S, ends_s, partial(self._each_hour, platform))
        agenda.every(DAY_S, ends_s, report.end_day)
        agenda.every(DAY_S / 4, ends_s, tell)
        with suppress(_TimeIsUp):
            agenda.run(ends_s, meanwhile)
        report.save()
        return report.figures()

    def _demand(self) -> list[DemandEvent]:
        """Return the changes that owners ask for. Some reservations are not to survive the loss of an MSB, and some
        want to be in two neighbouring datacenters.
        """
        plan = self.plan
        drawn = draw_demand(
            self.image,
            duration_s=plan.days * DAY_S - plan.quiet_s,
            requests_per_day=plan.requests_per_day,
            lifetimes=plan.lifetimes,
            load=plan.load,
            seed=plan.seed,
        )
        chance, places = random.Random(plan.seed), [str(name) for name in self.image.snapshot.topology.datacenters]
        names = sorted({event.reservation for event in drawn})
        fragile = {name for name in names if chance.random() < _FRAGILE}
        near = {name: chance.randrange(len(places)) for name in names if chance.random() < plan.affinity}

        def meant(event: DemandEvent) -> DemandEvent:
            if event.spec is None:
                return event
            spec, name = event.spec, event.reservation
            if name in fragile:
                spec = replace(spec, survives_msb_loss=False)
            if name in near:
                share = _NEAR if spec.survives_msb_loss else 0.5
                two = (places[near[name]], places[(near[name] + 1) % len(places)])
                spec = replace(spec, affinity=dict.fromkeys(two, share))
            return replace(event, spec=spec)

        return [meant(event) for event in drawn]

    def _failures(self) -> list[Failure]:
        """Return failures at the published rates, and the loss of one MSB for six hours at two fifths of the run, but
        after _LOSS_S_MAX at the latest, so that a run that is ended early has seen it.
        """
        plan, snapshot = self.plan, self.image.snapshot
        names, until_s = snapshot.servers.name, plan.days * DAY_S - plan.quiet_s
        drawn = draw_failures(snapshot.topology, names, duration_s=until_s, rates=RATES, seed=plan.seed)
        msb = str(snapshot.topology.msbs[plan.seed % len(snapshot.topology.msbs)])
        at_s = min(0.4 * plan.days * DAY_S, _LOSS_S_MAX)
        lost = Failure(at_s=at_s, over_s=at_s + 6 * HOUR_S, scope=UnavailabilityScope.MSB, name=msb)
        return [*drawn, lost]

    def _pass(self, platform: Platform, admin: Client, duration_s: float) -> None:
        """Let time pass, from one moment at which something can change to the next."""
        until_s = self.clock.now_s + duration_s
        while (left_s := until_s - self.clock.now_s) > 0:
            self.clock.skip(min(self.next_s(platform) - self.clock.now_s, left_s))
            ended = self.servers.go_on(self.clock.now_s)
            self.watcher.look(self.clock.now_s)
            self.is_news = self.is_news or ended
            self._tick(platform, admin)

    def next_s(self, platform: Platform) -> float:
        """Return when the mover's next tick is. It can do nothing new before a step ends or the database changes."""
        soon_s, late_s = (platform.moved_at_s + wait_s for wait_s in self.plan.ticks_s)
        if not self.is_news:
            soon_s = min(max(soon_s, self.servers.next_due_s), late_s)
        return max(soon_s, self.clock.now_s)

    def _change(self, action: Action) -> None:
        """Do what may change a promise at once, such as a deletion."""
        action()
        self._ran, self.is_news = {}, True

    def _tick(self, platform: Platform, admin: Client) -> None:
        if not self._ran:
            self._read_promises(admin)
        moves = self.clock.now_s >= platform.moved_at_s + self.plan.ticks_s[0]
        is_changed = platform.tick(move=moves)
        self.is_news = is_changed or (self.is_news and not moves)
        ran = {kind: platform.ran[kind] for kind in _DECIDING}
        if ran != self._ran:
            self._ran = ran
            self._read_promises(admin)

    def _read_promises(self, admin: Client) -> None:
        self.watcher.promise(promises_now(admin, REGION, self.types), self.clock.now_s)


def _repeat(agenda: Agenda, at_s: float, every_s: float, until_s: float, action: Action) -> None:
    def again() -> None:
        action()
        _repeat(agenda, at_s + every_s, every_s, until_s, action)

    if at_s < until_s:
        agenda.at(at_s, again)
