"""Make a short lawful history as records; tests spoil it."""

from __future__ import annotations

import copy
from typing import Any

from soak.history import History

Json = dict[str, Any]
SPEC = {"capacity_rru": 2.0, "rru": {"hw-a": 1.0}, "survives_msb_loss": True}


def request(phase: str = "submitted", generation: int = 1, **fields: Any) -> Json:
    return {
        "capacity_request_id": 1,
        "kind": "create",
        "reservation": "web",
        "reservation_id": None if phase == "submitted" else 5,
        "reservation_generation": None,
        "owner": "ann",
        "requested_by": "ann",
        "spec": SPEC,
        "status": {"phase": phase},
        "generation": generation,
    } | fields


def server(number: int, msb: str, bound: str | None = "web", generation: int = 4, **fields: Any) -> Json:
    return {
        "server_id": number,
        "region": "soak",
        "name": f"server-{number}",
        "msb": msb,
        "hardware_type": "hw-a",
        "current_reservation": bound,
        "target_reservation": bound,
        "in_doubt_reservation": None,
        "in_use": False,
        "host_profile": "default",
        "unavailability": "none",
        "generation": generation,
    } | fields


def event(ended_at: str | None = None, generation: int = 1) -> Json:
    said = {"unavailability_event_id": 9, "scope": "server", "scope_name": "server-4", "starts_at": "2026-11-01"}
    return said | {"ends_at": None, "ended_at": ended_at, "generation": generation}


def reservation(deleted_at: str | None = None, generation: int = 1) -> Json:
    target = {"shortfall_rru": 0.0}
    return {
        "reservation_id": 5,
        "region": "soak",
        "name": "web",
        "owner": "ann",
        "spec": SPEC,
        "status": {"phase": "granted", "target": target},
        "deleted_at": deleted_at,
        "generation": generation,
    }


def shared_buffer() -> Json:
    """Return a shared buffer of one server."""
    spec = SPEC | {"capacity_rru": 1.0, "survives_msb_loss": False}
    told = {"reservation_id": 6, "name": "shared-buffer-hw-a", "kind": "shared_buffer", "owner": "plimsoll"}
    return reservation() | told | {"spec": spec}


def move(number: int, to: str | None = "web", *steps: str) -> Json:
    history = [{"step": step, "outcome": "done"} for step in steps or ("join",)]
    about = {"move_id": number, "region": "soak", "server": f"server-{number}", "to_reservation": to, "step": "join"}
    about |= {"steps": ["join"], "dead_letter": None, "generation": 2}
    return about | {"status": "done", "attempt": 1, "history": history}


def approval(status: str = "approved", generation: int = 2) -> Json:
    said = {"approval_id": 6, "causes": [], "status": status, "change": {}, "decided_by": "ann"}
    return said | {"generation": generation}


def plan(number: int, parent: int | None, kind: str = "solve") -> Json:
    return {"plan_id": number, "region": "soak", "parent_plan_id": parent, "kind": kind, "capacity_request_id": 1}


def job(status: str, error: str | None = None) -> Json:
    return {"job_id": 1, "kind": "move", "subject": "soak", "status": status, "error": error, "attempts": 5}


class Records:
    """Records under construction."""

    def __init__(self) -> None:
        self.records: list[Json] = []
        self._op, self._at_s = 0, 0.0

    def op(self, what: str, method: str, path: str, *answers: Any, **fields: Any) -> int:
        """Add one operation. An answer is (status, body), (status, body, True) for a replay, or None for a lost one."""
        self._op += 1
        call = {"client": "ann", "what": what, "method": method, "path": path, "key": None, "generation": None}
        call |= {"body": None} | fields
        for attempt, answer in enumerate(answers):
            self._add("call", op=self._op, attempt=attempt, **call)
            if answer is None:
                self._add("lost", op=self._op, attempt=attempt, error="ReadError")
            else:
                status, body, *replayed = answer
                said = {"status": status, "body": body, "generation": None, "replayed": bool(replayed)}
                self._add("answer", op=self._op, attempt=attempt, **said)
        return self._op

    def world(self, move: int, server: int, step: str, *, of: str | None = None, to: str | None = None) -> None:
        """Add a true action on a server."""
        about = {"region": "soak", "server": f"server-{server}", "move_id": move, "step": step, "attempt": 1}
        self._add("world", **about, from_reservation=of, to_reservation=to, by="receiver")

    def held(self, job: Json, *, since_sent_s: float) -> None:
        """Add a job in the database whose lease is over."""
        self._add("held", jobs=[job], since_sent_s=since_sent_s)

    def final(self, **fields: Any) -> None:
        self._add("final", **fields)

    def _add(self, kind: str, **record: Any) -> None:
        """Add a record. If the end is written already, it stays last."""
        ended = self.records.pop() if self.records and self.records[-1]["type"] == "final" else None
        self._at_s += 1.0
        self.records.append(copy.deepcopy({"type": kind, "at_s": self._at_s, **record}))
        if ended is not None:
            self._at_s += 1.0
            ended["at_s"] = self._at_s
            self.records.append(ended)


