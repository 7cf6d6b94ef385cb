"""Go round the loop of Flux and RAS: measure, model, plan, ledger, execute, and measure again, over simulated days."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from libs.reconcile.clock import Clock
from libs.simulator.shop import DAY_MINUTES
from libs.simulator.teastore import services
from services.cli.client import Client, Json
from services.cli.demo.flux.people import Operators
from services.cli.demo.flux.record import Model, Moment, changes_of_capacity, load_model
from services.cli.demo.flux.traffic import TrafficSystem
from services.cli.demo.flux.troubles import Troubles
from services.cli.demo.flux.world import (
    EAST,
    REGIONS,
    announce_loss,
    ask_for_reservations,
    import_regions,
    put_inputs,
)
from services.cli.failure import CliFailure
from services.cli.output import note
from services.standalone.platform import Platform

CYCLES = 2
_WAIT_S_MAX = 240.0
"""Most real seconds without any progress. A busy machine is slow."""
_PAUSE_S = 0.3
_PLANS_AFTER = timedelta(minutes=10)
_DAY_S = 86_400
TERMS: Json = {
    "fractions": [0.1, 0.25, 0.5, 1.0],
    "bake_s": 900,
    "downsize_bake_s": 1800,
    "action_s_max": 5 * _DAY_S,
    "gates": [
        {
            "name": "errors",
            "time": "fraction",
            "query": 'sum(rate(shop_errors_total{product="{product}",region="{to_region}"}[5m]))',
            "mode": "reverse",
            "most": 0.01,
            "bad_min": 2,
            "age_s_max": _DAY_S,
            "unknown_s_max": 7 * _DAY_S,
        },
        {
            "name": "load-test",
            "time": "downsize",
            "source": "load_test",
            "query": "the peak of a day",
            "least": 1,
            "age_s_max": _DAY_S,
            "unknown_s_max": 7 * _DAY_S,
        },
    ],
}
"""The rules of the executions. Errors must be read twice before a shift goes back: after the first it is held."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cycle:
    """One cycle: the plan run, its plan, the execution and its actions, as the API tells them."""

    number: int
    run: Json
    execution: Json
    actions: list[Json]


