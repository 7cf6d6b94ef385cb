"""Build a small region that reaches every crash point, and check its final state."""

from collections import defaultdict
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import sqlalchemy as sa

from libs.domain.approval import ApprovalKind, ApprovalLimits, ApprovalStatus
from libs.domain.capacity_request import CapacityRequestKind, CapacityRequestPhase
from libs.domain.reservation import ReservationSpec
from libs.domain.retirement import RetirementKind, RetirementScope
from libs.domain.simulation import Loss, WhatIf
from libs.store.capacity.approval_limits import set_approval_limits
from libs.store.capacity.approvals import list_approvals
from libs.store.capacity.capacity_requests import create_capacity_request
from libs.store.capacity.reservations import create_reservation
from libs.store.fleet.regions import load_region
from libs.store.fleet.retirements import announce_retirement
from libs.store.plans.simulations import create_simulation
from libs.store.platform.database import Database, Transaction
from libs.store.platform.jobs import enqueue
from libs.store.platform.schedules import ensure_schedules
from libs.store.regions.region_import import import_region
from services.portal.decide_approvals import approve
from tests.builders.region import region_image
from tests.crash.harness import wait_until

ENV = {
    "PLIMSOLL_MOVER_ACTUATOR": "simulated",
    "PLIMSOLL_SIMULATED_DELAY": "0.001",
    "PLIMSOLL_SIMULATED_FAILURE_RATE": "0.4",
    "PLIMSOLL_MOVES_MSB_SHARE_MAX": "1",
    "PLIMSOLL_MOVE_ATTEMPTS_MAX": "2",
    "PLIMSOLL_MOVE_BACKOFF_S": "0.05",
    "PLIMSOLL_SOLVE_S_MAX": "5",
}
CYCLES = {
    "move": 0.2,
    "solve": 2.0,
    "refresh_unavailability": 2.0,
    "advance_windows": 2.0,
    "finish_retirements": 1.0,
    "draw_replacements": 1.0,
    "watch_reservations": 1.0,
}
"""Seconds. Shorter ones give more work than the worker does on a busy machine, and then it never rests."""
IN_PLACE_S_MAX = 600.0
"""Seconds until all is in place: each failed move waits for another solve."""
SERVERS = 40
YEAR = timedelta(days=365)
OF_HW_A, OF_HW_B = ([f"server-{i:02d}" for i in range(SERVERS) if i // 5 % 2 == kind] for kind in (0, 1))
MOVING_OUT = dict.fromkeys(OF_HW_A[:6], "web") | dict.fromkeys(OF_HW_A[6:10], "db")
# No solve can replace the loss of one of these, because every other server of the type is bound.
STARTS = MOVING_OUT | dict.fromkeys(OF_HW_B[:17], "pinned") | dict.fromkeys(OF_HW_B[17:], "spare")
LOST = OF_HW_B[0]
ENTERS = OF_HW_B[-1]
"""Free at the start, and on its way to the shared buffer."""
RETIRES = OF_HW_A[-1]
"""Free at the start, and due for retirement."""


def prepare(database: Database) -> None:
    """Store servers out of place, a lost one and spare ones, requests, and due cycles."""
    now = datetime.now(UTC)
    spec = ReservationSpec(capacity_rru=4, rru={"hw-a": 1.0})
    image = region_image(
        msbs=4,
        racks_per_msb=2,
        servers_per_rack=SERVERS // 8,
        hardware_types=("hw-a", "hw-b"),
        reservations={
            "web": spec,
            "db": ReservationSpec(capacity_rru=3, rru={"hw-a": 1.0}, host_profile="big-pages"),
            "pinned": ReservationSpec(capacity_rru=17, rru={"hw-b": 1.0}, survives_msb_loss=False),
            "spare": ReservationSpec(capacity_rru=3, rru={"hw-b": 1.0}, survives_msb_loss=False),
        },
        kind={"spare": "shared_buffer"},
        current={server: reservation for server, reservation in STARTS.items() if server != ENTERS},
        target=STARTS | {name: "db" if binding == "web" else "web" for name, binding in MOVING_OUT.items()},
        in_use=set(list(STARTS)[:3]),
        down={LOST},
    )
    with database.write() as tx:
        region_id = import_region(tx, image, actor="test", now=now).region_id
        set_approval_limits(tx, region_id, ApprovalLimits(size_cost_units=4.5))
        over = replace(spec, capacity_rru=1.0, starts_at=now - timedelta(days=2), ends_at=now - timedelta(days=1))
        create_reservation(tx, region_id, name="over", owner="team", spec=over, now=now)
        for name, capacity_rru, starts_at in (
            ("a", 1.0, None),
            ("b", 2.0, None),
            ("far-too-large", 1e6, None),
            ("for-a-person", 5.0, None),
            ("next-year", 1.0, now + timedelta(days=365)),
        ):
            request = create_capacity_request(
                tx,
                region_id,
                kind=CapacityRequestKind.CREATE,
                reservation_name=name,
                reservation_id=None,
                reservation_generation=None,
                owner="team",
                spec=ReservationSpec(capacity_rru=capacity_rru, rru={"hw-a": 1.0}, starts_at=starts_at),
                requested_by="test",
                message="",
                now=now,
            )
            enqueue(tx, "assess", str(request.capacity_request_id))
        what_if = WhatIf(policy={}, lose=(Loss(scope="msb", name="msb-00"),))
        simulation_id = create_simulation(tx, region_id, what_if, requested_by="test", now=now)
        enqueue(tx, "simulate", str(simulation_id))
        announce_retirement(
            tx,
            "west",
            scope=RetirementScope.SERVER,
            scope_name=RETIRES,
            kind=RetirementKind.DECOMMISSION,
            to_hardware_type=None,
            reason="end of life",
            due_at=now,
            back_at=None,
            actor="test",
            now=now,
        )
        ensure_schedules(tx, CYCLES, now=now)


def wait_for_the_end(database: Database) -> None:
    """Wait until all requests are decided and all moves have ended; then, without due cycles, for all jobs."""
    wait_until(lambda: count(database, UNDECIDED) == 0, "every request is decided")
    set_cycle(database, "draw_replacements", YEAR.total_seconds(), at_once=True)  # a move that fails asks for them too
    wait_until_in_place(database)
    stop(database, "refresh_unavailability")
    wait_until(lambda: count(database, OVER) == 0, "what is over is deleted")
    stop(database, "advance_windows")
    stop(database, "finish_retirements")
    while not rests_without_solves(database):
        set_cycle(database, "solve", CYCLES["solve"])
        wait_until_in_place(database)
    stop(database, "move")
    wait_until(lambda: count(database, OPEN_JOBS) == 0, "every job has ended")


def wait_until_in_place(database: Database) -> None:
    """Wait until every server that is up is where it should be, and no move runs."""

    def describe() -> str:
        with database.snapshot() as tx:
            return "\n".join(str(dict(row)) for query in OUT_OF_PLACE for row in tx.execute(sa.text(query)).mappings())

    def in_place() -> bool:
        return count(database, MOVING) + approve_moves(database) == 0

    what = "every server that is up is where it should be"
    wait_until(in_place, what, s_max=IN_PLACE_S_MAX, describe=describe)


def rests_without_solves(database: Database) -> bool:
    """Let the solves end, and return whether nothing has to move then. Moves of the last one may fail, and then
    others wait for the next solve: it finds them other servers, or asks for an approval to go below *hold*.
    """
    stop(database, "solve")
    wait_until(lambda: count(database, OPEN_JOBS + " AND kind = 'solve'") == 0, "the last solve has ended")
    return count(database, MOVING) == 0


def check(database: Database) -> None:
    """Check that nothing was lost, no server was bound twice, and everything has ended."""
    with database.snapshot() as tx:
        phases = {row.reservation_name: row.phase for row in tx.execute(sa.text("SELECT * FROM capacity_requests"))}
        assert phases["far-too-large"] == CapacityRequestPhase.REJECTED
        assert phases["for-a-person"] == CapacityRequestPhase.AWAITING_APPROVAL
        assert phases["next-year"] == CapacityRequestPhase.SCHEDULED
        assert count_in(tx, "SELECT count(*) FROM approvals WHERE kind <> 'below_hold'") == 1
        assert count_in(tx, "SELECT count(*) FROM capacity_requests WHERE kind = 'delete'") == 1
        assert {phases["a"], phases["b"]} <= {CapacityRequestPhase.GRANTED, CapacityRequestPhase.DEGRADED}
        names = tx.execute(sa.text("SELECT name FROM reservations WHERE kind = 'guaranteed' ORDER BY name")).scalars()
        assert list(names) == ["a", "b", "db", "next-year", "over", "pinned", "web"], (
            "a request was carried out twice, or not at all"
        )
        assert not tx.execute(
            sa.text("SELECT FROM jobs WHERE status IN ('failed', 'superseded') AND error NOT LIKE 'the worker%'")
        ).all()
        assert not tx.execute(sa.text("SELECT FROM solve_runs WHERE status = 'running'")).all()
        assert list(tx.execute(sa.text("SELECT status FROM simulations")).scalars()) == ["done"]
        assert count_in(tx, MOVING) == 0
        check_bindings(tx)
        gone = tx.execute(sa.text("SELECT name FROM servers WHERE decommissioned_at IS NOT NULL")).scalars()
        assert list(gone) == [RETIRES]
        assert count_in(tx, "SELECT count(*) FROM audit_entries WHERE action = 'finish'") == 1, "it was retired twice"
        check_failures(tx)


def check_bindings(tx: Transaction) -> None:
    """Follow every server through its history: it joins only from no reservation, and ends where its binding says.
    Servers of shared buffers have joined nothing.
    """
    joined = {server: reservation for server, reservation in STARTS.items() if reservation != "spare"}
    binding: dict[str, str | None] = defaultdict(lambda: None, joined)
    history = sa.text("""
        SELECT servers.name AS server, step, joins.name AS joined FROM move_steps JOIN moves USING (move_id)
        JOIN servers USING (server_id) LEFT JOIN reservations AS joins ON joins.reservation_id = to_reservation_id
        WHERE outcome = 'done' ORDER BY move_id, move_steps.step_index""")
    for row in tx.execute(history):
        if row.step == "preempt":
            assert binding[row.server] is not None, f"{row.server} left twice"
            binding[row.server] = None
        elif row.step == "join":
            assert binding[row.server] is None, f"{row.server} was bound twice"
            binding[row.server] = row.joined
    now = sa.text("""
        SELECT servers.name AS server, reservations.name AS reservation FROM servers
        LEFT JOIN reservations ON reservation_id = current_reservation_id AND kind <> 'shared_buffer'""")
    found = {row.server: row.reservation for row in tx.execute(now)}
    assert len(found) == SERVERS
    assert found == {server: binding[server] for server in found}


def check_failures(tx: Transaction) -> None:
    """Check that each server whose move failed for good was reported once, and not tried again. One was down before."""
    failed = sa.text("SELECT server_id, max(move_id) FROM moves WHERE status = 'failed' GROUP BY server_id")
    servers = {row.server_id for row in tx.execute(failed)}
    reported = sa.text("SELECT server_id FROM unavailability_events WHERE reason LIKE 'move_failed%'")
    assert sorted(tx.execute(reported).scalars()) == sorted(servers)
    down = sa.text("SELECT server_id FROM servers WHERE unavailability = 'unplanned' AND decommissioned_at IS NULL")
    lost = tx.execute(sa.text("SELECT server_id FROM servers WHERE name = :name"), {"name": LOST}).scalar_one()
    assert set(tx.execute(down).scalars()) == servers | {lost}
    drawn = sa.text("""
        SELECT server_id FROM plan_changes JOIN plans USING (plan_id)
        JOIN reservations ON reservation_id = to_reservation_id
        WHERE plans.kind = 'replacement' AND reservations.kind = 'shared_buffer'""")
    swapped = list(tx.execute(drawn).scalars())
    assert lost in swapped, "the lost server was never replaced"
    assert len(swapped) == len(set(swapped)), "a lost server was replaced twice"


OVER = "SELECT count(*) FROM reservations WHERE name = 'over' AND deleted_at IS NULL"
UNDECIDED = "SELECT count(*) FROM capacity_requests WHERE phase IN ('submitted', 'assessing')"
OPEN_JOBS = "SELECT count(*) FROM jobs WHERE status IN ('queued', 'running')"
MOVING = """SELECT (SELECT count(*) FROM moves WHERE status = 'running')
    + (SELECT count(*) FROM servers WHERE unavailability = 'none'
       AND current_reservation_id IS DISTINCT FROM target_reservation_id)
    + (SELECT count(*) FROM jobs WHERE kind = 'draw_replacements' AND status IN ('queued', 'running'))"""

OUT_OF_PLACE = (
    """SELECT kind, status, attempts, worker, created_at, sent_at, lease_expires_at, now() FROM jobs
        WHERE status IN ('queued', 'running')""",
    """SELECT state, wait_event_type, wait_event, query_start, query FROM pg_stat_activity
        WHERE datname = current_database() AND state <> 'idle' AND pid <> pg_backend_pid()""",
    """SELECT status, started_at, finished_at, error, progress, report FROM solve_runs
        ORDER BY solve_run_id DESC LIMIT 2""",
    """SELECT servers.name, now.name AS current, goal.name AS target, unavailability, in_use, moves.*,
        reservation_waits.*
        FROM servers
        LEFT JOIN reservations AS now ON now.reservation_id = current_reservation_id
        LEFT JOIN reservations AS goal ON goal.reservation_id = target_reservation_id
        LEFT JOIN moves ON moves.server_id = servers.server_id AND moves.status = 'running'
        LEFT JOIN reservation_waits ON reservation_waits.reservation_id = current_reservation_id
        WHERE unavailability = 'none' AND current_reservation_id IS DISTINCT FROM target_reservation_id
           OR move_id IS NOT NULL""",
    """SELECT kind, error, count(*) FROM jobs
       WHERE status IN ('failed', 'superseded') AND error NOT LIKE 'the worker%' GROUP BY 1, 2""",
    "SELECT kind, count(*) FROM approvals WHERE status = 'pending' GROUP BY kind",
    "SELECT kind, interval_s, next_at, now() FROM schedules",
)
"""Queries whose rows tell why a server is not where it should be."""


def approve_moves(database: Database) -> int:
    """Approve the departures below *hold* that wait for it, as an operator does, and return their number."""
    with database.write() as tx:
        waiting = list_approvals(tx, status=ApprovalStatus.PENDING, kind=ApprovalKind.BELOW_HOLD).items
        for one in waiting:
            now = datetime.now(UTC)
            approve(tx, one.approval_id, generation=one.generation, actor="olga", reason="it is a test", now=now)
    return len(waiting)


def stop(database: Database, kind: str) -> None:
    """Make it due in a year."""
    set_cycle(database, kind, YEAR.total_seconds())


def set_cycle(database: Database, kind: str, seconds: float, *, at_once: bool = False) -> None:
    """Make it due every so often, for the first time after one interval, or at once."""
    first = 0.0 if at_once else seconds
    with database.write() as tx:
        region_id = load_region(tx, "west").region_id
        tx.execute(
            sa.text("UPDATE schedules SET interval_s = :s, next_at = :at WHERE region_id = :r AND kind = :k"),
            {"r": region_id, "k": kind, "s": seconds, "at": datetime.now(UTC) + timedelta(seconds=first)},
        )


def count(database: Database, query: str) -> int:
    with database.snapshot() as tx:
        return count_in(tx, query)


def count_in(tx: Transaction, query: str) -> int:
    return int(tx.execute(sa.text(query)).scalar_one())
