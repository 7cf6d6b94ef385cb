"""A platform with something on every page: reservations that are whole, short and on their way, failures, a change that
waits for an approval, and some hours of history. `scripts/pages-shots` shows the same world.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import numpy as np

from libs.actuators.simulated import SimulatedActuator, SimulatedSettings
from libs.domain.domain_kind import DomainKind
from libs.domain.execution_plan import Action, Phase
from libs.domain.gate import Gate, GateTime
from libs.domain.policy import RegionPolicy
from libs.domain.region_image import RegionImage
from libs.interchange.region.write import dump_region
from libs.ras.waves.report import foretell
from libs.simulator.fleet import made_up_fleet
from libs.store.fleet.regions import load_region
from libs.store.fleet.snapshot import load_fleet_snapshot
from libs.store.moves.exceptions import settle_exceptions
from libs.store.moves.moving_state import load_moving_state
from tests.builders.executed_plan import Orchestrator
from tests.builders.execution import TERMS, two_products
from tests.builders.flux_world import fill_flux
from tests.builders.one_process import Platform, SteppedClock, one_process
from tests.builders.rollout import compare

REGION, QUIET = "west", "east"
ROLLOUTS = "/v1/policy-rollouts"
BEGAN = datetime(2026, 11, 20, 6, tzinfo=UTC)
RRU = {
    "c5.metal": 1.0,
    "i3.metal": 1.0,
    "m5.metal": 1.2,
    "m5zn.metal": 1.1,
    "m6g.metal": 1.5,
    "r5.metal": 1.1,
    "x2gd.metal": 1.2,
    "z1d.metal": 1.0,
}
"""Worth of a server of each type to all reservations."""
_FIRST_S = (*(300.0,) * 12, 9 * 3600.0, *(300.0,) * 40)
_SECOND_S = (300.0, 300.0, 300.0, 5000.0, 300.0, 300.0)
"""Seconds between ticks of the executions of plans. In the long one of the first, nothing runs."""


@dataclass(frozen=True)
class PagesWorld:
    """The platform, and the tokens of its people.

    owner        may ask for the owners search and ads
    executions   ids of executions of plans: `done`, and `moving` with a held shift
    """

    platform: Platform
    admin: str
    operator: str
    owner: str
    viewer: str
    executions: dict[str, int]

    def client(self, token: str) -> httpx.Client:
        """Return a client of the API with a token."""
        return httpx.Client(base_url=self.platform.url, headers={"Authorization": f"Bearer {token}"}, timeout=60)

    def live(self, minutes: int) -> None:
        """Let some minutes pass."""
        for _ in range(minutes):
            self.platform.clock.skip(60)
            self.platform.tick()

    def ask_below_promise(self) -> None:
        """Ask for the approval of an exchange between index and batch, as the commit of a plan does. The next solve
        supersedes it.

        No server is free, and neither survives the loss of an MSB, so each has to give a server before it gets one.
        This snapshot knows of no grants, so batch counts as granted.
        """
        with self.platform.database.snapshot() as tx:
            snapshot, state = load_fleet_snapshot(tx, REGION), load_moving_state(tx, REGION)
        servers, target = snapshot.servers, snapshot.servers.target.copy()
        rows = [int(np.flatnonzero(snapshot.reservations.name == name)[0]) for name in ("index", "batch")]
        there = [np.flatnonzero((target == r) & (servers.current == r) & servers.available)[0] for r in rows]
        target[there] = rows[::-1]
        exceptions = foretell(snapshot, target, state).exceptions
        assert exceptions is not None
        with self.platform.database.write() as tx:
            region_id, now = load_region(tx, REGION).region_id, self.platform.clock.now()
            plan_id = snapshot.target_plan_id
            settle_exceptions(tx, region_id, exceptions, plan_id=plan_id, actor="solver", reason=None, now=now)


@contextmanager
def pages_world(database_url: str, home: Path, *, servers: int = 240) -> Iterator[PagesWorld]:
    """Yield the platform over an empty, migrated or unmigrated database."""
    clock = SteppedClock(BEGAN - timedelta(seconds=sum(_FIRST_S) + sum(_SECOND_S)))
    simulated = SimulatedActuator(clock, SimulatedSettings.model_validate({"PLIMSOLL_SIMULATED_FAILURE_RATE": 0}))
    with one_process(database_url, home, clock, simulated) as (platform, admin):
        yield _filled(platform, admin, servers)


def with_blocks(image: RegionImage, blocks: int = 8) -> RegionImage:
    """Return the region with network blocks, which cross its MSBs."""
    servers, topology = image.snapshot.servers, image.snapshot.topology
    kind = DomainKind(name="network_block", domains=np.array([f"block-{k:02d}" for k in range(blocks)], object))
    domain = (np.arange(len(servers), dtype=np.int32) // 5 % blocks)[:, None]
    snapshot = replace(
        image.snapshot, servers=replace(servers, domain=domain), topology=replace(topology, kinds=(kind,))
    )
    return replace(image, snapshot=snapshot)


def _filled(platform: Platform, admin: str, servers: int) -> PagesWorld:
    http = httpx.Client(base_url=platform.url, headers={"Authorization": f"Bearer {admin}"}, timeout=60)

    def write(method: str, path: str, body: object = None, **headers: str) -> httpx.Response:
        answer = http.request(method, path, json=body, headers=headers)
        assert answer.is_success, answer.text
        return answer

    def token(name: str, role: str, owners: tuple[str, ...] = ()) -> str:
        return str(write("POST", "/v1/tokens", {"name": name, "role": role, "owners": owners}).json()["secret"])

    def ask(name: str, owner: str, capacity_rru: float, **spec: object) -> None:
        body = {"region": REGION, "name": name, "owner": owner}
        write("POST", "/v1/reservations", {**body, "spec": {"capacity_rru": capacity_rru, "rru": RRU, **spec}})

    moving, executions = _executions(platform)
    policy = RegionPolicy(buffer_cost=1.0, spread_cost=0.5, shared_buffer_share=0.02)
    for name, count in ((REGION, servers), (QUIET, 24)):
        image = with_blocks(made_up_fleet(name, servers=count, datacenters=3, msbs=6, seed=7, policy=policy))
        files = {file.partition(".")[0]: (file, content) for file, content in dump_region(image).items()}
        answer = http.post(f"/v1/regions/{name}/import", files=files)
        assert answer.is_success, answer.text
    world = PagesWorld(
        platform,
        admin,
        operator=token("olga", "operator"),
        owner=token("ann", "requester", ("search", "ads")),
        viewer=token("vic", "viewer"),
        executions=executions,
    )
    ask("web", "search", 24, gbit_per_rru=3)
    ask("index", "search", 30, survives_msb_loss=False)
    ask("ads/serving", "ads", 18)
    world.live(20)
    ask("batch", "ads", 240, survives_msb_loss=False)  # more than is free, so it is short
    world.live(2)
    limits = {"size_cost_units": 40, "four_eyes": True}
    write("PUT", f"/v1/regions/{REGION}/approval-limits", limits, **{"If-Match": '"0"'})
    with world.client(world.owner) as owner:
        body = {"region": REGION, "name": "crawl", "owner": "search", "reason": "the crawler grows next week"}
        answer = owner.post("/v1/reservations", json={**body, "spec": {"capacity_rru": 60, "rru": RRU}})
        assert answer.is_success, answer.text
    world.live(20)
    held = http.get("/v1/servers", params={"region": REGION, "current_reservation": "web", "limit": 4}).json()["items"]
    for server in held[:2]:
        event = {"region": REGION, "scope": "server", "scope_name": server["name"], "kind": "unplanned"}
        write("POST", "/v1/unavailability-events", event | {"reason": "disk"})
    for server in held[2:]:
        generation = f'"{server["generation"]}"'
        write("PATCH", f"/v1/servers/{server['server_id']}", {"in_use": True}, **{"If-Match": generation})
    world.live(3)
    write("POST", "/v1/solve-runs", {"region": REGION})
    world.live(2)
    _maintain(http, write)
    uplinks = {"limits": {}, "others_gbit": 12, "reason": "the switches of 2027"}
    write("PUT", f"/v1/regions/{REGION}/uplinks", uplinks, **{"If-Match": '"0"'})
    for change in ({"lose": [{"scope": "msb", "name": "msb-01"}]}, {"demand": [{"reservation": "web", "scale": 1.25}]}):
        write("POST", "/v1/simulations", {"region": REGION} | change)
    world.platform.tick()
    for owner, limit in (("search", 600), ("ads", 400)):
        body = {"limit_cost_units": limit, "reason": "budget of 2027"}
        write("PUT", f"/v1/quotas/{REGION}/{owner}", body, **{"If-Match": '"0"'})
    kind = "/v1/hardware-types/c5.metal"
    write("PUT", kind, {"attributes": {"vcpu": 96, "memory_gb": 192, "watts": 410}}, **{"If-Match": '"1"'})
    write("PUT", f"{kind}/cost-units", {"cost_units": 1.1, "reason": "prices of 2027"}, **{"If-Match": '"2"'})
    write("DELETE", f"/v1/tokens/{write('POST', '/v1/tokens', {'name': 'ci', 'role': 'viewer'}).json()['token_id']}")
    write("POST", f"/v1/movers/{QUIET}/pause", {"reason": "power work until Monday"})
    for _ in range(2):  # read the gates again, and judge them
        moving.tick(0.0)
    fill_flux(platform.database, http, now=platform.clock.now())
    _roll_out(platform, http, write)
    world.ask_below_promise()
    http.close()
    return world


def _executions(platform: Platform) -> tuple[Orchestrator, dict[str, int]]:
    """Carry out plans until BEGAN: one to its end, and one until a gate holds a shift and an action needs approval."""
    done = Orchestrator(platform.database, platform.clock)
    first = done.start()
    for seconds in _FIRST_S:
        done.tick(seconds)
    second = Orchestrator(platform.database, platform.clock, _needs_approval(two_products()))
    gates = (
        Gate(name="errors", time=GateTime.FRACTION, query='rate(errors{product="{product}"}[5m])', most=0.01),
        Gate(name="latency", time=GateTime.FRACTION, query='p99(latency{product="{product}"})', most=0.3),
    )
    moving = second.start(replace(TERMS, gates=gates))
    second.world.value = lambda one: 0.04 if one.action.product == "feed" and "errors" in one.query else 0.004
    for seconds in _SECOND_S:
        second.tick(seconds)
    return second, {"done": first, "moving": moving}


def _needs_approval(actions: tuple[Action, ...]) -> tuple[Action, ...]:
    """Return the actions, of which each downsize in the east needs an approval."""
    return tuple(
        replace(one, approval=("NotAutomated",)) if one.phase is Phase.DOWNSIZE and one.region == "east" else one
        for one in actions
    )


def _roll_out(platform: Platform, http: httpx.Client, write: Callable[..., httpx.Response]) -> None:
    """Take a policy of the region back in shadow, and compare the solves so far with another one."""

    def start(policy: dict[str, float], reason: str) -> dict[str, int]:
        generation = http.get(f"/v1/regions/{REGION}").json()["generation"]
        body = {"region": REGION, "policy": policy, "reason": reason}
        made: dict[str, int] = write("POST", ROLLOUTS, body, **{"If-Match": f'"{generation}"'}).json()
        return made

    first = start({"spread_cost": 0.9}, "two MSBs are nearly full")
    path = f"{ROLLOUTS}/{first['policy_rollout_id']}/back"
    write("POST", path, {"reason": "a rack comes instead"}, **{"If-Match": f'"{first["generation"]}"'})
    second = start({"buffer_cost": 2, "spread_cost": 0.75}, "buffers grew by a tenth")
    runs = http.get("/v1/solve-runs", params={"region": REGION}).json()["items"]
    compare(platform.database, second["policy_rollout_id"], runs[::-1], now=platform.clock.now())


def _maintain(http: httpx.Client, write: Callable[..., httpx.Response]) -> None:
    """Let maintenance of one spare server begin, and that of one of another MSB wait for its end."""
    servers = http.get("/v1/servers", params={"region": REGION, "limit": 1000}).json()["items"]
    spare = [one for one in servers if (one["current_reservation"] or "").startswith("shared-buffer-")]
    first = next(one for one in spare if one["unavailability"] == "none")
    other = next(one for one in spare if one["msb"] != first["msb"])
    for server, reason in ((first, "new firmware"), (other, "new power supply")):
        event = {"region": REGION, "scope": "server", "scope_name": server["name"], "kind": "planned"}
        write("POST", "/v1/unavailability-events", event | {"reason": reason})
