"""The mover comes to rest after any failures and any plans, and then each server that waits has a reason."""

import random
from collections import Counter
from collections.abc import Collection
from dataclasses import replace
from datetime import datetime, timedelta

import numpy as np
import pytest

from libs.domain.departure_exceptions import StoredExceptions
from libs.domain.departure_wait import WaitsFor
from libs.domain.move import MoveStep
from libs.domain.moves_snapshot import MovesSnapshot
from libs.ras.waves.guard import Guard
from services.mover.move_policy import MovePolicy
from tests.builders.excepted import excepted
from tests.builders.moving_tick import tick
from tests.builders.moving_world import POLICY, T0, World

RESTS, STEP = 12, timedelta(seconds=20)
"""Ticks without a change after which the mover rests. They are longer than any pause between attempts."""


SEEDS = [*(range(first, first + 20) for first in range(0, 80, 20)), (93, 108, 111, 128, 133, 148)]
"""In the last ones reservations are below their promise, and few servers are idle."""


@pytest.mark.parametrize("seeds", SEEDS, ids=lambda seeds: f"{seeds[0]}-{seeds[-1]}")
def test_the_mover_comes_to_rest_and_what_waits_then_is_refused(seeds: Collection[int]) -> None:
    for seed in seeds:
        draws = random.Random(seed)
        world, policy = a_world(draws), a_policy(draws)
        now = trouble(world, policy, draws)
        world.down.clear()
        now = settle(world, policy, now, seed)
        assert wrong(world, now) == [], seed
        for hours in (1, 6, 6):  # loans reach their limit
            now = settle(world, policy, now + timedelta(hours=hours), seed)
            assert wrong(world, now) == [], seed
        begun = world.number
        settle(world, policy, now + timedelta(hours=6), seed)
        assert world.number == begun, f"{seed}: a loan begins again at each of its limits"


def a_world(draws: random.Random) -> World:
    """Two to five reservations that exchange servers, shared buffers, free servers, and requests that wait."""
    reservations = list(range(1, draws.randint(2, 5) + 1))
    buffers = frozenset(draws.choice([(), (), (8,), (8, 9)]))
    own = list(range(1, draws.randint(len(reservations), 22) + 1))
    current = {s: draws.choice(reservations) for s in own}
    shuffled = draws.sample(list(current.values()), len(own))
    target = {s: draws.choice([r, current[s]]) for s, r in zip(own, shuffled, strict=True)}
    others = [0] * draws.choice([0, 1, 2, 3, 5, 8]) + [b for b in buffers for _ in range(draws.randint(3, 9))]
    current |= dict(enumerate(others, 100))
    target |= {s: r or draws.choice([*[0] * 9, *reservations]) for s, r in enumerate(others, 100)}
    world = World(
        current=current, target=target, in_use={s for s in current if draws.random() < 0.3},
        msbs=draws.choice([1, 2, 3, 4, 4]), blocks=draws.choice([0, 0, 2, 3]), survives=draws.random() < 0.8,
        survives_block=draws.random() < 0.5, buffers=buffers, profile=dict(current), stores_waits=True,
    )  # fmt: skip
    if draws.random() < 0.4:
        world.kind = {s: draws.randint(0, 1) for s in current}
        world.rru = {(r, 1): draws.choice([0.5, 1.0, 2.0, 0.0]) for r in reservations}
    for r in reservations:
        least = min(level(world, r, [s for s in own if at[s] == r]) for at in (current, target))
        world.promised[r] = max(0.0, least + draws.choice([0, 0, 0, 0, -1, 1, 2, 0.5]))
        if draws.random() < 0.2:
            world.granted[r] = max(0.0, world.promised[r] - draws.choice([1, 2]))
        world.no_loans |= {r} if draws.random() < 0.15 else set()
    for s in draws.sample(own, min(len(own), draws.choice([0, 0, 1, 3]))):  # loans that are over
        world.spare_for[s], world.lent_until[s], world.recalled[s] = current[s], T0 + timedelta(hours=4), T0
    return world


