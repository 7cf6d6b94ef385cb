"""Servers change while a solve works. The database judges what it commits: no reservation is worse off by it."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import sqlalchemy as sa

from libs.domain.fleet import FREE, FleetSnapshot, TargetPlan
from libs.domain.job import Job
from libs.domain.plan import PlanKind, SolveRun, SolveStatus
from libs.domain.reservation import Coverage, ReservationSpec
from libs.domain.reservation_phase import ReservationPhase
from libs.domain.unavailability import Unavailability, UnavailabilityScope
from libs.reconcile.clock import SystemClock
from libs.reconcile.jobs import DRAW_REPLACEMENTS, MOVE
from libs.store.capacity.coverage import load_coverage
from libs.store.capacity.reservations import delete_reservation, load_reservation, update_spec
from libs.store.fleet.unavailability_events import open_event
from libs.store.plans.plans import commit_plan, commit_release, load_plan
from libs.store.plans.solve_runs import list_solve_runs
from libs.store.platform.database import Database
from libs.store.platform.jobs import list_jobs
from services.mover.reconcilers.draw_replacements import DrawReplacements
from services.solver.reconcilers import solve_bindings
from services.solver.reconcilers.solve_bindings import SolveBindings
from services.solver.settings import SolverSettings
from tests.builders.region import region_image
from tests.builders.stored import plan_of, read, reservation_id, stored, targets

NOW = SystemClock().now()
Meanwhile = Callable[[FleetSnapshot, TargetPlan], None]


def coverage(database: Database) -> dict[str, Coverage]:
    """Return the coverage of each reservation by its targets, from the database."""
    q = read(database).reservations
    with database.snapshot() as tx:
        found = load_coverage(tx, q.id.tolist(), "target")
    return {str(name): found[int(i)] for i, name in zip(q.id, q.name, strict=True)}


def short(database: Database) -> dict[str, float]:
    return {name: one.shortfall_rru for name, one in coverage(database).items()}


@pytest.fixture
def solve(database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., SolveRun]:
    """Run a solve. `changes` replaces its plan; `meanwhile` happens between its plan and its commit."""
    settings = SolverSettings.model_validate({"PLIMSOLL_BUNDLE_DIR": tmp_path / "bundles"})
    right = solve_bindings.plan_target_bindings

    def run(changes: dict[str, str | None] | None = None, meanwhile: Meanwhile = lambda *_: None) -> SolveRun:
        def plan(snapshot: FleetSnapshot, *arguments: object, **named: object) -> object:
            found = right(snapshot, *arguments, **named)
            if changes is not None:
                found = replace(found, plan=plan_of(snapshot, changes))
            meanwhile(snapshot, found.plan)
            return found

        monkeypatch.setattr(solve_bindings, "plan_target_bindings", plan)
        assert SolveBindings(database, SystemClock(), settings, "west", "test").reconcile() is SolveStatus.COMMITTED
        with database.snapshot() as tx:
            return list_solve_runs(tx, region="west", after=None, limit=1).items[0]

    return run


def grant(database: Database, snapshot: FleetSnapshot, changes: dict[str, str | None]) -> None:
    with database.write() as tx:
        plan = plan_of(snapshot, changes)
        commit_plan(tx, snapshot, plan, kind=PlanKind.GRANT, now=NOW, parent=plan.parent_plan_id)


def touch(database: Database, *servers: str) -> None:
    """Let moves of these servers end, as the mover and the container allocator do."""
    with database.write() as tx:
        tx.execute(
            sa.text("UPDATE servers SET unclean = NOT unclean WHERE name = ANY(:names)"), {"names": list(servers)}
        )


def fail(database: Database, *servers: str) -> None:
    with database.write() as tx:
        for server in servers:
            open_event(
                tx,
                "west",
                scope=UnavailabilityScope.SERVER,
                scope_name=server,
                kind=Unavailability.UNPLANNED,
                reason="test",
                starts_at=NOW,
                ends_at=None,
                actor="health",
                now=NOW,
            )


def jobs_of(database: Database) -> list[Job]:
    with database.snapshot() as tx:
        return list(list_jobs(tx).items)


def forget_jobs(database: Database) -> None:
    with database.write() as tx:
        tx.execute(sa.text("DELETE FROM jobs"))


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    database = Database(database_url)
    yield database
    database.close()


@pytest.fixture
def pair(database: Database) -> None:
    """Two reservations, granted: web holds one server of each of 4 MSBs for 3 RRU, db likewise; 8 servers are free."""
    spec = ReservationSpec(capacity_rru=3, rru={"hw-a": 1.0})
    web, db = ([f"server-{4 * m + k:02d}" for m in range(4)] for k in (0, 1))
    image = region_image(
        msbs=4,
        servers_per_rack=4,
        reservations={"web": spec, "db": spec},
        current=dict.fromkeys(web, "web") | dict.fromkeys(db, "db"),
    )
    stored(database, image)


@pytest.mark.usefixtures("pair")
def test_a_reservation_keeps_its_server_if_the_new_one_changed(database: Database, solve) -> None:
    run = solve({"server-00": None, "server-02": "web"}, lambda *_: touch(database, "server-02"))
    assert short(database) == {"web": 0, "db": 0}
    assert targets(read(database))["server-00"] == "web"
    assert run.report is not None
    assert (run.report["changes"], run.report["left_alone"], run.report["shortfall_rru"]) == (0, 1, {})
    assert [(one["reservation"], one["changes"]) for one in run.report["dropped"]] == [("web", 1)]
    assert "1 of the servers that it was to get changed" in run.report["dropped"][0]["reason"]
    assert "below both the 3 RRU that it asks for and what it had" in run.report["dropped"][0]["reason"]
    assert "as_solved" not in run.report, "the solve saw the same shortfalls"
    assert run.plan_id is not None
    with database.snapshot() as tx:
        plan = load_plan(tx, run.plan_id)
        finding = load_reservation(tx, reservation_id(read(database), "web")).finding
    assert (plan.changes, plan.left_alone) == (0, 2)
    assert finding is not None
    assert finding.phase is ReservationPhase.GRANTED


@pytest.mark.usefixtures("pair")
def test_servers_that_fail_during_the_solve_are_in_the_costs_after_it_alone(database: Database, solve) -> None:
    run = solve({"server-02": "web"}, lambda *_: fail(database, "server-04", "server-08"))
    assert run.report is not None
    assert (run.report["shortfall_rru"], run.report["stay"]["terms"]["shortfall_rru"]) == ({"web": 2.0}, 0)
    assert run.report["as_solved"] == {
        "message": "The costs after count what is short at the commit; the gap and the costs before do not.",
        "total": pytest.approx(run.report["total"] - run.report["terms"]["short"]),
        "shortfall_rru": 0,
        "awaited_servers": 0,
    }


def test_what_is_short_after_each_kind_of_loss_is_in_the_costs_after_it(database: Database, solve) -> None:
    spec = ReservationSpec(capacity_rru=8, rru={"hw-a": 1.0}, survives_loss_of=("hall",))
    halls = {f"server-{k:02d}": f"hall-{k % 2}" for k in range(4)}
    image = region_image(
        servers_per_rack=2,
        reservations={"web": spec},
        current={"server-00": "web", "server-01": "web"},
        domains={"hall": halls},
    )
    stored(database, image)
    run = solve()
    assert run.report is not None
    assert (run.report["shortfall_rru"], run.report["terms"]["moved_idle"]) == ({"web": 6.0}, 0)
    cost = run.report["terms"]["short"] / read(database).policy.shortfall_cost
    assert cost == pytest.approx(12), "6 RRU after the loss of an MSB, and 6 after that of a hall"
    assert "as_solved" not in run.report


@pytest.mark.usefixtures("pair")
def test_who_does_not_get_that_server_keeps_its_own_too(database: Database, solve) -> None:
    changes = {"server-02": "web", "server-00": "db", "server-01": None}
    run = solve(changes, lambda *_: touch(database, "server-02"))
    assert short(database) == {"web": 0, "db": 0}
    assert run.report is not None
    named = {(one["reservation"], one["changes"]) for one in run.report["dropped"]}
    assert named == {("web", 1), ("db", 1)}, run.report["dropped"]


@pytest.mark.usefixtures("pair")
def test_what_is_sound_without_the_changed_servers_is_committed(database: Database, solve) -> None:
    changes = {"server-02": "web", "server-00": None, "server-03": "db", "server-01": None}
    run = solve(changes, lambda *_: touch(database, "server-02"))
    after = targets(read(database))
    assert (after.get("server-01"), after["server-03"], after["server-00"]) == (None, "db", "web")
    assert run.report is not None
    assert (run.report["changes"], run.report["terms"]["moved_idle"]) == (2, 1)


@pytest.mark.usefixtures("pair")
def test_a_solve_that_may_have_filled_a_buffer_asks_for_replacements(database: Database, solve) -> None:
    """Reports of failures hold servers and wait for the row of that job, so the commit has not locked it."""
    solve({"server-02": "web"}, lambda *_: forget_jobs(database))
    asked_at = {job.kind: job.created_at for job in jobs_of(database)}
    assert asked_at.keys() == {MOVE, DRAW_REPLACEMENTS}
    assert asked_at[DRAW_REPLACEMENTS] > asked_at[MOVE], "in a transaction of its own, after that of the plan"


@pytest.mark.usefixtures("pair")
def test_a_resize_granted_meanwhile_keeps_what_it_was_granted_on(database: Database, solve) -> None:
    """web has one server to spare when the solve reads. Then a resize uses it and takes one more."""
    grant(database, read(database), {"server-02": "web"})

    def resize(snapshot: FleetSnapshot, plan: TargetPlan) -> None:
        with database.write() as tx:
            web = load_reservation(tx, reservation_id(snapshot, "web"))
            update_spec(tx, web.reservation_id, replace(web.spec, capacity_rru=4.0), generation=web.generation)
            more = plan_of(snapshot, {"server-06": "web"})
            commit_plan(tx, snapshot, more, kind=PlanKind.GRANT, now=NOW, parent=plan.parent_plan_id)

    run = solve({"server-02": None}, resize)
    assert short(database) == {"web": 0, "db": 0}
    assert run.report is not None
    assert [one["reservation"] for one in run.report["dropped"]] == ["web"]


@pytest.mark.usefixtures("pair")
def test_a_plan_of_a_reservation_that_was_deleted_meanwhile_changes_nothing(database: Database, solve) -> None:
    def delete(snapshot: FleetSnapshot, _: TargetPlan) -> None:
        with database.write() as tx:
            web = load_reservation(tx, reservation_id(snapshot, "web"))
            delete_reservation(tx, web.reservation_id, generation=web.generation, now=NOW)
            commit_release(tx, "west", web.reservation_id, now=NOW)

    run = solve({"server-02": "web", "server-00": None}, delete)
    assert set(targets(read(database)).values()) == {"db"}
    assert run.report is not None
    assert (run.report["changes"], run.report["left_alone"]) == (0, 2)


@pytest.mark.usefixtures("pair")
def test_a_server_that_fails_meanwhile_is_not_also_given_away(database: Database, solve) -> None:
    grant(database, read(database), {"server-02": "web", "server-06": "web"})
    solve({"server-02": None}, lambda *_: fail(database, "server-08", "server-12"))
    assert short(database)["web"] == 1, "not 2: it keeps all that is up"


@pytest.mark.usefixtures("pair")
def test_a_retirement_announced_meanwhile_keeps_new_capacity_off_the_server(database: Database, solve) -> None:
    def announce(*_: object) -> None:
        with database.write() as tx:
            query = """INSERT INTO retirements (region_id, scope, server_id, kind, reason, due_at, created_at)
                       SELECT region_id, 'server', server_id, 'decommission', 'old', now(), now()
                       FROM servers WHERE name = 'server-02'"""
            tx.execute(sa.text(query))

    run = solve({"server-02": "web", "server-00": None}, announce)
    assert "server-02" not in targets(read(database))
    assert short(database) == {"web": 0, "db": 0}
    assert run.report is not None
    assert run.report["left_alone"] == 1


@pytest.fixture
def busy(database: Database) -> None:
    """240 servers of two types in 6 MSBs; ten reservations and a shared buffer, placed by a solve and carried out."""
    rng = np.random.default_rng(11)
    specs = {
        f"r{i}": ReservationSpec(
            capacity_rru=float(rng.integers(5, 22)),
            rru={"hw-a": 1.0, "hw-b": float(rng.choice([0.5, 1.5, 2.0]))},
            survives_msb_loss=bool(rng.random() < 0.8),
            affinity={"dc-00": 0.5} if i == 3 else {},
        )
        for i in range(10)
    }
    buffer = ReservationSpec(capacity_rru=4, rru={"hw-a": 1.0}, survives_msb_loss=False)
    image = region_image(
        datacenters=2,
        msbs=6,
        racks_per_msb=2,
        servers_per_rack=20,
        hardware_types=("hw-a", "hw-b"),
        reservations=specs | {"shared-buffer-hw-a": buffer},
        kind={"shared-buffer-hw-a": "shared_buffer"},
    )
    stored(database, image)


@pytest.mark.usefixtures("busy")
@pytest.mark.parametrize("seed", range(4))
def test_a_busy_region_loses_nothing_by_a_solve(database: Database, solve, seed: int) -> None:
    """Moves end, servers fail, a spare replaces one, the allocator flips use: the plan's own servers change too."""
    rng = np.random.default_rng(seed)
    solve()
    with database.write() as tx:
        tx.execute(sa.text("UPDATE servers SET current_reservation_id = target_reservation_id"))
        worth = "UPDATE reservation_rru SET rru = rru * 1.2 WHERE reservation_id % 2 = 0 AND rru > 1"
        tx.execute(sa.text(worth))
        tx.execute(sa.text("UPDATE reservations SET capacity_rru = capacity_rru * 1.1 WHERE reservation_id % 3 = 0"))
        tx.execute(sa.text('UPDATE regions SET policy = policy || \'{"buffer_cost": 40, "move_cost_idle": 0.01}\''))
    had: dict[str, float] = {}

    def meanwhile(snapshot: FleetSnapshot, plan: TargetPlan) -> None:
        rows = plan.changes(snapshot)
        assert len(rows) > 20, "the plan is worth the test"
        gained = rng.permutation(rows[plan.target[rows] != FREE])
        touch(database, *snapshot.servers.name[gained[:3]])
        fail(database, *snapshot.servers.name[gained[3:5]], *snapshot.servers.name[rng.choice(240, 2)])
        DrawReplacements(database, SystemClock(), "west").reconcile()
        had.update(short(database))

    run = solve(None, meanwhile)
    after = coverage(database)
    worse = {
        name: (had[name], one.shortfall_rru) for name, one in after.items() if one.shortfall_rru > had[name] + 1e-6
    }
    assert not worse
    assert run.report is not None
    told = run.report["shortfall_rru"]
    assert told == {name: one.shortfall_rru for name, one in after.items() if one.shortfall_rru > 1e-6}
    assert run.report["left_alone"] >= 3
    with database.snapshot() as tx:
        assert run.plan_id is not None
        assert load_plan(tx, run.plan_id).changes == run.report["changes"] > 0
        for name, one in after.items():
            finding = load_reservation(tx, reservation_id(read(database), name)).finding
            assert finding is not None
            assert (finding.phase is ReservationPhase.GRANTED) == (one.shortfall_rru == 0)
