"""Watch the bindings from outside while plans are carried out: no move takes what a reservation was promised.

The watcher sees real servers and current bindings, and none of the mover's rules. Meanwhile plans change, servers fail
and come back, answers are lost, and outcomes stay unknown. Loans end in the midst of exchanges, and operators approve
some departures below the promise.
"""

from collections import Counter
from dataclasses import replace
from datetime import timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from libs.domain.move import MoveStep
from tests.builders.excepted import excepted
from tests.builders.exchanges import exchanges_with_spares
from tests.builders.moving_tick import tick
from tests.builders.moving_world import POLICY, T0, World


def told_to_leave(world: World, s: int) -> bool:
    """Return whether the server was told to leave, so that it may be gone at any moment."""
    running = world.running.get(s)
    moves = [world.fleet.late.get(s), running if running is not None and running.asked else None]
    return any(move is not None and move.step is MoveStep.PREEMPT for move in moves)


def sure(world: World, r: int) -> int:
    """Return how many servers r has for certain: up, bound to it, really in it, and not told to leave."""
    return sum(
        world.current[s] == r and r in owners and s not in world.down and not told_to_leave(world, s)
        for s, owners in world.fleet.owners.items()
    )


def really(world: World, r: int) -> int:
    """Return how many servers that are up are really in r."""
    return sum(r in owners and s not in world.down for s, owners in world.fleet.owners.items())


def survives_loss(world: World, servers: list[int]) -> int:
    """Return how many of these servers the loss of the worst MSB leaves."""
    held = Counter(s % world.msbs for s in servers)
    return len(servers) - max(held.values(), default=0)


def bound(world: World, r: int) -> int:
    """Return how many servers that are up are bound to r, as the interface shows them."""
    return sum(current == r and s not in world.down for s, current in world.current.items())


def disturb(world: World, data: st.DataObject) -> None:
    """Change plans, and let servers fail and come back."""
    for s in sorted(world.target):
        what = data.draw(st.integers(0, 60)) if s < 100 or s in world.spare_for else 60
        if what == 0 and s not in world.running:
            world.down.symmetric_difference_update({s})
        elif what == 1 and s not in world.running:
            world.target[s] = data.draw(st.integers(0, 2))


@given(exchanges_with_spares(), st.data())
@settings(max_examples=150, deadline=None)
def test_moves_take_nothing_of_a_promise_but_what_was_approved(world: World, data: st.DataObject) -> None:
    now = T0
    policy = replace(POLICY, loan_s_max=data.draw(st.sampled_from([20.0, 300.0, None])))
    below = dict.fromkeys(world.promised, 0.0)
    if data.draw(st.booleans()):
        ways = [(s, world.current[s], world.target[s]) for s in world.current if world.current[s]]
        below = {r: float(data.draw(st.integers(0, 2))) for r in world.promised}
        world.exceptions = excepted(below, *data.draw(st.lists(st.sampled_from(ways), unique=True)))
    calm = data.draw(st.booleans())
    for _ in range(40):
        if not calm:
            disturb(world, data)
        before = {r: (sure(world, r), set(world.down)) for r in world.promised}
        tick(world, policy, now, data)
        for r, promised in world.promised.items():
            had, down = before[r]
            failed = len(world.down - down)  # a move that failed for good takes its server down
            least = min(promised - below[r], had) - failed
            assert really(world, r) >= least, (
                f"r{r} has {really(world, r)} servers of {promised}, and had {had} for sure"
            )
            assert bound(world, r) >= least, f"{bound(world, r)} servers are bound to r{r} of {promised}"
            if calm and not world.down and not below[r]:
                assert really(world, r) >= promised, "held / promised is at least 1 at every moment"
        now += timedelta(seconds=data.draw(st.sampled_from([1, 30, 200])))


@given(exchanges_with_spares(), st.data())
@settings(max_examples=100, deadline=None)
def test_a_lent_server_goes_home_only_where_its_reservation_survives_without_it(
    world: World, data: st.DataObject
) -> None:
    now, policy = T0, replace(POLICY, loan_s_max=30.0)
    for _ in range(40):
        current, down = dict(world.current), set(world.down)
        told = {s for s in world.running if told_to_leave(world, s)}
        tick(world, policy, now, data)
        new = {s for s in world.running if told_to_leave(world, s)} - told
        for r, promised in world.promised.items():
            going = {s for s in new if current[s] == r}
            if not going or not going <= world.recalled.keys():
                continue  # a server that goes to another reservation may use the embedded buffer

            up = [s for s, at in current.items() if at == r and s not in down | told]
            after = survives_loss(world, [s for s in up if s not in going])
            assert after >= min(promised, survives_loss(world, up))
        now += timedelta(seconds=data.draw(st.sampled_from([1, 30, 200])))
