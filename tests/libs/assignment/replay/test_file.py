"""A replay file keeps the problem and gives the same answer; unknown names are refused."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from libs.assignment import Limits, Objective, solve
from libs.assignment.incremental.program import compile_problem
from libs.assignment.language.errors import ModelError, UnknownName
from libs.assignment.language.expressions.positive_part import PositivePart
from libs.assignment.language.flavour import Flavour
from libs.assignment.language.problem import Problem
from libs.assignment.language.specs.capacity import CapacitySpec
from libs.assignment.language.specs.filter import Filter
from libs.assignment.language.specs.limit import Bound, Limit, LimitType
from libs.assignment.language.specs.maximize_allocation import MaximizeAllocationSpec
from libs.assignment.language.specs.spec import SPECS, Spec, spec
from libs.assignment.language.specs.utilisation import utilisation
from libs.assignment.replay.codec import Reader, Writer
from libs.assignment.replay.file import Replay, load_replay, save_replay
from libs.assignment.solvers.price.settings import Granularity, PriceSettings
from libs.assignment.solvers.price.solver import solve_price
from libs.assignment.solvers.prices import Prices
from libs.assignment.solvers.registry import SOLVERS
from tests.libs.assignment.examples import EXAMPLES
from tests.libs.assignment.worlds import random_assignment, small_world


def every_spec() -> Problem:
    problem = small_world()
    for number, example in enumerate(EXAMPLES.values()):
        problem.add_goal(example.spec, weight=1 + number, priority=number % 2, normalise=number % 3 > 0)
    problem.add_constraint(CapacitySpec(name="fits", dimension="cpu", flavour=Flavour.DURING_AND_AFTER), weight=3)
    problem.add_constraint(EXAMPLES["group count"].spec, hard=False)
    return problem


def few_specs() -> Problem:
    problem = small_world()
    problem.add_goal(EXAMPLES["balance IDEAL RELATIVE"].spec)
    problem.add_constraint(EXAMPLES["avoid"].spec)
    return problem


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path, problem, limits = tmp_path_factory.mktemp("replay") / "solve.npz", few_specs(), Limits(tries_max=3_000)
    answer = solve(problem, limits, solver="local", seed=5).assignment
    save_replay(path, Replay(problem=problem, solver="local", limits=limits, seed=5, answer=answer))
    return path


def market() -> Problem:
    problem = Problem(objects=6, containers=3, initial=[2] * 6)
    problem.add_dimension("size", [1.0, 1.0, 2.0, 2.0, 3.0, 1.0], containers=[3.0, 4.0, 0.0])
    placed = Filter(but=[2])
    problem.add_constraint(CapacitySpec(dimension="size", filter=placed))
    problem.add_goal(MaximizeAllocationSpec(dimension="size", filter=placed))
    return problem


def changed_copy(path: Path, copy: Path, changed: dict[str, object]) -> Path:
    with np.load(path) as archive:
        arrays = {name: archive[name] for name in archive.files}
    document = json.loads(arrays.pop("document").tobytes()) | changed
    text = np.frombuffer(json.dumps(document).encode(), dtype=np.uint8)
    np.savez(copy, document=text, **arrays)
    return copy


def test_a_solve_from_a_file_gives_the_answer_that_it_gave(saved: Path) -> None:
    replay = load_replay(saved)
    assert (replay.solver, replay.seed, replay.limits) == ("local", 5, Limits(tries_max=3_000))
    assert replay.answer is not None
    assert (replay.answer != replay.problem.initial).any()
    assert (replay.solve().assignment == replay.answer).all()


def test_every_spec_means_the_same_after_it_was_in_a_file(tmp_path: Path) -> None:
    before = every_spec()
    save_replay(tmp_path / "all.npz", Replay(problem=before, solver="local", limits=None, seed=0))
    after = load_replay(tmp_path / "all.npz").problem
    assert [one.spec.where for one in after.goals] == [one.spec.where for one in before.goals]
    for one, other in zip(before.goals, after.goals, strict=True):
        assert (one.weight, one.priority, one.scale) == (other.weight, other.priority, other.scale)
        for seed in range(4):
            a = random_assignment(seed)
            assert other.cost.value(a)[0, 0] == one.cost.value(a)[0, 0]
    assert [(c.hard, c.weight) for c in after.constraints] == [(True, 3.0), (False, 1.0)]
    assert after.objects.name(3) == "task3"
    assert after.containers.index("", "host2") == 2
    levels = [p.state(random_assignment(1)).part[: p.levels] for p in map(compile_problem, (before, after))]
    assert (levels[0] == levels[1]).all()


def test_options_of_a_solver_are_kept(tmp_path: Path) -> None:
    problem = few_specs()
    limits = Limits(tries_max=2_000, time_s_max=1e9, parts=2, deal="RANDOM", split=["host0"], insist=True)
    options = {"part_solver": "local"}
    save_replay(
        tmp_path / "a.npz", Replay(problem=problem, solver="partitioned", limits=limits, seed=1, options=options)
    )
    replay = load_replay(tmp_path / "a.npz")
    assert (replay.limits, replay.options) == (limits, options)
    assert replay.solve().solver == "partitioned"


def test_the_objective_and_the_start_are_kept(tmp_path: Path) -> None:
    problem = few_specs()
    start = {problem.objects.name(k): problem.containers.name(int(c)) for k, c in enumerate(problem.initial)}
    replay = Replay(problem=problem, solver="mip", limits=Limits(nodes_max=5), objective="sum", start=start)
    save_replay(tmp_path / "a.npz", replay)
    back = load_replay(tmp_path / "a.npz")
    assert back.objective is Objective.SUM
    assert back.start is not None
    assert back.start.tolist() == problem.initial.tolist()
    assert back.solve().objective == replay.solve().objective


LIMITS = {
    "auto": Limits(tries_max=2_000),
    "local": Limits(tries_max=2_000, threads=2),
    "mip": Limits(nodes_max=50, relative_gap=0.01),
    "partitioned": Limits(tries_max=2_000),
    "portfolio": Limits(neighbourhoods_max=3, stall=2, exact_columns_max=0),
    "price": Limits(tries_max=2_000),
}


@pytest.mark.parametrize("solver", SOLVERS)
def test_the_limits_of_every_solver_are_kept(solver: str, tmp_path: Path) -> None:
    problem = market() if solver == "price" else few_specs()
    save_replay(tmp_path / "a.npz", Replay(problem=problem, solver=solver, limits=LIMITS[solver], seed=1))
    replay = load_replay(tmp_path / "a.npz")
    assert replay.limits == LIMITS[solver]
    again = solve(problem, LIMITS[solver], solver=solver, seed=1)
    assert (replay.solve().assignment == again.assignment).all()


def test_settings_and_known_prices_are_kept(tmp_path: Path) -> None:
    problem = market()
    known = solve_price(problem).prices
    settings = PriceSettings(granularity=Granularity.GLOBAL, rent=0.5, tries=3)
    options: dict[str, Any] = {"settings": settings, "prices": known}
    save_replay(tmp_path / "a.npz", Replay(problem=problem, solver="price", limits=Limits(), seed=0, options=options))
    replay = load_replay(tmp_path / "a.npz")
    assert replay.options["settings"] == settings
    back = replay.options["prices"]
    assert isinstance(known, Prices)
    assert isinstance(back, Prices)
    for field in fields(Prices):
        assert np.array_equal(getattr(back, field.name), getattr(known, field.name)), field.name
    assert replay.solve().solver == "price"


class Rate(Enum):
    LOW = 1
    HIGH = 3


@dataclass(frozen=True)
class Cap:
    rate: Rate
    most: float


@pytest.fixture
def own_spec(monkeypatch: pytest.MonkeyPatch) -> type[Spec]:
    """A spec as on the first page, with fields of the caller's own classes."""
    monkeypatch.setattr("libs.assignment.language.specs.spec.SPECS", dict(SPECS))

    @spec
    class CrowdSpec(Spec):
        cap: Cap

        def excess(self, problem: Problem) -> tuple[Any, ...]:
            held = utilisation(problem, self.where, "container", "cpu")
            return (PositivePart(held * float(self.cap.rate.value) - self.cap.most),)

    return CrowdSpec


