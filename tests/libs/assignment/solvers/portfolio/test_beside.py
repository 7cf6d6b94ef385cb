"""A task beside a search is told to end by the search, by its caller and by an error, and it passes on its own."""

from __future__ import annotations

import time
from collections.abc import Callable
from threading import Event

import numpy as np
import pytest

from libs.assignment.language.arrays import Ints
from libs.assignment.solvers.portfolio.beside import Beside
from libs.assignment.solvers.portfolio.phases import Phases
from libs.assignment.solvers.portfolio.relaxation import Relaxation
from libs.mip.model import Model
from tests.libs.assignment.solvers.portfolio.test_solver import lowered_world


def until_told(ends: Callable[[], bool]) -> str:
    while not ends():
        time.sleep(0.001)
    return "told"


def test_a_search_ends_its_task_and_gets_what_it_has() -> None:
    with Beside(until_told) as task:
        assert task.ended() == "told"
    with Beside(lambda _: "done") as task:
        assert task.result() == task.ended() == "done"


def test_a_caller_and_an_error_of_the_search_end_the_task() -> None:
    with Beside(until_told, lambda: True) as task:
        assert task.result() == "told"
    with pytest.raises(ZeroDivisionError), Beside(until_told) as task:
        raise ZeroDivisionError
    assert task.result() == "told"


def test_an_error_of_the_task_reaches_the_search() -> None:
    def fails(_: Callable[[], bool]) -> None:
        raise ZeroDivisionError

    with Beside(fails) as task, pytest.raises(ZeroDivisionError):
        task.ended()


def test_the_relaxation_of_the_whole_is_solved_while_steps_mend(monkeypatch: pytest.MonkeyPatch) -> None:
    lowered, phases = lowered_world(1)
    mended, relaxed = phases.mended(lowered.held), phases.relax(phases.model, lowered.held)
    begun, mends, relaxes = Event(), Phases.mended, Phases.relax

    def mend(self: Phases, counts: Ints) -> Ints:
        assert begun.wait(60.0), "the relaxation has not begun"
        return mends(self, counts)

    def relax(self: Phases, model: Model, begin: Ints, *, cancelled: Callable[[], bool]) -> Relaxation:
        begun.set()
        return relaxes(self, model, begin, cancelled=cancelled)

    monkeypatch.setattr(Phases, "mended", mend)
    monkeypatch.setattr(Phases, "relax", relax)
    counts, found = phases.mended_and_relaxed(phases.model, lowered.held)
    assert counts.tolist() == mended.tolist()
    assert found.bound == relaxed.bound
    assert found.point is not None
    assert relaxed.point is not None
    assert np.array_equal(found.point, relaxed.point)