def a_policy(draws: random.Random) -> MovePolicy:
    return replace(
        POLICY,
        moves_max=draws.choice([1, 2, 5, 20]),
        msb_moves_max=draws.choice([None, None, 1, 2]),
        msb_share_max=draws.choice([1.0, 0.3, 0.05]),
        loan_s_max=draws.choice([None, 600.0]),
        attempts_max=draws.choice([3, 4]),
    )


def level(world: World, r: int, servers: Collection[int]) -> float:
    """Return the RRU that the servers give r after the worst loss that it is to survive."""
    kinds = [k for k, survives in enumerate((world.survives, world.blocks and world.survives_block)) if survives]
    lost = Counter[tuple[int, int]]()
    for s in servers:
        lost.update({(k, world.place(s)[k]): world.worth(s, r) for k in kinds})
    return sum(world.worth(s, r) for s in servers) - max(lost.values(), default=0.0)


def trouble(world: World, policy: MovePolicy, draws: random.Random) -> datetime:
    """Let steps fail, servers go down, and people and plans change what they can. Return the time afterwards."""
    now, servers = T0, sorted(world.target)
    for _ in range(draws.choice([0, 0, 3, 10, 60])):
        tick(world, policy, now, draws if draws.random() < 0.7 else None)
        now += timedelta(seconds=draws.choice([1, 1, 5, 5, 5, 30, 30, 200, 700, 15000]))
        live = sorted(world.promised)
        r, s = draws.choice(live), draws.choice(servers)
        event = draws.choice(["plan", "lent", "fails", "recovers", "hurry", "approve", "asks", *[""] * 9])
        if event == "plan":
            for s in draws.sample(servers, min(len(servers), 4)):
                if world.current[s] not in world.buffers:
                    world.target[s] = draws.choice([*live, *live, 0, *world.buffers])
        elif event == "lent":
            for s in world.spare_for:
                world.target[s] = draws.choice([world.target[s], *live])
            for s in draws.sample(servers, min(len(servers), 6)):
                if world.current[s] in live:
                    world.target[s] = draws.choice(live)
        elif event == "fails":
            world.down.add(s)
        elif event == "recovers":
            world.down.discard(draws.choice([s, *world.down]))
        elif event == "hurry":
            world.hurried |= {s for s in servers if world.current[s] in live and world.waits(s)}
        elif event == "approve":
            world.exceptions = draws.choice([None, approval(world, draws, now)])
        elif event == "asks":
            asks(world, draws, r)
    return now


def asks(world: World, draws: random.Random, r: int) -> None:
    """Let the owner of r delete it, or ask for other capacity, another host profile, a hard limit or a grant."""
    what = draws.choice(["delete", "capacity", "profile", "limit", "request"])
    if what == "delete" and len(world.promised) > 2:
        world.deleted.add(r)
        del world.promised[r]
        world.granted.pop(r, None)
        world.target |= {s: 0 for s, to in world.target.items() if to == r}
    elif what == "capacity":
        world.promised[r] = max(0.0, world.promised[r] + draws.choice([-1, 1]))
        world.granted.pop(r, None)
    elif what == "profile":
        world.profile_of[r] = draws.choice([r, r + 10])
    elif what == "limit":
        world.no_loans ^= {r}
    elif what == "request" and world.granted.pop(r, None) is None:
        world.granted[r] = max(0.0, world.promised[r] - 1)


def approval(world: World, draws: random.Random, now: datetime) -> StoredExceptions:
    ways = [(s, world.current[s], world.goal(s)) for s in sorted(world.current) if world.current[s] and world.waits(s)]
    named = [way for way in ways if way[2] in world.promised and draws.random() < 0.8]
    below_rru = {from_id: float(draws.choice([1, 2, 5])) for _, from_id, _ in named}
    rejected, decided = draws.random() < 0.2, draws.choice([None, now])
    return replace(excepted(below_rru, *named, decided=decided), is_rejected=rejected)