def test_a_spec_of_the_caller_is_kept_where_its_classes_are_given(own_spec: type[Spec], tmp_path: Path) -> None:
    problem = few_specs()
    problem.add_goal(own_spec(cap=Cap(Rate.HIGH, 4.0)))  # type: ignore[call-arg]
    replay = Replay(problem=problem, solver="local", limits=Limits(tries_max=1_000), seed=2)
    own = [own_spec, Cap, Rate]
    for missing in own:
        with pytest.raises(
            ModelError, match=rf"{missing.__name__} is no class of the language; give it to save_replay"
        ):
            save_replay(tmp_path / "a.npz", replay, vocabulary=[one for one in own if one is not missing])
    assert not (tmp_path / "a.npz").exists()
    save_replay(tmp_path / "a.npz", replay, vocabulary=own)
    with pytest.raises(ModelError, match=r"no type named 'CrowdSpec'.*load_replay\(path, vocabulary=\[...\]\)"):
        load_replay(tmp_path / "a.npz")
    back = load_replay(tmp_path / "a.npz", vocabulary=own)
    assert back.problem.goals[-1].spec == own_spec(cap=Cap(Rate.HIGH, 4.0))  # type: ignore[call-arg]
    assert (back.solve().assignment == replay.solve().assignment).all()


