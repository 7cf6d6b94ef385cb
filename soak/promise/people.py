"""The people and systems around the platform: they use REST, and act on the real servers."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import numpy as np

from libs.domain.approval import ApprovalKind
from libs.domain.arrays import Ints
from libs.domain.fleet import FleetSnapshot
from libs.domain.unavailability import UnavailabilityScope
from libs.simulator.allocator import AllocatedServer, decide_in_use
from libs.simulator.failures import Failure
from services.cli.client import ApiProblem, Client, Json
from services.cli.demo.day import Agenda
from services.cli.demo.people import HealthSystem
from soak.promise.servers import RealServers
from soak.promise.watch import Promises

_PAGE = 1000
_ASK_AGAIN_S = 600.0
_WEIGHTS = ("buffer_cost", "spread_cost", "move_cost_idle", "move_cost_in_use")


@dataclass(slots=True)
class Nature:
    """Lets servers fail, and reports it."""

    servers: RealServers
    snapshot: FleetSnapshot
    health: HealthSystem
    agenda: Agenda

    def fail(self, failure: Failure) -> None:
        """Take servers down until the failure is over. The health system reports both at once."""
        rows = self.rows(failure.scope, failure.name)
        self.servers.fail(rows)

        def mend(at_s: float, report: Callable[[], None]) -> None:
            def both() -> None:
                self.servers.mend(rows)
                report()

            self.agenda.at(at_s, both)

        self.health.report(failure, mend)

    def rows(self, scope: UnavailabilityScope, name: str) -> Ints:
        """Return the rows of the servers of a server, rack or MSB."""
        place, servers = self.snapshot.topology, self.snapshot.servers
        if scope is UnavailabilityScope.SERVER:
            return np.flatnonzero(servers.name == name)
        rack = place.racks == name if scope is UnavailabilityScope.RACK else (place.msbs == name)[place.rack_msb]
        return np.flatnonzero(rack[servers.rack])


@dataclass(slots=True)
class Maintainer:
    """Takes racks of one MSB into maintenance, where the platform allows it."""

    client: Client
    region: str
    nature: Nature
    chance: random.Random
    answers: Counter[str] = field(default_factory=Counter)
    lasts_s: float = 2 * 3600.0

    def act(self) -> None:
        """Ask for a quarter of an MSB, rack by rack."""
        place = self.nature.snapshot.topology
        msb = self.chance.randrange(len(place.msbs))
        racks = np.flatnonzero(place.rack_msb == msb)
        for rack in racks[: max(1, len(racks) // 4)]:
            self._ask(str(place.racks[rack]))

    def _ask(self, rack: str) -> None:
        body: Json = {"region": self.region, "scope": "rack", "scope_name": rack, "kind": "planned", "reason": "soak"}
        body["ends_at"] = (self.nature.agenda.clock.now() + timedelta(seconds=self.lasts_s)).isoformat()
        try:
            event = self.client.post("/v1/unavailability-events", body)
        except ApiProblem as problem:
            self.answers[problem.code] += 1
            return
        self.answers[event["state"]] += 1
        self._follow(event, rack)

    def _follow(self, event: Json, rack: str) -> None:
        """Begin when the platform allows it, and end when it said that it would."""
        agenda = self.nature.agenda
        if event["ended_at"] is not None or event["state"] == "refused":
            return
        if event["state"] != "allowed":
            path = f"/v1/unavailability-events/{event['unavailability_event_id']}"
            agenda.at(agenda.now_s() + _ASK_AGAIN_S, lambda: self._follow(self.client.get(path), rack))
            return
        rows = self.nature.rows(UnavailabilityScope.RACK, rack)
        ends_s = (datetime.fromisoformat(event["ends_at"]) - agenda.begins).total_seconds()
        if ends_s <= agenda.now_s():
            return
        self.nature.servers.fail(rows)
        agenda.at(ends_s, lambda: self.nature.servers.mend(rows))


@dataclass(slots=True)
class Containers:
    """The container allocator: it uses servers that have joined."""

    client: Client
    region: str
    servers: RealServers

    def act(self) -> None:
        """Use servers that newly joined a reservation. A server that moved meanwhile comes again the next time."""
        rows = self.client.items("/v1/servers", region=self.region, limit=_PAGE)
        names = AllocatedServer.__dataclass_fields__
        decided = decide_in_use(seen := [AllocatedServer(**{name: row[name] for name in names}) for row in rows])
        name_of = {server.server_id: server.name for server in seen}
        for first in range(0, len(decided), _PAGE):
            part = decided[first : first + _PAGE]
            changes = [{"server_id": d.server_id, "generation": d.generation, "in_use": d.in_use} for d in part]
            try:
                self.client.patch("/v1/servers", {"servers": changes})
            except ApiProblem as problem:
                if problem.code != "stale_generation":
                    raise
                continue
            used = self.servers.rows(name_of[d.server_id] for d in part)
            self.servers.in_use[used] = True


@dataclass(slots=True)
class Operators:
    """Change the weights of the policy, and the RRU of reservations."""

    client: Client
    region: str
    chance: random.Random
    refused: Counter[str] = field(default_factory=Counter)

    def change_weights(self) -> None:
        """Multiply one weight by a factor between a half and two."""
        region = self.client.get(f"/v1/regions/{self.region}")
        name = self.chance.choice(_WEIGHTS)
        other = region["policy"][name] * 2 ** self.chance.uniform(-1, 1)
        self.client.patch(f"/v1/regions/{self.region}", {"policy": {name: other}}, generation=region["generation"])

    def change_rru(self) -> None:
        """Change the RRU of one hardware type of one reservation by up to a tenth, as after a new measurement."""
        found = [row for row in reservations(self.client, self.region) if row["status"]["phase"] == "granted"]
        if not found:
            return
        one = self.chance.choice(found)
        rru = dict(one["spec"]["rru"])
        kind = self.chance.choice(sorted(kind for kind, value in rru.items() if value > 0))
        rru[kind] *= self.chance.uniform(0.9, 1.1)
        path, generation = f"/v1/reservations/{one['reservation_id']}", one["generation"]
        try:
            self.client.patch(path, {"spec": {"rru": rru}}, generation=generation)
        except ApiProblem as problem:
            self.refused[problem.code] += 1

    def approve(self) -> None:
        """Approve all that waits, but no departures below *hold*: they would excuse a dip."""
        for approval in self.client.items("/v1/approvals", region=self.region, status="pending"):
            if approval["kind"] == ApprovalKind.BELOW_HOLD:
                self.refused[f"not approved: {approval['kind']}"] += 1
                continue
            path = f"/v1/approvals/{approval['approval_id']}/approve"
            try:
                self.client.post(path, {"reason": "soak"}, generation=approval["generation"])
            except ApiProblem as problem:
                self.refused[problem.code] += 1


def reservations(client: Client, region: str) -> list[Json]:
    """Return the region's guaranteed reservations."""
    return list(client.items("/v1/reservations", region=region, kind="guaranteed", limit=_PAGE))