def settle(world: World, policy: MovePolicy, now: datetime, seed: int) -> datetime:
    """Let the mover work until nothing changes any more. Return the time."""
    same, before, begun = 0, None, Counter[tuple[int, int]]()
    for _ in range(1500):
        snapshot, lent = world.snapshot(), set(world.spare_for.items())
        tick(world, policy, now, None)
        now += STEP
        new = world.spare_for.items() - lent
        assert of_no_use(world, snapshot, new) == set(), f"{seed}: loans let no server leave"
        begun.update(new)
        assert max(begun.values(), default=0) <= 2, f"{seed}: a loan begins and ends again and again"
        state = (dict(world.current), dict(world.running), dict(world.spare_for), set(world.recalled))
        state = (*state, dict(world.waiting), dict(world.waits_of))
        same, before = same + 1 if state == before else 0, state
        if same >= RESTS:
            return now
    raise AssertionError(f"{seed}: moves or loans begin and end again and again")


def of_no_use(world: World, snapshot: MovesSnapshot, lent: Collection[tuple[int, int]]) -> set[int]:
    """Return the reservations whose servers could not leave even if the (server, reservation) `lent` had joined."""
    before, guard = Guard(snapshot.holdings), Guard(snapshot.holdings)
    for s, r in lent:
        guard.arrive(r, world.place(s), world.worth(s, r))
        guard.start_again(r)
    waiting, borrowers = snapshot.waiting, {r for _, r in lent}
    leavers = [(m.from_reservation_id, (m.place, m.leaves_rru), snapshot.yields(m)) for m in snapshot.running]
    rows = np.flatnonzero(snapshot.pressing & np.isin(waiting.current_id, list(borrowers))).tolist()
    leavers += [(int(waiting.current_id[k]), waiting.worth(k), bool(snapshot.yielding[k])) for k in rows]
    at_survive, at_hold, without = (
        {r for r, worth, yields in leavers if r in borrowers and one.may_leave(r, *worth, hold=hold, yields=yields)}
        for one, hold in ((guard, False), (guard, True), (before, True))
    )
    return borrowers - at_survive - (at_hold - without)


def wrong(world: World, now: datetime) -> list[tuple[str, int]]:
    """Return what is wrong in a world at rest: servers that could leave, and waits and loans that are not true."""
    snapshot, found = world.snapshot(), list[tuple[str, int]]()
    waiting, guard = snapshot.waiting, Guard(snapshot.holdings)
    approved = world.exceptions is not None and world.exceptions.state(now).value == "approved"
    servers = Counter[int]()
    for move in snapshot.running:
        r, worth, yields = move.from_reservation_id or 0, (move.place, move.leaves_rru), snapshot.yields(move)
        servers[r] += 1
        if move.asked or move.step is not MoveStep.PREEMPT or guard.may_leave(r, *worth, yields=yields):
            found.append(("its move could go on", move.server_id))
        if snapshot.presses(move) and guard.may_leave(r, *worth, hold=True, yields=yields):
            found.append(("its move could go on at hold", move.server_id))
    for row, (s, r) in enumerate(zip(waiting.id.tolist(), waiting.current_id.tolist(), strict=True)):
        servers[r] += 1
        presses, yields = bool(snapshot.pressing[row]), bool(snapshot.yielding[row])
        if r not in world.promised or guard.may_leave(r, *waiting.worth(row), yields=yields):
            found.append(("it could leave", s))
        elif (presses or s in world.hurried) and guard.may_leave(r, *waiting.worth(row), hold=True, yields=yields):
            found.append(("it could leave at hold", s))
    told = {r: wait.servers for r, wait in world.waits_of.items()}
    found += [("the number that waits", r) for r in servers.keys() | told.keys() if servers[r] != told.get(r)]
    causes = {WaitsFor.CAPACITY} if approved or world.exceptions is None else {WaitsFor.CAPACITY, WaitsFor.APPROVAL}
    found += [("nothing else will come", r) for r, wait in world.waits_of.items() if wait.waits_for not in causes]
    giving = set(waiting.current_id[snapshot.pressing].tolist())
    giving |= {move.from_reservation_id for move in snapshot.running if snapshot.presses(move)}
    lent = ((s, r) for s, r in world.spare_for.items() if s not in world.recalled)
    return found + [("lent without need", s) for s, r in lent if r not in giving]