def test_a_vocabulary_that_would_be_mistaken_is_refused(saved: Path) -> None:
    class Limit(Spec):
        """Named like a class of the language."""

    twice = type("CapacitySpec", (Spec,), {})
    for wrong, message in ((Limit, "is named 'Limit' too"), (twice, "is named 'CapacitySpec' too"), (int, "no datacl")):
        with pytest.raises(ModelError, match=message):
            load_replay(saved, vocabulary=[wrong])


def test_values_come_back_as_they_were() -> None:
    writer = Writer()
    given = CapacitySpec(
        dimension="cpu",
        bound=Bound.MIN,
        limit=Limit(type=LimitType.RELATIVE, items={"host1": 2, 3: 0.5}, default=1.5),
    )
    written = json.loads(json.dumps(writer.write("spec", [given, float("inf"), (1, "a"), None])))
    back = Reader(writer.arrays).read("spec", written)
    assert back[0].limit.items == {"host1": 2, 3: 0.5}
    assert back[0].bound is Bound.MIN
    assert back[1:] == [float("inf"), (1, "a"), None]
    assert Reader(writer.arrays).read("", writer.write("", np.arange(3))).tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"version": 7}, "version 7; this program reads version 2"),
        ({"objective": "summ"}, "no objective named 'summ'; did you mean 'sum'"),
        ({"limits": {"type": "Filter", "fields": {}}}, "limits: Filter is not Limits"),
        ({"format": "something else"}, "not a replay file"),
        ({"solver": "locl"}, "no solver named 'locl'; did you mean 'local'"),
        ({"sede": 1}, "replay: no field named 'sede'; did you mean 'seed'"),
        ({"problem": {"objcts": 1}}, "problem: no field named 'objcts'; did you mean 'objects'"),
        ({"problem": {}}, "problem: needs objects, containers"),
        ({"limits": {"type": "Limts", "fields": {}}}, "limits: no type named 'Limts'; did you mean"),
        (
            {"limits": {"type": "Limits", "fields": {"tries": 1}}},
            "limits, Limits: no field named 'tries'; did you mean 'tries_max'",
        ),
        ({"options": {"how": {"enum": "Deal", "name": "RANDOMLY"}}}, "no Deal named 'RANDOMLY'; did you mean 'RANDOM'"),
        ({"options": {"how": {"x": 1}}}, "is not a known kind of value"),
        ({"answer": {"array": "array999"}}, "array 'array999' is not in the file"),
    ],
)
def test_what_is_not_known_is_refused(saved: Path, tmp_path: Path, changed: dict[str, object], message: str) -> None:
    path = changed_copy(saved, tmp_path / "solve.npz", changed)
    with pytest.raises(ModelError, match=message):
        load_replay(path)


def test_other_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "text.npz").write_text("hello")
    np.savez(tmp_path / "arrays.npz", a=np.arange(3))
    for name in ("text.npz", "arrays.npz", "absent.npz"):
        with pytest.raises(ModelError, match="not a replay file"):
            load_replay(tmp_path / name)


def test_what_has_no_words_is_not_written(tmp_path: Path) -> None:
    replay = Replay(problem=every_spec(), solver="local", limits=None, seed=0, options={"executor": object()})
    with pytest.raises(ModelError, match="executor: a object cannot be kept in a replay file"):
        save_replay(tmp_path / "a.npz", replay)
    with pytest.raises(UnknownName, match="no solver named 'lcoal'"):
        save_replay(tmp_path / "a.npz", Replay(problem=every_spec(), solver="lcoal", limits=None, seed=0))
    assert not (tmp_path / "a.npz").exists()
