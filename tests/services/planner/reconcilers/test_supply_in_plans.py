"""The supply of a world's region comes from the platform, if the region is one of its own."""

from datetime import timedelta

import pytest

from libs.domain.capacity_event import EventChange, EventStatus
from libs.domain.execution_plan import Phase
from libs.domain.plan_run import PlanRunStatus
from libs.domain.reservation import ReservationSpec
from libs.domain.retirement import RetirementKind, RetirementScope
from libs.store.fleet.retirements import announce_retirement
from libs.store.ledger.changes import change_events
from libs.store.ledger.proposals import propose_events
from services.broker.api import region_supply
from services.cli.flux.offline import make_plan
from tests.builders.granted import ask as ask_portal
from tests.builders.ledger import resize
from tests.builders.planning_inputs import put, put_world
from tests.builders.region import region_image
from tests.builders.stored import stored
from tests.services.planner.conftest import DAY_ZERO, FixedClock, look

WINDOW_END = DAY_ZERO + timedelta(2)
BUFFER = ReservationSpec(capacity_rru=2, rru={"hw-a": 1.0}, survives_msb_loss=False)


@pytest.fixture
def supply(client, planner, ask, world):
    """A function that makes a plan, and returns its supply of compute by step in a region."""

    def supply(region):
        run = ask()
        assert planner().reconcile() is PlanRunStatus.DONE
        found = make_plan(type(world)(look(client, run)["bundle"]))
        h, r = found.words.hardware_types.tolist().index("compute"), found.words.regions.tolist().index(region)
        return found.inputs.supply[:, h, r].tolist()

    return supply


def test_a_region_of_the_platform_says_what_it_has(client, world, database, supply):
    put_world(client, world)
    by_hand = supply("west")
    stored(database, region_image("east", reservations={"buffer": BUFFER}, kind={"buffer": "shared_buffer"}))
    assert put(client, "server_units", [{"server_type": "hw-a", "hardware_type": "compute", "units": 2.5}]).json()[
        "rows"
    ]
    assert supply("east") == [15.0, 15.0]  # eight servers less two of the buffer
    assert supply("west") == by_hand  # the platform has no such region
    with database.write() as tx:
        announce_retirement(
            tx,
            "east",
            scope=RetirementScope.SERVER,
            scope_name="server-00",
            kind=RetirementKind.DECOMMISSION,
            to_hardware_type=None,
            reason="old",
            due_at=WINDOW_END + timedelta(10),
            back_at=None,
            actor="olga",
            now=FixedClock().now(),
        )
    put(client, "deliveries", [_delivery(3, days=1), _delivery(5, days=20)])
    assert supply("east") == [15.0, 20.0]


def _delivery(servers, *, days):
    due = (WINDOW_END + timedelta(days=days)).isoformat()
    return {"region": "east", "server_type": "hw-a", "servers": servers, "due_at": due}


def test_the_broker_tells_the_same(client, database):
    """The planner's deliveries are in the answer of the broker."""
    client.app.include_router(region_supply.router)
    stored(database, region_image("east"))
    put(client, "deliveries", [_delivery(3, days=1000)])
    at = (WINDOW_END + timedelta(days=2000)).isoformat()
    found = client.get("/v1/regions/east/supply", params={"at": at}).json()
    assert [(one["servers"], one["delivered"], one["usable"]) for one in found["hardware_types"]] == [(8, 3, 11)]
    assert client.get("/v1/regions/mars/supply").status_code == 404


def test_a_run_compares_granted_capacity_with_use(client, planner, ask, world, database):
    put_world(client, world)
    web = ReservationSpec(capacity_rru=6, rru={"hw-a": 1.0}, survives_msb_loss=False)
    stored(database, region_image("east", reservations={"store": web}))
    row = {"service": "store", "hardware_type": "compute", "reservation": "store", "rru_per_unit": 0.01}
    put(client, "service_reservations", [row])
    run = ask()
    planner().reconcile()
    [found] = look(client, run)["report"]["headroom"]
    assert (found["service"], found["granted"], found["finding"]) == ("store", pytest.approx(600.0), "HeadroomExceeded")
    assert found["headroom"] == pytest.approx(600.0 / found["used"])
    ask_portal(database, [("create", 2, "granted"), ("resize", 6, "degraded")], name="store")
    run = ask()
    planner().reconcile()
    [waits] = look(client, run)["report"]["headroom"]
    assert (waits["granted"], waits["used"]) == (pytest.approx(200.0), found["used"]), "the rest is only asked for"


