"""A task beside a search is told to end by the search, by its caller and by an error, and it passes on its own."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from libs.assignment.solvers.portfolio.beside import Beside


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