def entry(action: str, noun: str, subject: int) -> Json:
    return {"actor": "ann", "action": action, "subject_kind": noun, "subject_id": subject}


def well() -> Records:
    """Return a lawful history: a create with a lost first answer, an ended event, a set in_use, all read back."""
    told = Records()
    told.op("create", "POST", "/v1/reservations", None, (202, request(), True), key="k1", body={"name": "web"})
    told.op("get_request", "GET", "/v1/capacity-requests/1", (200, request("granted", 3)))
    told.op("open_event", "POST", "/v1/unavailability-events", (201, event()), key="k2", body={})
    told.op("end_event", "POST", "/v1/unavailability-events/9/end", (200, event("2026-11-02", 2)), key="k3")
    changes = {"servers": [{"server_id": 1, "generation": 3, "in_use": True}]}
    items = {"items": [server(1, "msb-0", in_use=True)]}
    told.op("set_in_use", "PATCH", "/v1/servers", (200, items), key="k4", body=changes)
    told.op("list_servers", "GET", "/v1/servers", (200, items))
    body = {"resourceSpans": [{"resource": {"attributes": [{"value": {"stringValue": "ann-service"}}]}}]}
    body["resourceSpans"][0]["scopeSpans"] = [{"spans": [{}, {}]}]
    told.op("export_spans", "POST", "/v1/traces", (200, {}), body=body)
    usage = "minute,service,region,hardware_type,used\n1,ann-service,soak,hw-a,2.0\n"
    told.op("report_usage", "POST", "/v1/usage", (200, {"samples": 1}), key="k5", body=usage)
    for number in (1, 2, 3):
        told.world(number, number, "join", to="web")
    told.final(
        quiet_s=1.0,
        waits_for="",
        jobs=[],
        approvals=[approval()],
        plans=[plan(2, None), plan(3, 2)],
        grants=[plan(1, None, "grant") | {"made": [{"server": "server-1", "from_reservation": None}]}],
        traced_services=[{"name": "ann-service", "spans": 2}],
        telemetry=[{"usage": {"series": 1}}],
        regions=[{"name": "soak", "policy": {}, "target_plan_id": 3, "generation": 1}],
        capacity_requests=[request("granted", 3)],
        reservations=[reservation(), shared_buffer()],
        events=[event("2026-11-02", 2)],
        servers=[
            server(1, "msb-0", in_use=True),
            server(2, "msb-1"),
            server(3, "msb-2"),
            server(4, "msb-2", None),
            server(5, "msb-2", "shared-buffer-hw-a"),
        ],
        moves=[move(1), move(2), move(3)],
        audit=[
            entry("submit", "capacity_request", 1),
            entry("open", "unavailability_event", 9),
            entry("end", "unavailability_event", 9),
            entry("set_in_use", "server", 1),
        ],
    )
    return told


def history(records: Records) -> History:
    return History.of(records.records)


def late(told: Records, what: str, path: str, status: int, answer: Json, **fields: Any) -> None:
    """Add an answer that a client got just before the end."""
    told.op(what, "GET", path, (status, answer), **fields)


def swap(told: Records, key: str, generation: int) -> None:
    """Add an approval given on a generation."""
    body = approval("approved", generation + 1)
    told.op("approve", "POST", "/v1/approvals/6/approve", (200, body), key=key, generation=generation)


def saw_grant(told: Records, taken_from: str | None) -> None:
    """Add a client's look at the result of a grant, in a run without an end."""
    told.records.pop()
    told.op("list_grants", "GET", "/v1/plans", (200, {"items": [plan(1, None, "grant")]}))
    items = {"items": [{"server": "server-1", "from_reservation": taken_from}]}
    told.op("list_changes", "GET", "/v1/plans/1/changes", (200, items))


def deleted(told: Records) -> None:
    """Add an acknowledged delete just before the end."""
    answer = request("granted", 5, kind="delete", capacity_request_id=2, reservation_id=5)
    late(told, "delete", "/v1/reservations/5", 202, answer, key="k9", generation=1)


def resized_in_a_window(told: Records, end: Json, *, times: int) -> None:
    """Add a resized reservation that begins later: its request then shows the accepted capacity."""
    end["reservations"][0]["spec"] = SPEC | {"starts_at": "2026-11-03"}
    resize = {"kind": "resize", "reservation_id": 5, "reservation_generation": 2}
    answer = request("submitted", 1, capacity_request_id=2, **resize | {"reservation_generation": 1})
    late(told, "resize", "/v1/reservations/5", 202, answer, key="k9", generation=1)
    for number in range(times):
        end["capacity_requests"].append(request("granted", 4, capacity_request_id=2 + number, **resize))
    end["audit"].append(entry("submit", "capacity_request", 2))