@dataclass(slots=True, kw_only=True)
class Loop:
    """The demo at work."""

    platform: Platform
    clock: Clock
    admin: Client
    telemetry: Client
    operators: Operators
    traffic: TrafficSystem
    troubles: Troubles
    models: list[Model] = field(default_factory=list)
    cycles: list[Cycle] = field(default_factory=list)
    servers: list[int] = field(default_factory=list)
    """Servers of the east before the first cycle and after the last."""

    def run(self) -> None:
        """Set up the regions and the shop, and go round the loop, until the lost servers are gone."""
        self._set_up()
        for number in range(1, CYCLES + 1):
            self._until(self._next_plan(), number)
            self.cycles.append(self._cycle(number))
        note(f"{self._now()} waiting until the lost servers are gone")
        self._wait(self._leaving, "the lost servers to be gone")
        self.servers.append(self._east())

    def record(self) -> list[Moment]:
        """Return all changes of traffic and of capacity, in order of time."""
        shifts = self.traffic.shifts
        changes = changes_of_capacity(self.admin, shifts, shifts[0].at)
        return sorted([*shifts, *changes], key=lambda one: one.at)

    def _set_up(self) -> None:
        count = import_regions(self.admin)
        note(f"{count} servers in {len(REGIONS)} regions are in; the shop asks for capacity")
        ask_for_reservations(self.admin)
        put_inputs(self.admin)
        self._wait(self._unready, "every service has its capacity")
        self.servers.append(self._east())
        self.traffic.look()
        self._wait(self._untraced, "the first traces to be summed")
        note("every service has its capacity in every region, and the east will lose 15 % of its servers in two days")

    def _east(self) -> int:
        summary = self.admin.get(f"/v1/regions/{EAST}/summary")
        return int(sum(row["servers"] for row in summary["hardware_types"]))

    def _leaving(self) -> str | None:
        found = self.admin.items("/v1/retirements", region=EAST, status="announced", limit=1000)
        return ", ".join(f"{one['scope_name']} {one['servers']} {one['held']}" for one in found) or None

    def _unready(self) -> str | None:
        found = list(self.admin.items("/v1/reservations", kind="guaranteed", limit=1000))
        ready = sum(c["status"] == "True" for r in found for c in r["status"]["conditions"] if c["type"] == "Ready")
        wanted = len(services()) * len(REGIONS)
        return None if ready == wanted else f"{ready} of {wanted} are ready"

    def _untraced(self) -> str | None:
        """Tell that no traces are summed yet. A plan without any is so uncertain that people approve all of it."""
        found = self.admin.get("/v1/telemetry", days=7)
        return None if any(day["attributed"] for day in found["days"]) else f"{found['waiting']['spans']} spans wait"

    def _next_plan(self) -> datetime:
        """Return the time of the next plan: just after a midnight, because a plan reads whole days."""
        days = max(1, -(-int(self.traffic.minute()) // DAY_MINUTES))
        return self.traffic.begins + timedelta(days=days) + _PLANS_AFTER

    def _cycle(self, number: int) -> Cycle:
        self.troubles.cycle = number
        announce_loss(self.admin, number, self.clock.now().replace(hour=0, minute=0, second=0, microsecond=0))
        run = self._plan()
        self.models.append(load_model(self.admin, run))
        body = {"placement_plan_id": run["placement_plan_id"], "reason": f"cycle {number}", "terms": TERMS}
        path = f"/v1/plan-executions/{self.admin.post('/v1/plan-executions', body)['plan_execution_id']}"
        phases = {name: sum(states.values()) for name, states in self.admin.get(path)["actions"].items()}
        told = ", ".join(f"{count} {name}s" for name, count in phases.items())
        note(f"{self._now()} cycle {number}: plan {run['placement_plan_id']} is carried out: {told}")
        self.admin.post(f"{path}/commands", {"verb": "start", "reason": f"cycle {number}"})
        self._wait(lambda: self._left(path), f"the execution of cycle {number}")
        note(f"{self._now()} cycle {number} is done")
        actions = list(self.admin.items(f"{path}/actions", limit=1000))
        return Cycle(number=number, run=run, execution=self.admin.get(path), actions=actions)

    def _left(self, path: str) -> str | None:
        found = self.operators.watch(path)
        return None if found["state"] == "done" else json.dumps([found["actions"], found["generation"]])

    def _plan(self) -> Json:
        asked = self.admin.post("/v1/plan-runs", {"reason": "the demo"})
        path = f"/v1/plan-runs/{asked['plan_run_id']}"

        def unfinished() -> str | None:
            status: str = self.admin.get(path)["status"]
            return status if status in ("queued", "running") else None

        self._wait(unfinished, "the plan")
        run = self.admin.get(path)
        if run["status"] != "done":
            raise CliFailure(f"plan run {run['plan_run_id']} {run['status']}: {run['reason']}: {run['error']}")
        return run

    def _tick(self) -> None:
        self.platform.supervisor.tend()
        self.traffic.send(self.telemetry, int(self.traffic.minute()))
        time.sleep(_PAUSE_S)

    def _until(self, at: datetime, number: int) -> None:
        note(f"{self._now()} measuring until {at:%a %H:%M}, when cycle {number} begins")
        while self.clock.now() < at:
            self._tick()
        self.traffic.send(self.telemetry, int(self.traffic.minute()))  # the plan reads whole days

    def _wait(self, look: Callable[[], str | None], what: str) -> None:
        """Wait until a look finds nothing left. Raises CliFailure when nothing changes for a long time."""
        last, deadline = "", time.monotonic() + _WAIT_S_MAX
        while (left := look()) is not None:
            if left != last:
                last, deadline = left, time.monotonic() + _WAIT_S_MAX
            if time.monotonic() > deadline:
                raise CliFailure(f"nothing has changed for {_WAIT_S_MAX:g} s, waiting for {what}: {left}")
            self._tick()

    def _now(self) -> str:
        return f"{self.clock.now():%a %H:%M}"