def test_a_resize_that_waits_for_servers_counts_once(client, planner, ask, world, database):
    """Its reservation asks for all of it already, and its event in the ledger has all of it left."""
    put_world(client, world)
    store = ReservationSpec(capacity_rru=6, rru={"hw-a": 1.0}, survives_msb_loss=False)
    stored(database, region_image("east", reservations={"store": store}))
    ask_portal(database, [("create", 5, "granted"), ("resize", 6, "degraded")], name="store")
    row = {"service": "store", "hardware_type": "compute", "reservation": "store", "rru_per_unit": 0.01}
    put(client, "service_reservations", [row])
    now, at = FixedClock().now(), WINDOW_END + timedelta(hours=1)
    with database.write() as tx:
        [event] = propose_events(
            tx, [resize(100.0, service="store", region="east", starts_at=at)], actor="olga", now=now
        ).tolist()
    for generation, status in enumerate((EventStatus.APPROVED, EventStatus.ACTIVE), 1):
        with database.write() as tx:
            one = EventChange(capacity_event_id=event, generation=generation, status=status, reason="")
            change_events(tx, [one], actor="olga", now=now)
    run = ask()
    planner().reconcile()
    bundle = make_plan(type(world)(look(client, run)["bundle"]))
    place = bundle.words.services.tolist().index("store"), bundle.words.regions.tolist().index("east")
    assert bundle.models.present_capacity(bundle.inputs)[place] == pytest.approx(500 + 100)


def test_a_plan_starts_from_what_is_granted_and_never_from_less_than_the_use(client, planner, ask, world, database):
    """Resizes start from the promise of the region. Use beyond it is a need, and what is left of other writers' changes
    counts on top, but not what they have done: the promise shows it.
    """
    put_world(client, world)
    plenty = ReservationSpec(capacity_rru=66, rru={"hw-a": 1.0}, survives_msb_loss=False)
    scarce = ReservationSpec(capacity_rru=0.0011, rru={"hw-a": 1.0}, survives_msb_loss=False)
    stored(database, region_image("east", reservations={"store": plenty, "feed-front": scarce}))
    row = {"hardware_type": "compute", "rru_per_unit": 0.1, "headroom": 0.1}
    put(
        client,
        "service_reservations",
        [row | {"service": name, "reservation": name} for name in ("store", "feed-front")],
    )
    at = WINDOW_END + timedelta(hours=1)
    store = {"service": "store", "region": "east", "starts_at": at}
    now, ways = FixedClock().now(), (EventStatus.APPROVED, EventStatus.ACTIVE, EventStatus.SUCCEEDED)
    with database.write() as tx:
        done, _ = propose_events(tx, [resize(3.0, **store), resize(5.0, **store)], actor="olga", now=now).tolist()
    for generation, status in enumerate(ways, 1):
        achieved = 3.0 if status is EventStatus.SUCCEEDED else None
        one = EventChange(capacity_event_id=done, generation=generation, status=status, reason="", achieved=achieved)
        with database.write() as tx:
            change_events(tx, [one], actor="olga", now=now)
    run = ask()
    planner().reconcile()
    bundle = make_plan(type(world)(look(client, run)["bundle"]))
    store, feed = (bundle.words.services.tolist().index(name) for name in ("store", "feed-front"))
    east = bundle.words.regions.tolist().index("east")
    before = bundle.models.present_capacity(bundle.inputs)
    assert before[store, east] == pytest.approx(600 + 5)
    assert bundle.problem.kappa[store, east] == pytest.approx(600 + 5)
    assert before[feed, east] == pytest.approx(0.01)
    assert bundle.problem.kappa[feed, east] == pytest.approx(bundle.models.baseline[feed, east])
    grown = [a for a in bundle.execution.actions if (a.service, a.region) == ("feed-front", "east")]
    assert [(a.phase, a.before) for a in grown] == [(Phase.UPSIZE, pytest.approx(0.01))]
