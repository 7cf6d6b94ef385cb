"""Existing objects for requests that need one."""

from __future__ import annotations

import io
import itertools
from collections.abc import Callable, Iterator

import httpx

from libs.interchange.inventory.inventory import dump_inventory
from libs.interchange.inventory.servers_csv import load_csv

REGION, OWNER = "west", "team"
"""Names that the examples of the API document use."""
_HEADER = "server,datacenter,msb,rack,hardware_type\n"


def nothing() -> None:
    """Do nothing: the default if workers run."""


class Seeds:
    """Makes or finds an existing object for the path parameters of an operation."""

    def __init__(
        self, client: httpx.Client, *, assess: Callable[[], None] = nothing, placement_plan_id: int = 1
    ) -> None:
        """Set the client, which may do everything. `assess` decides open requests if no worker runs."""
        self._client, self._assess, self._number = client, assess, itertools.count()
        self._placement_plan_id = placement_plan_id
        self._hardware_type = str(self._first("hardware-types", "name"))

    def parameters(self, path: str, names: list[str]) -> dict[str, object]:
        """Return path parameters of an existing object; none if no method makes such an object."""
        noun = path.split("/")[2] if path.count("/") > 1 else ""
        make = getattr(self, "_" + noun.replace("-", "_"), None)
        if make is None or not names:
            return {}
        made = make()
        found = dict(zip(names, made, strict=True)) if isinstance(made, tuple) else dict.fromkeys(names, made)
        return found | {name: made for name, made in self._beside(path) if name in names}

    def _beside(self, path: str) -> Iterator[tuple[str, object]]:
        """Yield the second parameter of a path."""
        if "{import_id}" in path:
            yield "import_id", self._imports()
        if path.endswith("/pictures/{name}.svg"):
            yield "name", "pools"
        if "{position}" in path:
            yield "position", 0

    def _capacity_requests(self) -> int:
        return _id(self._client.post("/v1/capacity-requests", json=self._create("asked")), "capacity_request_id")

    def _simulations(self) -> int:
        body = {"region": REGION, "demand": [{"scale": 1.2}]}
        return _id(self._client.post("/v1/simulations", json=body), "simulation_id")

    def _reservations(self) -> object:
        made = _id(self._client.post("/v1/capacity-requests", json=self._create("held")), "capacity_request_id")
        self._assess()
        found = self._client.get(f"/v1/capacity-requests/{made}")
        return _id(found, "reservation_id", 0) or self._first("reservations", "reservation_id")

    def _tokens(self) -> int:
        body = {"name": f"t-{next(self._number)}", "role": "requester"}
        return _id(self._client.post("/v1/tokens", json=body), "token_id")

    def _approvals(self) -> int:
        share = next(self._number) / 1000 + 0.001
        body = {"policy": {"shared_buffer_share": share}}
        match = {"If-Match": self._client.get(f"/v1/regions/{REGION}").headers["etag"]}
        return _id(self._client.patch(f"/v1/regions/{REGION}", json=body, headers=match), "approval_id")

    def _quotas(self) -> tuple[str, str]:
        return REGION, OWNER

    def _regions(self) -> str:
        return REGION

    def _hardware_types(self) -> str:
        return self._hardware_type

    def _servers(self) -> object:
        return self._first("servers", "server_id")

    def _plans(self) -> object:
        return self._first("plans", "plan_id")

    def _unavailability_events(self) -> object:
        server = self._first("servers", "name")
        body = {"region": REGION, "scope": "server", "scope_name": server, "kind": "planned", "reason": "test"}
        return _id(self._client.post("/v1/unavailability-events", json=body), "unavailability_event_id")

    def _imports(self) -> object:
        content = dump_inventory(load_csv(io.BytesIO(f"{_HEADER}x,d,m,r,{self._hardware_type}\n".encode()), "a.csv"))
        made = self._client.post(f"/v1/regions/{REGION}/imports", files={"servers": ("servers.parquet", content)})
        return _id(made, "import_id")

    def _retirements(self) -> object:
        found = self._client.get("/v1/retirements", params={"status": "announced"}).json()["items"]
        if found:
            return found[0]["retirement_id"]
        body = {
            "region": REGION,
            "scope": "rack",
            "scope_name": self._first("servers", "rack"),
            "kind": "decommission",
            "reason": "test",
        }
        made = self._client.post("/v1/retirements", json=body | {"due_at": "2100-01-01T00:00:00Z"})
        return _id(made, "retirement_id")

    def _planning_inputs(self) -> str:
        return "traffic_growth"

    def _plan_runs(self) -> int:
        return _id(self._client.post("/v1/plan-runs", json={"reason": "test"}), "plan_run_id")

    def _placement_plans(self) -> int:
        return self._placement_plan_id

    def _plan_executions(self) -> object:
        body = {"placement_plan_id": self._placement_plan_id, "reason": "test"}
        made = self._client.post("/v1/plan-executions", json=body)
        if made.status_code == 201:
            return made.json()["plan_execution_id"]
        return self._first("plan-executions", "plan_execution_id")

    def _plan_overrides(self) -> int:
        body = {"kind": "presence", "subject": "feed", "region": "east", "least": 0.0, "reason": "test"}
        return _id(self._client.post("/v1/plan-overrides", json=body), "plan_override_id")

    def _capacity_events(self) -> int:
        """Make an active event: its decisions and reports are possible."""
        where = {"kind": "capacity", "service": f"s{next(self._number)}", "region": "east", "hardware_type": "compute"}
        event = {"effect": where | {"delta": 1.0}, "writer": "person", "reason": "test"}
        body = {"events": [event | {"starts_at": "2100-01-01T00:00:00Z"}]}
        made = self._client.post("/v1/capacity-events", json=body).json()["capacity_event_ids"][0]
        for generation, status in enumerate(("approved", "active"), 1):
            match = {"If-Match": f'"{generation}"'}
            self._client.post(f"/v1/capacity-events/{made}/decide", json={"status": status}, headers=match)
        return int(made)

    def _metric_sources(self) -> str:
        name = f"s{next(self._number)}"
        body = {"fills": "traffic", "query": "up", "labels": {"product": "product", "region": "region"}}
        self._client.put(f"/v1/metric-sources/{name}", json=body, headers={"If-Match": '"0"'})
        return name

    def _create(self, name: str) -> dict[str, object]:
        rru = {self._hardware_type: 1}
        spec = {"capacity_rru": 1, "rru": rru, "survives_msb_loss": False}
        about = {"kind": "create", "region": REGION, "owner": OWNER, "reservation": f"{name}-{next(self._number)}"}
        return about | {"spec": spec}

    def _first(self, noun: str, key: str) -> object:
        items = self._client.get(f"/v1/{noun}", params={"limit": 1}).json()["items"]
        return items[0][key] if items else 1


def _id(answer: httpx.Response, key: str, otherwise: int = 1) -> int:
    """Return the id of the object made; `otherwise`, which may exist, if it could not be made."""
    return int(answer.json().get(key) or otherwise)
