"""Run every solver on tiny random problems, against enumeration by a second set of definitions."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.fuzz.bench import Tally, case_of, fuzz_one, look
from benchmarks.fuzz.case import Case, DimensionWords, PartitionWords, ScopeWords, Wish
from benchmarks.fuzz.definitions import DEFINITIONS
from benchmarks.fuzz.judge import judge
from benchmarks.fuzz.runs import PLAIN, Run
from benchmarks.fuzz.script import script_of
from benchmarks.fuzz.truth import Truth
from benchmarks.fuzz.words import GENERATORS
from libs.assignment.language.specs.capacity import CapacitySpec
from libs.assignment.language.specs.colocate_groups import ColocateGroupsSpec
from libs.assignment.language.specs.filter import Filter
from libs.assignment.language.specs.group_count import GroupCountSpec
from libs.assignment.language.specs.maximize_allocation import MaximizeAllocationSpec
from libs.assignment.language.specs.minimize_bins import MinimizeBinsSpec
from libs.assignment.language.specs.moves_in_progress import MovesInProgressSpec
from libs.assignment.language.specs.registry import all_specs
from libs.assignment.solvers.limits import StoppedBy
from libs.assignment.solvers.result import Outcome

SEED, CASES, A_TIME = 21, 100, 20
"""Seed of the drawn problems, their number, and the number per test."""
SOLVERS = tuple(run.solver for run in PLAIN)


def test_every_spec_is_drawn_and_defined_a_second_time() -> None:
    assert set(GENERATORS) == set(all_specs())
    assert set(DEFINITIONS) == set(all_specs())


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("first", range(0, CASES, A_TIME))
def test_solvers_say_what_is_so(first, solver) -> None:
    tally = Tally()
    found = [finding for k in range(A_TIME) for finding in fuzz_one(SEED, first + k, tally, solver)]
    assert found == [], tally.scripts
    assert tally.runs


def test_cases_are_of_many_kinds() -> None:
    """Some are markets that prices solve, and some have amounts far from 1."""
    cases = [case_of(SEED, k)[0] for k in range(CASES)]
    amounts = [value for case in cases for words in case.dimensions.values() for value in words.objects if value]
    assert sum("worth" in case.dimensions for case in cases) > CASES / 10
    assert min(map(abs, amounts)) < 1e-6
    assert max(map(abs, amounts)) > 1e6


def liar(**said) -> Run:
    """Return a solver that leaves everything in place, with the given claims."""
    told = {"objective": ((0.0,), (0.0,)), "broken": (0.0, 0.0), "stopped_by": StoppedBy.DONE, "moved": 0} | said

    def solve(problem, limits, *, seed):
        assignment = told.get("assignment", problem.initial)
        rest = {key: value for key, value in told.items() if key != "assignment"}
        return Outcome(
            assignment=assignment, improved=False, tries=0, seed=seed, build_s=0, solve_s=0, timeline=(), **rest
        )

    return Run(solver="auto", solve=solve, cut=True)


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ({"stopped_by": StoppedBy.OPTIMAL}, "false-optimum"),
        ({"bound": (0.0, -0.5)}, "false-bound"),
        ({"objective": ((0.0,), (-1.0,))}, "misreported"),
        (
            {"assignment": np.array([0, 0]), "objective": ((0.0,), (-2.0,)), "moved": 2, "broken": (0.0, 1.0)},
            "hard-worse",
        ),
        ({"assignment": np.array([1, 7])}, "no assignment"),
        ({"moved": 1}, "misreported"),
    ],
)
def test_the_judge_finds_each_kind_of_lie(said, kind) -> None:
    out = Filter(but=[1])
    case = Case(
        objects=2,
        containers=2,
        initial=(1, 1),
        dimensions={"cpu": DimensionWords(objects=(1.0, 1.0), containers=(1.0, 0.0))},
        wishes=(
            Wish(spec=CapacitySpec(dimension="cpu", filter=out), goal=False),
            Wish(spec=MaximizeAllocationSpec(filter=out), goal=True, normalise=False),
        ),
    )
    assert judge(case, Truth(case), liar(**said), 0).findings[0].kind == kind
    assert judge(case, Truth(case), liar(), 0).findings == ()
    assert Truth(case).best.tolist() == [0.0, -1.0]
    crashed = Run(solver="mip", solve=lambda problem, limits, seed: [][0])
    assert look(case, crashed, 0, twice=False).findings[0].kind.startswith("crash IndexError")
    assert look(case, PLAIN[2], 0, twice=True).loss == pytest.approx(0.0)


def test_rounding_is_of_the_amounts_that_a_constraint_reads() -> None:
    """A thousandth over a limit counts, even beside another dimension of a thousand million."""
    case = Case(
        objects=1,
        containers=2,
        initial=(1,),
        dimensions={
            "memory": DimensionWords(objects=(1e-3,), containers=(0.0, 0.0)),
            "worth": DimensionWords(objects=(1e9,)),
        },
        wishes=(
            Wish(spec=CapacitySpec(dimension="memory", filter=Filter(but=[1])), goal=False),
            Wish(spec=MaximizeAllocationSpec(dimension="worth", filter=Filter(but=[1])), goal=True),
        ),
    )
    assert Truth(case).legal.tolist() == [False, True]


def test_what_others_break_hides_nothing() -> None:
    """An excess of 0.003 counts, or none, beside a possible excess or weight of three thousand million."""
    out = Filter(but=[2])
    case = Case(
        objects=1,
        containers=3,
        initial=(0,),
        dimensions={
            "cpu": DimensionWords(objects=(3e-3,), containers=(0.0, 0.0, 0.0)),
            "memory": DimensionWords(objects=(3e9,), containers=(8e9, 0.0, 0.0)),
        },
        wishes=(
            Wish(spec=CapacitySpec(dimension="cpu", filter=out), goal=False),
            Wish(spec=CapacitySpec(dimension="memory", filter=out), goal=False),
            Wish(spec=MaximizeAllocationSpec(filter=out), goal=True, normalise=False),
        ),
    )
    assert Truth(case).best.tolist() == [0.0, 0.0]
    heavy = Case(
        objects=2,
        containers=3,
        initial=(0, 1),
        partitions={"job": PartitionWords(member=(0, 1), group=(0, 0), groups=1)},
        dimensions={"cpu": DimensionWords(objects=(0.0, 1e9))},
        wishes=(
            Wish(spec=ColocateGroupsSpec(partition="job", dimension="cpu"), goal=False, weight=1e9),
            Wish(spec=MovesInProgressSpec(moves=[(0, 1), (1, 2)]), goal=False),
            Wish(spec=MinimizeBinsSpec(), goal=True, normalise=False),
        ),
    )
    assert Truth(heavy).best.tolist() == [0.0, 2.0]


def test_a_table_without_items_is_written_out() -> None:
    rack = ScopeWords(item=(-1, -1), items=0)
    like = DimensionWords(objects=(0.0,), by_item=("rack", (1,), ((), ())))
    case = Case(objects=1, containers=2, initial=(0,), scopes={"rack": rack}, dimensions={"like": like})
    exec(script_of(case, PLAIN[2], 0), {})


def test_a_table_of_no_classes_can_be_stated() -> None:
    by_item = ("rack", (), ())
    case = Case(
        objects=0,
        containers=2,
        initial=(),
        scopes={"rack": ScopeWords(item=(-1, -1), items=0)},
        dimensions={"memory": DimensionWords(objects=(), by_item=by_item)},
    )
    assert case.problem().dimensions["memory"] is not None
    assert len(Truth(case).world) == 1


def test_a_verdict_may_count_what_a_sum_of_floats_loses() -> None:
    """A move that mends a break of 1 is better, although the total excess of 2e18 rounds it away."""
    case = Case(
        objects=2,
        containers=2,
        initial=(0, 0),
        partitions={
            "job": PartitionWords(member=(0, 1), group=(0, 0), groups=2),
            "team": PartitionWords(member=(0, 1), group=(1, 1), groups=2),
        },
        dimensions={"debt": DimensionWords(objects=(0.0, 2e9))},
        wishes=(
            Wish(spec=GroupCountSpec(partition="team"), goal=False),
            Wish(spec=GroupCountSpec(partition="job", dimension="debt"), goal=False, weight=1e9),
        ),
    )
    moves = Truth(case, np.array([[0, 0], [1, 0]]))
    assert moves.levels[0, 0] == moves.levels[1, 0]
    assert moves.growth[:, 0].tolist() == [0.0, -1.0]
    assert look(case, PLAIN[2], 1, twice=False).findings == ()