def promises_now(client: Client, region: str, hardware_types: list[str]) -> Promises:
    """Return what the platform promises now: the capacity of each reservation, or what was granted of it so far."""
    rows = reservations(client, region)
    is_short = any(row["status"]["phase"] == "degraded" for row in rows)
    requests = client.items("/v1/capacity-requests", region=region, limit=_PAGE) if is_short else ()
    return promises_of(rows, granted_of(requests), hardware_types)


def granted_of(requests: Iterable[Json]) -> dict[str, float]:
    """Return reservation -> RRU granted so far, of those whose last accepted request waits for servers.

    A deletion ends what was granted under its name before.
    """
    granted: dict[str, float] = {}
    waits: set[str] = set()
    for one in sorted(requests, key=lambda one: one["capacity_request_id"]):
        name, phase = one["reservation"], one["status"]["phase"]
        if phase not in ("granted", "degraded"):
            continue
        if one["kind"] == "delete":
            granted.pop(name, None)
        elif phase == "granted":
            granted[name] = one["spec"]["capacity_rru"]
        (waits.add if phase == "degraded" else waits.discard)(name)
    return {name: granted.get(name, 0.0) for name in waits}


def promises_of(rows: list[Json], granted: Mapping[str, float], hardware_types: list[str]) -> Promises:
    """Return the promises of the reservations `rows` that are granted or degraded.

    granted   reservation -> RRU granted so far, where its request waits. Nothing granted is no promise
    """
    made = sorted(
        (row for row in rows if row["status"]["phase"] in ("granted", "degraded") and granted.get(row["name"]) != 0),
        key=lambda row: row["name"],
    )
    rru = [[row["spec"]["rru"].get(kind, 0.0) for kind in hardware_types] for row in made]
    asked = [(row["name"], row["spec"]["capacity_rru"]) for row in made]
    return Promises(
        name=np.array([row["name"] for row in made], object),
        capacity_rru=np.array([min(wants, granted.get(name, wants)) for name, wants in asked], float),
        rru=np.array(rru, float).reshape(len(made), len(hardware_types)),
        survives=np.array([row["spec"]["survives_msb_loss"] for row in made], bool),
    )
