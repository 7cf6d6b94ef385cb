"""The mover records the preemptions that count against the churn budget, and solves of the next day forget them."""

from collections.abc import Collection
from datetime import timedelta

import numpy as np
import pytest

from libs.actuators.actuator import StepState
from libs.domain.plan import PlanKind
from libs.domain.reservation import ReservationSpec
from libs.domain.unavailability import Unavailability, UnavailabilityScope
from libs.store.fleet.servers import InUse, set_in_use
from libs.store.fleet.snapshot import load_fleet_snapshot
from libs.store.fleet.unavailability_events import open_event
from libs.store.moves.churn import with_churn
from libs.store.plans.plans import commit_plan
from libs.store.platform.database import Database
from tests.builders.clock import ManualClock
from tests.builders.mover import Mover
from tests.builders.region import region_image
from tests.builders.stored import plan_of, read, stored

SPEC = ReservationSpec(capacity_rru=1, rru={"hw-a": 1.0}, survives_msb_loss=False)


@pytest.fixture
def mover(database: Database, clock: ManualClock) -> Mover:
    """web has four servers, three of them in use; db has one."""
    current = {f"server-0{k}": "web" for k in range(4)} | {"server-04": "db"}
    in_use = {"server-00", "server-01", "server-02"}
    stored(database, region_image(reservations={"web": SPEC, "db": SPEC}, current=current, in_use=in_use))
    return Mover(database, clock)


def commit(mover: Mover, kind: PlanKind = PlanKind.SOLVE, counts: Collection[str] = (), **targets: str | None) -> None:
    snapshot = read(mover.database)
    plan = plan_of(snapshot, {name.replace("_", "-"): to for name, to in targets.items()})
    churns = np.array([str(name) in counts for name in snapshot.servers.name])
    with mover.database.write() as tx:
        parent = snapshot.target_plan_id
        commit_plan(tx, snapshot, plan, kind=kind, now=mover.clock.now(), parent=parent, churns=churns)


def churned(mover: Mover) -> dict[str, int]:
    with mover.database.snapshot() as tx:
        snapshot = with_churn(tx, load_fleet_snapshot(tx, "west"), now=mover.clock.now())
    assert snapshot.churned is not None
    return {str(name): int(n) for name, n in zip(snapshot.reservations.name, snapshot.churned, strict=True) if n}


def test_a_preemption_counts_from_its_plan_on_for_24_hours(mover: Mover) -> None:
    commit(mover, counts={"server-00", "server-01"}, server_00="db", server_01=None, server_02="db")
    assert churned(mover) == {"web": 2}
    mover.settle()
    assert mover.server("server-00").current_reservation == "db"
    assert churned(mover) == {"web": 2}
    mover.clock.sleep(timedelta(hours=25).total_seconds())
    assert churned(mover) == {}


def test_a_server_that_stays_after_all_or_is_used_no_more_does_not_count(mover: Mover) -> None:
    commit(mover, counts={"server-00", "server-01"}, server_00="db", server_01="db")
    commit(mover, server_00="web")
    assert churned(mover) == {"web": 1}
    server = mover.server("server-01")
    idle = InUse(server_id=server.server_id, in_use=False, generation=server.generation)
    with mover.database.write() as tx:
        set_in_use(tx, [idle], actor="alloc", now=mover.clock.now())
    assert churned(mover) == {}
    mover.settle()
    assert churned(mover) == {}


def test_a_server_that_is_sent_elsewhere_meanwhile_counts_once(mover: Mover) -> None:
    commit(mover, counts={"server-00"}, server_00=None)
    commit(mover, PlanKind.GRANT, server_00="db")
    assert churned(mover) == {"web": 1}
    mover.settle()
    assert churned(mover) == {"web": 1}


def test_a_server_that_failed_meanwhile_does_not_count(mover: Mover) -> None:
    commit(mover, counts={"server-00"}, server_00="db")
    with mover.database.write() as tx:
        now = mover.clock.now()
        open_event(
            tx,
            "west",
            scope=UnavailabilityScope.SERVER,
            scope_name="server-00",
            kind=Unavailability.UNPLANNED,
            reason="disk",
            starts_at=now,
            ends_at=None,
            actor="health",
            now=now,
        )
    assert churned(mover) == {}


def test_a_preemption_without_a_known_outcome_counts(mover: Mover) -> None:
    mover.actuator.say = lambda step: StepState.RUNNING
    commit(mover, counts={"server-00"}, server_00="db")
    for _ in range(8):
        mover.tick(600)
    assert mover.server("server-00").current_reservation is None
    assert churned(mover) == {"web": 1}


def test_containers_that_leave_while_they_are_preempted_count(mover: Mover) -> None:
    mover.actuator.say = lambda step: StepState.RUNNING if step.step == "preempt" else StepState.DONE
    commit(mover, counts={"server-00"}, server_00="db")
    for _ in range(3):
        mover.tick()
    assert mover.actuator.asked[-1].step == "preempt"
    assert churned(mover) == {"web": 1}
    server = mover.server("server-00")
    idle = InUse(server_id=server.server_id, in_use=False, generation=server.generation)
    with mover.database.write() as tx:
        set_in_use(tx, [idle], actor="alloc", now=mover.clock.now())
    assert churned(mover) == {"web": 1}
    mover.actuator.say = lambda step: StepState.DONE
    mover.settle()
    assert mover.server("server-00").current_reservation == "db"
    assert churned(mover) == {"web": 1}


def test_a_preemption_that_fails_for_good_does_not_count(mover: Mover) -> None:
    """Its server is still there, and in use. It is reported as unavailable."""
    mover.actuator.say = lambda step: StepState.FAILED if step.step == "preempt" else StepState.DONE
    commit(mover, counts={"server-00"}, server_00="db")
    for _ in range(8):
        mover.tick(600)
    server = mover.server("server-00")
    assert (server.current_reservation, server.in_use) == ("web", True)
    assert churned(mover) == {}
