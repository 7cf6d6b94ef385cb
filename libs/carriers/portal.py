"""A carrier of resizes: it asks the portal of the action's region to resize a reservation, and waits until it is Ready.

So quotas, approvals and the judge of that region apply, as to every other request.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

import orjson

from libs.carriers.answers import ABOUT_THE_CALL
from libs.carriers.calls import CallLimits, Calls, Reply, work_off
from libs.carriers.carrier import Carrier
from libs.carriers.portal_addresses import Portals, PortalSettings, TokenError
from libs.domain.action_outcome import ActionRequest, Answer, Outcome
from libs.domain.service_reservation import ServiceReservation
from libs.flux.reservation_sizes import ReservationTable

_SAME = 1e-6
"""Relative difference of two capacities below which they are the same."""
_POLL_S = 10.0
_OPEN = frozenset({"submitted", "assessing", "awaiting_approval", "scheduled"})


class PortalCarrier:
    """Has no state: the portal recognises a request by its Idempotency-Key, and the reservation shows the rest."""

    def __init__(self, portals: Portals, rows: Iterable[ServiceReservation], limits: CallLimits) -> None:
        self._limits, self._regions, self._table = limits, portals.regions, ReservationTable(rows)

    def perform(self, requests: Sequence[ActionRequest]) -> Sequence[Answer]:
        """See Carrier."""
        return work_off(requests, self._ask, self._limits, left=Answer(outcome=Outcome.NOT_ASKED))

    async def _ask(self, calls: Calls, request: ActionRequest) -> Answer:
        a = request.action
        portal = self._regions.get(str(a.region))
        if portal is None:
            return _unknown(f"no portal is known for region {a.region}: add it to PLIMSOLL_PORTALS")
        found = self._table.find((str(a.service), str(a.region), str(a.hardware_type)))
        if found is None:
            message = f"service_reservations has no row for {a.service} on {a.hardware_type} in {a.region}: add one"
            return _unknown(message)
        if len(self._table.places(str(a.region), found.reservation)) > 1:
            message = f"{found.reservation} holds several services, whose sizes add up: take the action over"
            return Answer(outcome=Outcome.FAILED, message=message)
        if request.size <= 0:
            return Answer(outcome=Outcome.FAILED, message=f"{found.reservation} would be empty: take the action over")
        try:
            headers = portal.headers("plimsoll-orchestrator")
        except TokenError as error:
            return _unknown(str(error))
        return await _Resize(calls, portal.base, headers, found, request).answer()


class _Resize:
    """One request about one reservation."""

    def __init__(
        self,
        calls: Calls,
        url: str,
        headers: Mapping[str, str],
        found: ServiceReservation,
        request: ActionRequest,
    ) -> None:
        self._calls, self._url, self._headers = calls, url, dict(headers)
        self._name, self._request = found.reservation, request
        self._wanted_rru = request.size * found.rru

    async def answer(self) -> Answer:
        query = urlencode({"region": str(self._request.action.region), "name": self._name})
        reply = await self._calls.send("GET", f"{self._url}/v1/reservations?{query}", headers=self._headers)
        if reply.status != 200:
            return _told(reply)
        items: Sequence[Mapping[str, Any]] = reply.document.get("items", ())
        if len(items) != 1:
            message = f"there is no reservation {self._name} in {self._request.action.region}"
            return Answer(outcome=Outcome.FAILED, message=message)
        if abs(items[0]["spec"]["capacity_rru"] - self._wanted_rru) > _SAME * self._wanted_rru:
            return await self._resize()
        ready: Mapping[str, Any] = next((one for one in items[0]["status"]["conditions"] if one["type"] == "Ready"), {})
        if ready.get("status") == "True":
            return Answer(outcome=Outcome.DONE)
        return _running(str(ready.get("message") or "it is not Ready yet"))

    async def _resize(self) -> Answer:
        """Ask for the capacity. The same key gives the same request, so its state is read again."""
        body = orjson.dumps(
            {
                "kind": "resize",
                "region": self._request.action.region,
                "reservation": self._name,
                "spec": {"capacity_rru": self._wanted_rru},
                "reason": f"plan execution {self._request.key}",
            }
        )
        headers = self._headers | {"Content-Type": "application/json", "Idempotency-Key": self._request.key}
        reply = await self._calls.send("POST", f"{self._url}/v1/capacity-requests", content=body, headers=headers)
        if reply.status != 201:
            return _told(reply)
        request_id = reply.document.get("capacity_request_id")
        reply = await self._calls.send("GET", f"{self._url}/v1/capacity-requests/{request_id}", headers=self._headers)
        if reply.status != 200:
            return _told(reply)
        told: Mapping[str, Any] = reply.document.get("status") or {}
        phase, message = str(told.get("phase")), str(told.get("message") or "")
        if phase in ("rejected", "withdrawn"):
            return Answer(outcome=Outcome.FAILED, message=f"request {request_id} is {phase}: {message}")
        said = f"request {request_id} is {phase}: {message}"
        return _running(said if phase in _OPEN else f"request {request_id} is decided; the reservation follows")


def _told(reply: Reply) -> Answer:
    """Return what a reply says that is not the expected one. A stale read is asked again; a refusal has failed."""
    about_the_call = reply.status is None or reply.status in ABOUT_THE_CALL or not 400 <= reply.status < 500
    if about_the_call or reply.document.get("code") in ("stale_generation", "answer_not_kept"):
        return _unknown(reply.message, reply.again_s)
    return Answer(outcome=Outcome.FAILED, message=reply.message)


def _unknown(message: str, again_s: float | None = None) -> Answer:
    return Answer(outcome=Outcome.UNKNOWN, message=message, ask_again_s=again_s or _POLL_S)


def _running(message: str) -> Answer:
    return Answer(outcome=Outcome.RUNNING, message=message, ask_again_s=_POLL_S)


def create(rows: Iterable[ServiceReservation]) -> Carrier:
    """Return a PortalCarrier with settings from the environment, and with the rows of `service_reservations`. Calls run
    in real time, not on the Clock.
    """
    settings = PortalSettings.from_environment()
    if settings.portals is None:
        raise ValueError("PLIMSOLL_RESIZE_CARRIER=portal needs PLIMSOLL_PORTALS")
    return PortalCarrier(settings.read(), rows, settings.limits())
