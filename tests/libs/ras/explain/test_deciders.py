"""Check every claim about deciders against an oracle that tries all answers on single servers."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

from libs.domain.fleet import FREE
from libs.domain.reservation import ReservationSpec
from libs.ras.admission import THOROUGH, plan_with_free_servers
from libs.ras.evaluate import evaluate
from libs.ras.explain.deciders import SERVER_COST, decide
from libs.ras.explain.relaxations import enough_of
from libs.ras.single_reservation import alone, own_and_free
from tests.builders.random_region import random_region, region, retargeted
from tests.builders.region import region_image

MANY = settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
TOLERANCE = 1e-3
TIME_S = 600.0
"""So much time that a busy machine leaves no question open."""


def with_policy(snapshot, **values):
    return replace(snapshot, policy=replace(snapshot.policy, **values))


def with_column(snapshot, name, value):
    column = np.full_like(getattr(snapshot.reservations, name), value)
    return replace(snapshot, reservations=replace(snapshot.reservations, **{name: column}))


WITHOUT = {
    "Capacity": lambda s: with_policy(s, shortfall_cost=0.0),
    "MsbLoss": lambda s: with_column(s, "survives_msb_loss", False),
    "BufferCost": lambda s: with_policy(s, buffer_cost=0.0),
    "SurplusCost": lambda s: with_policy(s, surplus_cost=0.0),
    "MsbSpread": lambda s: with_column(s, "msb_spread_limit", np.inf),
    "Affinity": lambda s: with_column(s, "affinity_share", np.nan),
    "MoveCost": lambda s: with_policy(s, move_cost_idle=0.0, move_cost_in_use=0.0),
}


class Oracle:
    """All answers for a region of one reservation: counts by place, each valued on its single servers."""

    def __init__(self, snapshot, most_by_place):
        s = snapshot.servers
        self.snapshot = snapshot
        types = len(snapshot.hardware_types)
        self.place = snapshot.server_msb * types + s.hardware_type
        self.fixed = ~s.available & (s.target == 0)
        useful = (snapshot.reservations.rru[0, s.hardware_type] > 0) | (s.target == 0)
        self.rows = {
            p: sorted(np.flatnonzero((self.place == p) & s.available & useful), key=lambda i: -self._keep(i))
            for p in set(self.place.tolist())
        }
        self.rows = {p: rows for p, rows in self.rows.items() if rows}
        self.most = {p: min(len(rows), most_by_place.get(p, len(rows))) for p, rows in self.rows.items()}

    def _keep(self, i):
        """Keep the most expensive to move, and keep held servers before others join."""
        s = self.snapshot.servers
        return (s.target[i] == 0) * (1 + s.in_use[i])

    def binding(self, counts):
        found = np.where(self.fixed, 0, FREE).astype(np.int32)
        for place, count in counts.items():
            found[self.rows[place][:count]] = 0
        return found

    def every(self):
        places = list(self.rows)
        for counts in itertools.product(*(range(self.most[p] + 1) for p in places)):
            yield dict(zip(places, counts, strict=True))

    def held(self):
        s = self.snapshot.servers
        return {p: sum(s.target[i] == 0 for i in rows) for p, rows in self.rows.items()}

    def value(self, counts, relaxed, server_cost=0.0):
        """Penalty and cost: the first decides."""
        score = evaluate(relaxed, self.binding(counts))
        servers = server_cost * sum(counts.values())
        return score.penalty, score.objective - score.rack_spread + servers

    def best(self, relaxed, limit, server_cost=0.0):
        """Return the least value of any answer whose penalty is within the limit."""
        found = [self.value(counts, relaxed, server_cost) for counts in self.every()]
        least = min(penalty for penalty, _ in found)
        assert least <= limit + 1e-6
        return least, min(cost for penalty, cost in found if penalty <= least + TOLERANCE / 10)


def is_less(one, other, by=0.0):
    """Return whether one value is lower at the first priority at which they differ by more than `by`."""
    differ = [a - b for a, b in zip(one, other, strict=True) if abs(a - b) > by]
    return bool(differ) and differ[0] < 0


def settled_region(seed):
    """Return a random region in which each reservation holds the best of its own and the free servers."""
    rng = np.random.default_rng(seed)
    snapshot = random_region(rng, int(rng.integers(2, 9)), int(rng.integers(1, 4)))
    for r in range(len(snapshot.reservations)):
        snapshot = retargeted(snapshot, plan_with_free_servers(snapshot, r, THOROUGH).target)
    return snapshot


@MANY
@given(st.integers(0, 2**32 - 1))
def test_what_is_said_to_decide_changes_the_answer_and_nothing_else_does(seed):
    note(f"seed {seed}")
    snapshot = settled_region(seed)
    for r in range(len(snapshot.reservations)):
        own = alone(snapshot, r, own_and_free(snapshot, r))
        oracle = Oracle(own, {})
        held = oracle.held()
        value = oracle.value(held, own)
        limit = value[0]
        found = decide(snapshot, r, time_s_max=TIME_S)
        assert found.settled
        if is_less(oracle.best(own, limit), value, TOLERANCE):  # a later reservation freed servers that would serve it
            assert found.could_save != 0
            continue
        assert found.could_save == 0
        afresh = dict(held)
        named = {d.name: d for d in found.deciders}
        if "MoveCost" in named:
            change(own, afresh, named["MoveCost"].now.changes)
        for decider in found.deciders:
            if decider.name == "Supply":
                continue
            relaxed = WITHOUT[decider.name](own)
            note(f"seed {seed} reservation {r} {decider}")
            agree(oracle, relaxed, decider.now, held, limit, SERVER_COST if decider.name == "MoveCost" else 0.0)
            if decider.afresh is not None:
                agree(oracle, WITHOUT["MoveCost"](relaxed), decider.afresh, afresh, limit, SERVER_COST)
        agree_on_supply(own, found)


def agree(oracle, relaxed, outcome, counts, limit, server_cost):
    """Check an outcome against trying all answers without the term, and that its answer is as good."""
    value, best = oracle.value(counts, relaxed, server_cost), oracle.best(relaxed, limit, server_cost)
    alike = max(TOLERANCE, 4e-9 * max(value))
    if outcome.decides:
        assert is_less(best, value)
        shown = dict(counts)
        change(oracle.snapshot, shown, outcome.changes)
        assert oracle.value(shown, relaxed, server_cost) == pytest.approx(best, abs=alike)
        before, after = (evaluate(relaxed, oracle.binding(c)) for c in (counts, shown))
        assert outcome.saves == pytest.approx(before.total_without_rack - after.total_without_rack, abs=1e-6)
    else:
        assert outcome.decides is False or is_less(best, value), "what so small a region has is always settled"
        assert not is_less(best, value, alike)
        assert not outcome.changes


def change(snapshot, counts, changes):
    msbs, types = snapshot.topology.msbs.tolist(), snapshot.hardware_types.tolist()
    for c in changes:
        place = msbs.index(c.msb) * len(types) + types.index(c.hardware_type)
        assert counts.get(place, 0) == c.with_it
        counts[place] = c.without_it


def agree_on_supply(own, found):
    """Check what is said of more servers of a type against trying all answers with a few more of them."""
    for decider in (d for d in found.deciders if d.name == "Supply"):
        t = own.hardware_types.tolist().index(decider.subject)
        extra = min(enough_of(own, t), 4)
        more = Oracle(with_more(own, t, extra), {})
        value = more.value(more.held(), more.snapshot)
        if is_less(more.best(more.snapshot, value[0]), value, TOLERANCE):
            assert decider.now.decides, "a few more already help"
        elif extra < 4:
            assert decider.now.decides is False


def with_more(snapshot, hardware_type, count):
    """Add `count` free servers of a type to the first rack of every MSB."""
    s, racks = snapshot.servers, snapshot.topology.rack_msb
    rack = np.repeat([np.flatnonzero(racks == m)[0] for m in range(len(snapshot.topology.msbs))], count)
    n = len(rack)
    new = {
        "id": np.arange(n) + 1000,
        "name": np.array([f"new-{i}" for i in range(n)], object),
        "rack": rack,
        "hardware_type": np.full(n, hardware_type),
        "current": np.full(n, FREE),
        "target": np.full(n, FREE),
        "in_use": np.zeros(n, bool),
        "available": np.ones(n, bool),
        "leaving": np.zeros(n, bool),
        "drained": np.zeros(n, bool),
        "awaited": np.zeros(n, bool),
        "booked": np.zeros(n, bool),
        "generation": np.ones(n, np.int64),
    }
    columns = {k: np.concatenate([getattr(s, k), v.astype(getattr(s, k).dtype)]) for k, v in new.items()}
    return replace(snapshot, servers=replace(s, **columns))


def test_the_loss_of_an_msb_and_what_is_free_decide():
    # 4 RRU must survive: 6 servers over three MSBs, with a largest buffer of 2. A fourth MSB gives the same.
    snapshot = region(
        msb_datacenter=(0, 0, 0, 0), servers=[(m, 0, 0) for m in (0, 0, 1, 1, 2, 2)], capacity=[4], msb_limit=[0.5]
    )
    found = {d.name: d for d in decide(snapshot, 0, time_s_max=TIME_S).deciders}
    # Without the buffer, two servers would be surplus, and each costs more than its move.
    assert {name for name, d in found.items() if d.now.decides} == {"Capacity", "MsbLoss"}
    assert {name for name, d in found.items() if d.afresh and d.afresh.decides} == {"Capacity", "MsbLoss"}
    without = found["MsbLoss"].afresh.changes
    assert sum(c.with_it - c.without_it for c in without) == 2


def test_uplinks_of_racks_decide_nothing():
    asked = {"msb_datacenter": (0, 0, 0), "servers": [(m, 0, 0) for m in (0, 0, 1, 1, 2, 2)], "capacity": [4]}
    sends = region(**asked, gbit_per_rru=[5.0], uplinks=[1.0, 20.0, np.inf])
    found, plain = (decide(one, 0, time_s_max=TIME_S) for one in (sends, region(**asked)))
    assert any(one.name == "Supply" for one in found.deciders), "more servers come in racks without a limit"
    assert [(one.name, one.now.decides) for one in found.deciders] == [
        (one.name, one.now.decides) for one in plain.deciders
    ]


def test_without_time_nothing_is_claimed():
    snapshot = random_region(np.random.default_rng(5), 200, 3, msbs=8, types=3)
    found = decide(snapshot, 0, time_s_max=0.0)
    assert not found.settled
    assert all(d.now.decides is not False for d in found.deciders if d.name == "BufferCost")


def test_a_guest_decides_by_its_share_of_each_server_too():
    host = ReservationSpec(capacity_rru=8, rru={"hw-a": 1.0})
    guest = ReservationSpec(capacity_rru=1, rru={"hw-a": 1.0}, guest_of="web", guest_share=0.5)
    held = {f"server-{8 * msb + n:02d}": "web" for msb, count in enumerate((6, 6, 5, 5)) for n in range(count)}
    image = region_image(msbs=4, servers_per_rack=8, reservations={"web": host, "cache": guest}, current=held)
    decider = next(one for one in decide(image.snapshot, 0).deciders if one.name == "Guest")
    assert decider.subject == "cache"
    assert decider.now.decides
    assert sum(change.without_it - change.with_it for change in decider.now.changes) == 11 - 22
    few = {f"server-{8 * msb + n:02d}": "web" for msb, count in enumerate((3, 3, 3, 2)) for n in range(count)}
    costs = [
        evaluate(one.snapshot, one.snapshot.servers.target).total_without_rack
        for one in (image, region_image(msbs=4, servers_per_rack=8, reservations={"web": host}, current=few))
    ]
    moved = 11 * image.snapshot.policy.move_cost_idle
    assert decider.now.saves == pytest.approx(costs[0] - costs[1] - moved)
