"""The systems that the orchestrator calls: the portals of regions, and the receiver of shifts of traffic.

A portal answers the calls that a resize needs, as the real one does. Some orders are refused with 409, and some calls
reach the systems twice, as over a proxy that repeats them.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from soak.history import Json, Recorder
from soak.systems import Order, Systems, reservation_place, traffic_place
from soak.unreliable import TIMEOUT_S, UnreliableServer
from soak.world import SECRET, is_ours

TOKEN = "a-token-of-the-soak-alone"  # noqa: S105  # for a server on loopback that lives for minutes
_TRAFFIC, _PORTALS = "/traffic", "/portals/"
_STALE, _CONFLICT, _TWICE = 0.05, 0.04, 0.1
"""Share of calls that answer 409 and mean nothing, of orders that answer 409 and are refused, and of repeated calls."""
_EARLY = 0.5
"""Share of resizes whose capacity a reservation shows before it is there."""
_PHASES = {"under way": "assessing", "done": "granted", "failed": "rejected", "replaced": "withdrawn"}


class SystemsServer(UnreliableServer):
    """The systems at one address."""

    of = "systems"

    def __init__(self, systems: Systems, recorder: Recorder) -> None:
        super().__init__(systems, recorder)
        self._systems = systems

    def environment(self, regions: Sequence[str], folder: Path) -> dict[str, str]:
        """Return the variables that lead the orchestrator here. Writes the file of portals."""
        token, portals = folder / "portal-token", folder / "portals.json"
        token.write_text(TOKEN)
        addresses = {one: {"url": f"{self.address}{_PORTALS}{one}", "token_file": str(token)} for one in regions}
        portals.write_text(json.dumps({"regions": addresses}))
        return {
            "PLIMSOLL_RESIZE_CARRIER": "portal",
            "PLIMSOLL_PORTALS": str(portals),
            "PLIMSOLL_PORTAL_TIMEOUT_S": str(TIMEOUT_S),
            "PLIMSOLL_SHIFT_CARRIER": "webhook",
            "PLIMSOLL_TRAFFIC_URL": f"{self.address}{_TRAFFIC}",
            "PLIMSOLL_TRAFFIC_SECRET": SECRET,
            "PLIMSOLL_TRAFFIC_TIMEOUT_S": str(TIMEOUT_S),
        }

    def allows(self, call: BaseHTTPRequestHandler, body: bytes) -> bool:
        """See UnreliableServer."""
        if call.path == _TRAFFIC:
            return is_ours(call, body)
        return call.headers.get("Authorization") == f"Bearer {TOKEN}"

    def answer(self, method: str, path: str, key: str, body: bytes) -> tuple[int, Json]:
        """See UnreliableServer."""
        twice = method == "POST" and self._systems.luck("twice", key) < _TWICE
        for _ in range(1 + twice):
            found = self._shift(key, body) if path == _TRAFFIC else self._portal(method, path, key, body)
        return found

    def _shift(self, key: str, body: bytes) -> tuple[int, Json]:
        asked = json.loads(body)
        place = traffic_place(asked["product"], asked["from_region"], asked["to_region"])
        order = self._systems.order(key, place, asked["share"])
        if order is None or self._refuses(order) or order.state in ("failed", "replaced"):
            said = "a later attempt has begun" if order is None else f"it could not: {order.state}"
            return 409, {"message": said}
        return (200 if order.state == "done" else 202), {"message": order.state}

    def _portal(self, method: str, path: str, key: str, body: bytes) -> tuple[int, Json]:
        parts = urlsplit(path)
        region, _, rest = parts.path.removeprefix(_PORTALS).partition("/v1/")
        if rest == "reservations":
            return 200, {"items": [self._reservation(reservation_place(region, parse_qs(parts.query)["name"][0]))]}
        if method == "GET":
            order = self._systems.find(int(rest.rpartition("/")[2]))
            return (404, {"code": "not_found"}) if order is None else (200, _request(order))
        if self._systems.luck("stale", f"{key} {self._calls}") < _STALE:
            return 409, {"code": "stale_generation", "detail": "the reservation has changed meanwhile"}
        asked = json.loads(body)
        place = reservation_place(region, asked["reservation"])
        order = self._systems.order(key, place, asked["spec"]["capacity_rru"])
        if order is None or self._refuses(order):
            return 409, {"code": "conflict", "detail": "another request is open"}
        return 201, _request(order)

    def _refuses(self, order: Order) -> bool:
        """Return whether an order is refused with 409. It is then never done."""
        if self._systems.luck("conflict", order.key) >= _CONFLICT:
            return False
        return order.state == "failed" or self._systems.refuse(order)

    def _reservation(self, place: tuple[str, ...]) -> Json:
        order, rru, ready = self._systems.under_way(place), self._systems.rru(place), "True"
        if order is not None and self._systems.luck("early", order.key) < _EARLY:
            rru, ready = order.value, "False"
        return {
            "spec": {"capacity_rru": rru},
            "status": {"conditions": [{"type": "Ready", "status": ready, "message": "servers are to come"}]},
        }


def _request(order: Order) -> Json:
    told = {"phase": _PHASES[order.state], "message": f"it is {order.state}"}
    return {"capacity_request_id": order.number, "status": told}
