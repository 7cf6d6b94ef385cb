"""Play the clients of the platform during the day. Each has its own token and uses only REST."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from libs.domain.reservation import ReservationSpec
from libs.simulator.allocator import AllocatedServer, decide_in_use
from libs.simulator.demand import DemandEvent, DemandKind
from libs.simulator.failures import Failure
from services.cli.client import ApiProblem, Client, Json

_PAGE = 1000
_UNDECIDED = frozenset({"submitted", "assessing"})


@dataclass(slots=True)
class Owners:
    """The owners: they request, change and return capacity. `said` counts the requests. `refused` counts the problem
    codes of the answers. `waiting` is the number of requests that wait for the answer to an earlier one.
    """

    client: Client
    region: str
    said: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    waiting: int = 0
    _returned: set[str] = field(default_factory=set)

    def act(self, event: DemandEvent, later: Callable[[Callable[[], None]], None]) -> None:
        """Send one request, and do not wait for the decision. A refusal is an answer, and not an error of the demo.

        If the previous request is undecided, `later` repeats this call later.
        """
        if event.kind is not DemandKind.CREATE and self._waits_for_an_answer(event.reservation):
            self.waiting += 1

            def again() -> None:
                self.waiting -= 1
                self.act(event, later)

            later(again)
            return
        if event.reservation in self._returned:
            return  # a resize that waited so long that the reservation is deleted by now
        if event.kind is DemandKind.DELETE:
            self._returned.add(event.reservation)
        body: Json = {"kind": event.kind, "region": self.region, "reservation": event.reservation}
        if event.kind is DemandKind.CREATE:
            body["owner"] = event.owner
        if event.spec is not None:
            body["spec"] = _spec(event.spec)
        self.said[event.kind.value] += 1
        try:
            self.client.post("/v1/capacity-requests", body)
        except ApiProblem as problem:
            self.refused[problem.code] += 1

    def _waits_for_an_answer(self, reservation: str) -> bool:
        asked = self.client.get("/v1/capacity-requests", region=self.region, reservation=reservation, limit=1)["items"]
        return any(request["status"]["phase"] in _UNDECIDED for request in asked)


def _spec(spec: ReservationSpec) -> Json:
    return {
        "capacity_rru": spec.capacity_rru,
        "rru": dict(spec.rru),
        "survives_msb_loss": spec.survives_msb_loss,
        "msb_spread_limit": spec.msb_spread_limit,
        **({"affinity": dict(spec.affinity)} if spec.affinity else {}),
    }


@dataclass(slots=True)
class HealthSystem:
    """Reports failures and their ends."""

    client: Client
    region: str
    reported: Counter[str] = field(default_factory=Counter)

    def report(self, failure: Failure, mend_at: Callable[[float, Callable[[], None]], None]) -> None:
        """Report a failure, and put its end into the day's agenda."""
        body = {
            "region": self.region,
            "scope": failure.scope,
            "scope_name": failure.name,
            "kind": "unplanned",
            "reason": "simulated failure",
        }
        event = self.client.post("/v1/unavailability-events", body)["unavailability_event_id"]
        self.reported[failure.scope.value] += 1
        mend_at(failure.over_s, lambda: self._mended(event))

    def _mended(self, event: int) -> None:
        self.client.post(f"/v1/unavailability-events/{event}/end")


@dataclass(slots=True)
class Allocator:
    """Puts containers on servers that have joined a reservation."""

    client: Client
    region: str
    used: int = 0

    def act(self) -> None:
        """Mark servers as in use that have joined a reservation since the last call. The next call repeats a server
        that moved meanwhile.
        """
        servers = self.client.items("/v1/servers", region=self.region, limit=_PAGE)
        names = AllocatedServer.__dataclass_fields__
        decisions = decide_in_use(AllocatedServer(**{name: row[name] for name in names}) for row in servers)
        for first in range(0, len(decisions), _PAGE):
            changes = [
                {"server_id": d.server_id, "generation": d.generation, "in_use": d.in_use}
                for d in decisions[first : first + _PAGE]
            ]
            try:
                self.client.patch("/v1/servers", {"servers": changes})
                self.used += len(changes)
            except ApiProblem as problem:
                if problem.code != "stale_generation":
                    raise
