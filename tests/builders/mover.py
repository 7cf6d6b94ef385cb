"""Build a mover of one region on a real database, with an actuator that the test controls."""

from collections.abc import Callable, Sequence

from fastapi.testclient import TestClient

from libs.actuators.actuator import StepOutcome, StepRequest, StepState
from libs.domain.move import DeadLetter, Move, MoveStatus, MoveStep
from libs.domain.mover import MoverBounds
from libs.domain.plan import PlanKind
from libs.domain.principal import Role
from libs.domain.region_condition import RegionCondition
from libs.domain.reservation import ReservationSpec
from libs.domain.server import Server
from libs.reconcile.call_retries import Backoff
from libs.store.fleet.regions import load_region
from libs.store.fleet.servers import ServerFilter, list_servers
from libs.store.moves.move_history import list_moves, load_step_records
from libs.store.moves.movers import load_mover, set_bounds
from libs.store.plans.plans import commit_plan
from libs.store.platform.database import Database
from libs.store.platform.tokens import create_token
from libs.store.regions.region_conditions import load_conditions
from libs.web.app import create_app
from libs.web.auth import digest, new_secret
from services.broker.api import ROUTERS as BROKER
from services.mover.api import ROUTERS
from services.mover.move_policy import MovePolicy
from services.mover.reconcilers.advance_moves import AdvanceMoves, Report
from tests.builders.clock import ManualClock
from tests.builders.stored import NOW, plan_of, read

POLICY = MovePolicy(moves_max=100, msb_share_max=1.0, attempts_max=2, backoff=Backoff(30.0), step_s_max=600.0)
SPECS = {
    "web": ReservationSpec(capacity_rru=1, rru={"hw-a": 1.0}),
    "db": ReservationSpec(capacity_rru=1, rru={"hw-a": 1.0}, host_profile="big-pages"),
}
UNKNOWN = StepOutcome(state=StepState.UNKNOWN, message="HTTP 503: busy", call="server_error")


class Scripted:
    """Answers done to everything, unless `say` gives another answer. Keeps the requests."""

    def __init__(self) -> None:
        self.asked: list[StepRequest] = []
        self.say: Callable[[StepRequest], StepState] = lambda step: StepState.DONE

    def perform(self, steps: Sequence[StepRequest]) -> Sequence[StepOutcome]:
        self.asked += steps
        return [StepOutcome(state=self.say(step), message=None) for step in steps]


class Answers:
    """Answers each request by `say`, and keeps them."""

    def __init__(self) -> None:
        self.asked: list[StepRequest] = []
        self.say = lambda step: StepOutcome(state=StepState.DONE, call="done")

    def perform(self, steps: Sequence[StepRequest]) -> Sequence[StepOutcome]:
        self.asked += steps
        return [self.say(step) for step in steps]


class Mover:
    def __init__(self, database: Database, clock: ManualClock) -> None:
        self.database, self.clock, self.actuator, self.policy = database, clock, Scripted(), POLICY

    def tick(self, seconds: float = 1.0) -> Report:
        self.clock.sleep(seconds)
        return AdvanceMoves(self.database, self.clock, self.actuator, self.policy, "west").reconcile()

    def settle(self) -> int:
        """Tick until nothing happens, and return the number of ticks."""
        for ticks in range(100):
            report = self.tick(60)
            if not (report.started or report.asked):
                return ticks
        raise AssertionError("it goes on for ever")

    def retarget(self, **targets: str | None) -> None:
        snapshot = read(self.database)
        changes = {name.replace("_", "-"): to for name, to in targets.items()}
        with self.database.write() as tx:
            commit_plan(
                tx,
                snapshot,
                plan_of(snapshot, changes),
                kind=PlanKind.SOLVE,
                now=self.clock.now(),
                parent=snapshot.target_plan_id,
            )

    def server(self, name: str) -> Server:
        with self.database.snapshot() as tx:
            (found,) = list_servers(tx, "west", ServerFilter(name=name)).items
            return found

    def moves(self, server: str | None = None) -> list[Move]:
        with self.database.snapshot() as tx:
            return list(list_moves(tx, region="west", server=server).items)

    def records(self, move: Move) -> list[tuple[str, int, str]]:
        with self.database.snapshot() as tx:
            return [(r.step.value, r.attempt, r.outcome.value) for r in load_step_records(tx, move.move_id)]


def conditions(mover: Mover) -> dict[str, RegionCondition]:
    with mover.database.snapshot() as tx:
        region_id = load_region(tx, "west").region_id
        return {c.type.value: c for c in load_conditions(tx, [region_id])[region_id]}


def bound(mover: Mover, **bounds: object) -> None:
    with mover.database.write() as tx:
        generation = load_mover(tx, "west").generation
        set_bounds(tx, "west", MoverBounds(**bounds), generation=generation, actor="olga", now=NOW)  # type: ignore[arg-type]


def http(mover: Mover, role: Role = Role.OPERATOR) -> TestClient:
    secret = new_secret()
    with mover.database.write() as tx:
        create_token(tx, name=f"token-{role}", role=role, secret_sha256=digest(secret), now=NOW)
    routers = [*ROUTERS, *BROKER]
    app = create_app(title="t", version="1", database=mover.database, clock=mover.clock, routers=routers)
    return TestClient(app, headers={"Authorization": f"Bearer {secret}"})


def dead_letter(mover: Mover, at: MoveStep = MoveStep.CLEAN) -> int:
    """Let server-00's move fail for good at this step; return its id."""
    say = mover.actuator.say
    mover.actuator.say = lambda step: StepOutcome(
        state=StepState.FAILED if step.step is at else StepState.DONE, message="no"
    )
    mover.settle()
    mover.actuator.say = say
    (move,) = mover.moves("server-00")
    assert (move.status, move.step, move.dead_letter) == (MoveStatus.FAILED, at, DeadLetter.OPEN)
    return move.move_id
