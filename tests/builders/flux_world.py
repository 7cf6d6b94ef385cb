"""Plans, models and a ledger of Flux, made up, for pages that show them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta

import httpx
import numpy as np

from libs.domain.plan_run import PlanRunStatus, PlanTrigger
from libs.flux.planning import Planned, plan_world
from libs.interchange.world.service_models import service_models_document
from libs.store.planner.placement_plans import commit_placement_plan, load_target_plan_id
from libs.store.planner.plan_runs import create_plan_run, finish_plan_run, take_plan_run
from libs.store.planner.service_models import save_service_models
from libs.store.platform.database import Database
from services.planner.documents import plan_files, plan_summary
from tests.builders.world import random_world

REGIONS = ("ash", "bay", "cove", "dell", "elm")
PRODUCTS = ("feed", "search", "shop", "video")
HARDWARE = ("compute", "memory")


def made_up_plan(seed: int, *, services: int = 48, regions: int = len(REGIONS)) -> Planned:
    """Return a plan of a random world, with names that people can read."""
    words, models, inputs = random_world(seed, services=services, products=len(PRODUCTS), regions=regions)
    rng = np.random.default_rng(seed)
    named = [*REGIONS, *(f"region-{k:02d}" for k in range(len(REGIONS), regions))][:regions]
    words = replace(
        words,
        products=np.array(PRODUCTS, object),
        regions=np.array(named, object),
        hardware_types=np.array(HARDWARE, object),
        services=np.array([f"service-{k:02d}" for k in range(services)], object),
    )
    error = rng.gamma(2.0, 0.03, services)
    reasons = np.empty(services, object)
    reasons[:] = [("ModelError",) if one > 0.12 else () for one in error]
    return plan_world(words, replace(models, error=error, reasons=reasons), inputs)


def store_made_up_plan(database: Database, planned: Planned, *, now: datetime, models: bool = True) -> int:
    """Store a plan with its documents and models as the target. Return its id."""
    starts = [now + timedelta(weeks=k) for k in range(len(planned.solved.plan.step))]
    with database.write() as tx:
        create_plan_run(tx, trigger=PlanTrigger.SCHEDULE, now=now)
        run = take_plan_run(tx, window=(now - timedelta(days=7), now), now=now)
        assert run is not None
        plan_id = commit_placement_plan(
            tx,
            plan_run_id=run.plan_run_id,
            parent=load_target_plan_id(tx),
            committed=True,
            input_versions={},
            overrides=(),
            summary=plan_summary(planned, starts, 7 * 86_400.0),
            files=plan_files(planned),
            now=now,
        )
        if models:
            document = service_models_document(planned.words, planned.models)["services"]
            save_service_models(tx, run.plan_run_id, document)
        finish_plan_run(tx, run, PlanRunStatus.DONE, now=now, placement_plan_id=plan_id)
    return plan_id


def fill_flux(database: Database, operator: httpx.Client, *, now: datetime) -> None:
    """Store the plans of three weeks with their models, and events of the ledger around now."""
    for week in range(3):
        store_made_up_plan(database, made_up_plan(11 + week), now=now - timedelta(weeks=2 - week, hours=1))
    _propose(operator, now)


def _propose(operator: httpx.Client, now: datetime) -> None:
    """Propose events around now, of which some succeed, one fails, and one is under way."""

    def capacity(service: int, region: str, delta: float) -> dict[str, object]:
        name = f"service-{service:02d}"
        return {"kind": "capacity", "service": name, "region": region, "hardware_type": HARDWARE[0], "delta": delta}

    effects: list[tuple[float, dict[str, object]]] = [
        (-20, capacity(1, "ash", 30)),
        (-13, capacity(2, "bay", -12)),
        (-8, {"kind": "traffic", "product": "shop", "from_region": "ash", "to_region": "bay", "share": 0.05}),
        (-3, capacity(3, "cove", 18)),
        (-1, capacity(4, "dell", 9)),
        (4, capacity(5, "elm", 24)),
        (9, {"kind": "traffic", "product": "feed", "from_region": "cove", "to_region": "elm", "share": 0.1}),
        (16, capacity(1, "bay", -6)),
    ]
    events = [
        {
            "effect": effect,
            "writer": "budget" if k % 3 == 0 else "person",
            "reason": "launch of the new store",
            "starts_at": (now + timedelta(days=days)).isoformat(),
            "lead_time_h": 12.0 * (k % 5),
        }
        for k, (days, effect) in enumerate(effects)
    ]
    send: Callable[..., httpx.Response] = operator.post
    made = send("/v1/capacity-events", json={"events": events})
    assert made.is_success, made.text
    ids = made.json()["capacity_event_ids"]
    outcomes = ("succeeded", "succeeded", "succeeded", "failed", "active")
    for k, (number, outcome) in enumerate(zip(ids, outcomes, strict=False)):
        for verb, body in (("decide", {"status": "approved"}), ("decide", {"status": "active"})):
            _change(send, operator, number, verb, body)
        if outcome != "active":
            amount = effects[k][1].get("delta", effects[k][1].get("share"))
            body = {"status": outcome, "achieved": amount if outcome == "succeeded" else 0, "reason": "as measured"}
            _change(send, operator, number, "report", body)


def _change(
    send: Callable[..., httpx.Response], operator: httpx.Client, number: int, verb: str, body: dict[str, object]
) -> None:
    path = f"/v1/capacity-events/{number}"
    etag = operator.get(path).headers["ETag"]
    answer = send(f"{path}/{verb}", json=body, headers={"If-Match": etag})
    assert answer.is_success, answer.text
