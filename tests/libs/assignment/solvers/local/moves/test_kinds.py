"""Every kind of change does as documented, and finds improvements that other kinds miss."""

from __future__ import annotations

import numpy as np
import pytest

from libs.assignment.incremental.borrow import borrow_state, borrow_tables
from libs.assignment.incremental.program import Program, compile_problem
from libs.assignment.incremental.tables import MOVES_AT, State, Tables
from libs.assignment.kernels.jit import compiled
from libs.assignment.language.arrays import Floats, Ints
from libs.assignment.language.errors import BadValues
from libs.assignment.language.problem import Problem
from libs.assignment.language.specs.capacity import CapacitySpec
from libs.assignment.language.specs.limit import Limit
from libs.assignment.language.specs.minimize_movement import MinimizeMovementSpec
from libs.assignment.solvers.local.anneal import GAINED, MADE, TRIED
from libs.assignment.solvers.local.move_frequencies import BASE, Mix, usable_kinds
from libs.assignment.solvers.local.moves import kinds
from libs.assignment.solvers.local.moves.kernighan_lin import MEMBERS_MAX, RUN_MAX, members_of, run_between
from libs.assignment.solvers.local.moves.kinds import ask_kind
from libs.assignment.solvers.local.random_draws import random_below, random_share, seed_random
from libs.assignment.solvers.local.solver import solve_local
from libs.assignment.solvers.local.walk import NO_PROPOSALS, checked_proposals
from libs.assignment.solvers.settings import SearchLimits

SEEDS = range(200)


@compiled
def ask_once(g: Tables, s: State, kind: int, level: int, proposals: Ints, seed: int) -> int:
    g, s = borrow_tables(g), borrow_state(s)
    seed_random(g, s, seed)
    return ask_kind(g, s, kind, level, proposals)


@compiled
def draws(g: Tables, s: State, below: Ints, shares: Floats) -> None:
    g, s = borrow_tables(g), borrow_state(s)
    seed_random(g, s, 5)
    for k in range(len(below)):
        below[k] = random_below(g, s, 7)
        shares[k] = random_share(g, s)


def eight_on_four() -> Program:
    """Return two classes of four objects each on four containers; each object starts in 0 or 1."""
    problem = Problem(objects=8, containers=4, initial=[0, 0, 0, 1, 0, 0, 1, 1])
    problem.add_dimension("cpu", [1, 1, 1, 1, 5, 5, 5, 5])
    problem.add_goal(CapacitySpec(dimension="cpu", limit=Limit(default=6)), normalise=False)
    return compile_problem(problem, to_search=True)


def asked(program: Program, kind: int, seed: int, assignment: list[int], proposals: Ints) -> list[tuple[int, int, int]]:
    """Return (object, from, to) for each object to move."""
    state = program.state(np.array(assignment))
    count = ask_once(program.tables, state, kind, 1, proposals, seed)
    at = int(program.tables.node[0, MOVES_AT])
    return [tuple(state.whole[at + 3 * k : at + 3 * k + 3].tolist()) for k in range(count)]


NOW = [0, 1, 2, 3, 0, 0, 2, 3]


@pytest.mark.parametrize("kind", range(len(kinds.NAMES) - 1), ids=kinds.NAMES[:-1])
def test_a_change_moves_different_objects_from_where_they_are(kind: int) -> None:
    program = eight_on_four()
    found = [asked(program, kind, seed, NOW, NO_PROPOSALS) for seed in SEEDS]
    assert any(found)
    for moves in found:
        assert len({o for o, _, _ in moves}) == len(moves)
        assert all(NOW[o] == a != b for o, a, b in moves)
    assert {o for moves in found for o, _, _ in moves} <= set(range(8))


def test_homes_swaps_and_chains_go_where_they_say() -> None:
    program = eight_on_four()
    home = program.problem.initial
    for seed in SEEDS:
        for o, _, b in asked(program, kinds.HOME, seed, NOW, NO_PROPOSALS):
            assert b == home[o]
        swap = asked(program, kinds.SWAP, seed, NOW, NO_PROPOSALS)
        assert not swap or (swap[0][2], swap[1][2]) == (swap[1][1], swap[0][1])
        chain = asked(program, kinds.CHAIN, seed, NOW, NO_PROPOSALS)
        assert not chain or chain[0][2] == chain[1][1]
        three = asked(program, kinds.CHAIN_OF_THREE, seed, NOW, NO_PROPOSALS)
        assert not three or (three[0][2], three[1][2]) == (three[1][1], three[2][1])
    rings = [asked(program, kinds.CHAIN_OF_THREE, seed, NOW, NO_PROPOSALS) for seed in SEEDS]
    closed = [ring[2][2] == ring[0][1] for ring in rings if ring]
    assert any(closed)
    assert not all(closed)


