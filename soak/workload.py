"""Random work as owners, operators, health systems and allocators do it. Every change is one that can be judged."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from soak.caller import Caller
from soak.history import Json

_REQUEST_SHARE_MAX = 0.06
"""Of the region's servers in one reservation, at most."""
_REGIONS_MAX = 1
"""That one client brings in beside the first one."""


class Client:
    """Does one thing after the other until `over`. What it does follows from its seed and from what it is told."""

    def __init__(
        self,
        caller: Caller,
        *,
        region: str,
        names: Sequence[str],
        racks: Sequence[str],
        hardware_types: Sequence[str],
        region_files: Callable[[str], Mapping[str, Any]],
        seed: int,
    ) -> None:
        self._caller, self._region, self._random = caller, region, random.Random(seed)
        self._servers, self._racks, self._types, self._region_files = names, racks, hardware_types, region_files
        self._made = 0
        self._mine: dict[str, int] = {}  # name of a reservation -> the request that was last made for it
        self._open_events: list[int] = []
        self._regions = 0
        self._sent: list[tuple[Any, ...]] = []  # writes that were answered, to be sent again with the same key

    def run(self, over: threading.Event) -> None:
        """Work, with short pauses, until told to stop."""
        deeds: dict[Callable[[], None], int] = {
            self._create: 8,
            self._follow: 6,
            self._resize: 5,
            self._delete: 3,
            self._withdraw: 2,
            self._report: 2,
            self._mend: 2,
            self._use: 4,
            self._solve: 1,
            self._set_policy: 1,
            self._look: 3,
            self._send_again: 2,
            self._import: 1,
        }
        while not over.wait(self._random.expovariate(8.0)):
            [deed] = self._random.choices(list(deeds), list(deeds.values()))
            deed()

    def _write(self, *arguments: Any, **named: Any) -> Any:
        """As Caller.write, under a key that `_send_again` may use again; the body where it was done, else None."""
        named["key"] = f"{self._caller.name}-{self._random.getrandbits(64):016x}"
        answer = self._caller.write(*arguments, **named)
        if answer is None or not answer.done:
            return None
        if "files" not in named:
            self._sent = [*self._sent[-20:], (arguments, named)]
        return answer.body

    def _send_again(self) -> None:
        if self._sent:
            arguments, named = self._random.choice(self._sent)
            self._caller.write(*arguments, **named)

    def _create(self) -> None:
        self._made += 1
        name = f"{self._caller.name}-r{self._made}"
        spec = {
            "count": self._random.randint(1, max(1, int(len(self._servers) * _REQUEST_SHARE_MAX))),
            "hardware_types": self._random.sample(list(self._types), max(1, len(self._types) // 2)),
            "survives_msb_loss": self._random.random() < 0.5,
        }
        body = {"region": self._region, "name": name, "owner": self._caller.name, "spec": spec}
        made = self._write("create", "POST", "/v1/reservations", body)
        if made is not None:
            self._mine[name] = made["capacity_request_id"]

    def _request(self) -> Json | None:
        """One of my requests as it is now."""
        if not self._mine:
            return None
        name = self._random.choice(list(self._mine))
        answer = self._caller.read("get_request", f"/v1/capacity-requests/{self._mine[name]}")
        return answer.body if answer is not None and answer.done else None

    def _follow(self) -> None:
        request = self._request()
        if request is not None and request["reservation_id"] is not None:
            self._caller.read("get_reservation", f"/v1/reservations/{request['reservation_id']}")

    def _reservation(self) -> Json | None:
        """One of my reservations that is still there."""
        request = self._request()
        if request is None or request["reservation_id"] is None:
            return None
        answer = self._caller.read("get_reservation", f"/v1/reservations/{request['reservation_id']}")
        found = answer.body if answer is not None and answer.done else None
        return found if found is not None and found["deleted_at"] is None else None

    def _resize(self) -> None:
        found = self._reservation()
        if found is None:
            return
        body = {"spec": {"count": max(1, round(found["spec"]["capacity_rru"] * self._random.choice((0.5, 1.5, 2.0))))}}
        path = f"/v1/reservations/{found['reservation_id']}"
        made = self._write("resize", "PATCH", path, body, generation=found["generation"])
        if made is not None:
            self._mine[found["name"]] = made["capacity_request_id"]

    def _delete(self) -> None:
        found = self._reservation()
        if found is not None:
            path = f"/v1/reservations/{found['reservation_id']}"
            if self._write("delete", "DELETE", path, generation=found["generation"]) is not None:
                self._caller.read("get_reservation", path)

    def _withdraw(self) -> None:
        self._create()
        name = f"{self._caller.name}-r{self._made}"
        if name in self._mine:
            path = f"/v1/capacity-requests/{self._mine[name]}"
            answer = self._caller.read("get_request", path)
            if answer is not None and answer.done:
                self._write("withdraw", "DELETE", path, generation=answer.generation)

    def _report(self) -> None:
        rack = self._random.random() < 0.2
        scope_name = self._random.choice(self._racks if rack else self._servers)
        kind = self._random.choice(("planned", "unplanned"))
        body = {"region": self._region, "scope": "rack" if rack else "server", "scope_name": scope_name}
        made = self._write("open_event", "POST", "/v1/unavailability-events", body | {"kind": kind, "reason": "soak"})
        if made is not None:
            self._open_events.append(made["unavailability_event_id"])

    def _mend(self) -> None:
        if self._open_events:
            event = self._open_events.pop(self._random.randrange(len(self._open_events)))
            self._write("end_event", "POST", f"/v1/unavailability-events/{event}/end")

    def _use(self) -> None:
        found = self._reservation()
        if found is None:
            return
        servers = self._caller.read(
            "list_own_servers", f"/v1/reservations/{found['reservation_id']}/servers?limit=1000"
        )
        if servers is None or not servers.done or not servers.body["items"]:
            return
        chosen = self._random.sample(servers.body["items"], min(3, len(servers.body["items"])))
        changes = [
            {"server_id": server["server_id"], "generation": server["generation"], "in_use": not server["in_use"]}
            for server in chosen
        ]
        self._write("set_in_use", "PATCH", "/v1/servers", {"servers": changes})

    def _solve(self) -> None:
        self._write("solve", "POST", "/v1/solve-runs", {"region": self._region})

    def _set_policy(self) -> None:
        path = f"/v1/regions/{self._region}"
        answer = self._caller.read("get_region", path)
        if answer is not None and answer.done:
            policy = {"shared_buffer_share": self._random.choice((0.0, 0.02, 0.04))}
            self._write("set_policy", "PATCH", path, {"policy": policy}, generation=answer.generation)

    def _look(self) -> None:
        self._caller.read("list_servers", f"/v1/servers?region={self._region}&limit=1000")

    def _import(self) -> None:
        if self._regions >= _REGIONS_MAX:
            return
        self._regions += 1
        region = f"{self._caller.name}-g{self._regions}"
        path = f"/v1/regions/{region}"
        if self._write("import", "POST", f"{path}/import", files=self._region_files(region)) is not None:
            self._caller.read("export", f"{path}/export")
