"""A carrier of resizes: it asks the portal of the action's region to resize a reservation, and waits until it is Ready.

So quotas, approvals and the judge of that region apply, as to every other request.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlencode

import orjson
from pydantic import BaseModel, ConfigDict, Field, HttpUrl, ValidationError, model_validator

from libs.carriers.answers import ABOUT_THE_CALL
from libs.carriers.calls import CallLimits, Calls, Reply, work_off
from libs.carriers.carrier import Carrier
from libs.domain.action_outcome import ActionRequest, Answer, Outcome
from libs.domain.service_reservation import ServiceReservation
from libs.flux.reservation_sizes import ReservationTable
from libs.reconcile.environment import Settings
from libs.reconcile.outgoing import require_encrypted

_SAME = 1e-6
"""Relative difference of two capacities below which they are the same."""
_POLL_S = 10.0
_OPEN = frozenset({"submitted", "assessing", "awaiting_approval", "scheduled"})


class PortalAddress(BaseModel):
    """The portal of a region, and the file that holds a token for it."""

    model_config = ConfigDict(extra="forbid")
    url: HttpUrl
    token_file: Path
    http_allowed: bool = False

    @model_validator(mode="after")
    def _encrypted(self) -> Self:
        require_encrypted(str(self.url), plain_allowed=self.http_allowed, setting="http_allowed of this portal")
        return self


class Portals(BaseModel):
    """The file that PLIMSOLL_PORTALS names: region -> its portal."""

    model_config = ConfigDict(extra="forbid")
    regions: dict[str, PortalAddress]


class PortalSettings(Settings):
    """The file of portals, and the limits on calls."""

    portals: Path = Field(validation_alias="PLIMSOLL_PORTALS")
    portal_ca: Path | None = Field(default=None, validation_alias="PLIMSOLL_PORTAL_CA")
    portal_timeout_s: float = Field(default=10.0, gt=0, le=300, validation_alias="PLIMSOLL_PORTAL_TIMEOUT_S")

    def read(self) -> Portals:
        """Return the content of the file. Raises ValueError that names the file and the field."""
        try:
            return Portals.model_validate_json(self.portals.read_bytes())
        except (OSError, ValidationError) as error:
            raise ValueError(f"{self.portals} (PLIMSOLL_PORTALS): {error}") from error


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
            token = portal.token_file.read_text().strip()
        except OSError as error:
            return _unknown(f"the token cannot be read: {error}")
        return await _Resize(calls, str(portal.url).rstrip("/"), token, found, request).answer()


class _Resize:
    """One request about one reservation."""

    def __init__(self, calls: Calls, url: str, token: str, found: ServiceReservation, request: ActionRequest) -> None:
        self._calls, self._url, self._name, self._request = calls, url, found.reservation, request
        self._headers = {"Authorization": f"Bearer {token}", "User-Agent": "plimsoll-orchestrator"}
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
        phase, message = str(reply.document.get("phase")), str(reply.document.get("message") or "")
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
    settings = PortalSettings()  # type: ignore[call-arg]  # from the environment
    limits = CallLimits(timeout_s=settings.portal_timeout_s, ca=settings.portal_ca)
    return PortalCarrier(settings.read(), rows, limits)