def test_those_that_change_places_are_alike_in_what_is_counted() -> None:
    """Forty sizes, apart in four of six dimensions: the sixteen nearest are far nearer than random ones."""
    rng = np.random.default_rng(3)
    sizes = np.concatenate([rng.uniform(1, 100, size=(40, 4)), rng.uniform(50, 50.01, size=(40, 2))], axis=1)
    problem = Problem(objects=80, containers=8, initial=np.arange(80) % 8)
    for k in range(6):
        problem.add_dimension(f"size {k}", np.repeat(sizes[:, k], 2))
        problem.add_constraint(CapacitySpec(name=f"{k}", dimension=f"size {k}", limit=Limit(default=2000)))
    program = compile_problem(problem, to_search=True)
    scaled = sizes / sizes.mean(axis=0)
    apart = np.linalg.norm(scaled[:, None] - scaled[None, :], axis=2)
    near = np.sort(apart, axis=1)[:, 16] + 1e-9
    now = (np.arange(80) % 8).tolist()
    swaps = [asked(program, kinds.SWAP_ALIKE, seed, now, NO_PROPOSALS) for seed in range(2_000)]
    pairs = {(swap[0][0], swap[1][0]) for swap in swaps if swap}
    assert len({one for one, _ in pairs}) == 80
    assert any(one // 2 == other // 2 for one, other in pairs)
    assert max(apart[one // 2, other // 2] - near[one // 2] for one, other in pairs) <= 1e-3


def test_some_of_a_class_leave_one_container_for_another_together() -> None:
    program = eight_on_four()
    everywhere = [0] * 8
    sizes = set()
    for seed in SEEDS:
        moves = asked(program, kinds.SOME_OF_CLASS, seed, everywhere, NO_PROPOSALS)
        if moves:
            assert len({o // 4 for o, _, _ in moves}) == len({b for _, _, b in moves}) == 1
            sizes.add(len(moves))
    assert sizes == {2, 3, 4}


def test_the_best_of_a_sample_is_no_worse_than_most() -> None:
    """A small object has four full containers and an empty one to choose from. It finds the empty one nearly always."""
    problem = Problem(objects=6, containers=6, initial=[0, 0, 1, 2, 3, 4])
    problem.add_dimension("cpu", [1, 9, 9, 9, 9, 9])
    problem.add_goal(CapacitySpec(dimension="cpu", limit=Limit(default=9)), normalise=False)
    program = compile_problem(problem)
    found = [asked(program, kinds.BEST_OF_SAMPLE, s, [0, 0, 1, 2, 3, 4], NO_PROPOSALS) for s in range(600)]
    small = [b for moves in found for o, _, b in moves if o == 0]
    assert len(small) > 50
    assert sum(b == 5 for b in small) > 0.6 * len(small)


def pairs_only() -> Problem:
    """Objects 0 and 1, and 2 and 3, must be together, and gain elsewhere: single moves are forbidden."""
    problem = Problem(objects=4, containers=2, initial=[0, 0, 0, 0])
    for name, sides in (("one", [1, -1, 0, 0]), ("two", [0, 0, 1, -1])):
        problem.add_dimension(name, sides, signed=True)
        problem.add_constraint(CapacitySpec(name=name, dimension=name, limit=Limit(default=0)))
    problem.add_dimension("load", [1, 1, 1, 1])
    problem.add_goal(CapacitySpec(dimension="load", limit=Limit(default=2)), normalise=False)
    return problem


def test_the_callers_own_changes_are_tried() -> None:
    seen = []

    def propose(assignment: Ints) -> Ints:
        seen.append(assignment)
        return np.array([[0, 1, 1, 1], [2, 0, -1, -1]])

    assert not solve_local(pairs_only(), SearchLimits(tries_max=5_000)).improved
    result = solve_local(pairs_only(), SearchLimits(tries_max=5_000), proposer=propose)
    assert seen
    assert result.objective[1] == (0.0,)
    program = compile_problem(pairs_only())
    wanted = {((0, 0, 1), (1, 0, 1)), ((2, 1, 0),)}
    proposals = propose(np.zeros(4, dtype=np.int64))
    assert {tuple(asked(program, kinds.PROPOSAL, s, [0, 0, 1, 0], proposals)) for s in SEEDS} == wanted


@pytest.mark.parametrize(
    ("proposals", "why"),
    [
        ([[0]], "shape"),
        ([[4, 0]], "does not exist"),
        ([[0, 2]], "does not exist"),
        ([[0, -1]], "has no container"),
        ([[0, 1, 0, 0]], "twice"),
    ],
)
def test_changes_that_make_no_sense_are_refused(proposals: list[list[int]], why: str) -> None:
    with pytest.raises(BadValues, match=why):
        checked_proposals(np.array(proposals), compile_problem(pairs_only()))


def test_a_kernighan_lin_run_goes_through_what_is_worse() -> None:
    """Both must swap, and each move alone is worse."""
    problem = Problem(objects=2, containers=2, initial=[0, 1])
    problem.add_dimension("cpu", [5, 4])
    problem.add_goal(CapacitySpec(dimension="cpu", limit=Limit(items=np.array([4.0, 5.0]))), normalise=False)
    program = compile_problem(problem)
    state, counts = program.state(problem.initial), np.zeros(3 + MEMBERS_MAX + RUN_MAX, dtype=np.int64)
    assert state.part[1] == 1
    tolerance, pairs = np.full(2, 1e-9), np.array([[0, 1]])
    lists = members_of(problem.initial, program.movable, 2)
    run_between(program.tables, state, lists, 1, pairs, 10_000, 1, tolerance, counts)
    assert state.part[1] == 0
    assert program.state(state.whole[:2].copy()).part[1] == 0
    assert counts[1] == 2  # moves kept
    assert counts[2] == 1  # pairs examined
    run_between(program.tables, state, lists, 1, pairs, 10_000, 2, tolerance, counts)
    assert state.part[1] == 0
    assert counts[1] == 0


def test_kinds_that_gain_are_tried_more_and_none_is_forgotten() -> None:
    program = eight_on_four()
    usable = usable_kinds(program, proposals=False)
    assert usable.tolist() == [1, 1, 1, 1, 1, 1, 1, 1, 0]
    mix = Mix(usable)
    before = mix.shares.copy()
    tally = np.zeros((len(kinds.NAMES), 3))
    tally[:, TRIED] = 100
    tally[kinds.SWAP, MADE], tally[kinds.SWAP, GAINED] = 10, 50.0
    mix.learn(tally)
    assert mix.shares.sum() == pytest.approx(1)
    assert mix.shares[kinds.SWAP] > before[kinds.SWAP]
    assert (mix.shares[usable == 1] > 0).all()
    assert len(BASE) == len(kinds.NAMES)
    alone = Problem(objects=2, containers=2, initial=[0, 0])
    alone.add_dimension("cpu", [1, 2])
    alone.add_goal(MinimizeMovementSpec(dimension="cpu"))
    some = [kinds.SOME_OF_CLASS, kinds.SWAP_ALIKE, kinds.PROPOSAL]
    assert usable_kinds(compile_problem(alone, to_search=True), proposals=True)[some].tolist() == [0, 1, 1]
    assert usable_kinds(compile_problem(alone), proposals=True)[some].tolist() == [0, 0, 1]


def test_draws_are_even_and_depend_on_the_seed_alone() -> None:
    program = eight_on_four()
    below, shares = np.zeros(70_000, dtype=np.int64), np.zeros(70_000)
    draws(program.tables, program.state(program.problem.initial), below, shares)
    assert np.bincount(below, minlength=7) == pytest.approx(np.full(7, 10_000), rel=0.05)
    assert shares.min() >= 0
    assert shares.max() < 1
    assert np.histogram(shares, 10, (0, 1))[0] == pytest.approx(np.full(10, 7_000), rel=0.06)
    again = below.copy()
    draws(program.tables, program.state(np.zeros(8, dtype=np.int64)), again, shares)
    assert (again == below).all()
