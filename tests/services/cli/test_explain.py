"""Explain a reservation that has no servers yet."""

import json

import httpx
import pytest

from services.cli import explain as module
from services.cli.client import ApiProblem, Client
from services.cli.explain import explain
from services.cli.output import Output

BOOKED = "launch has not begun: it has no server yet. 32 servers are booked for it."


def refused(code: str) -> ApiProblem:
    body, kind = json.dumps({"code": code, "title": "No", "detail": BOOKED}), "application/problem+json"
    return ApiProblem(httpx.Response(409, text=body, headers={"content-type": kind}))


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> list[ApiProblem]:
    """The problems that the platform answers, one for each question."""
    problems: list[ApiProblem] = []

    def ask(*_: object) -> None:
        raise problems.pop(0)

    monkeypatch.setattr(Client, "connect", lambda: None)
    monkeypatch.setattr(module, "_ask", ask)
    return problems


def test_a_start_that_is_booked_is_told_and_is_no_error(
    answers: list[ApiProblem], capsys: pytest.CaptureFixture[str]
) -> None:
    answers += [refused("not_begun"), refused("not_begun"), refused("wrong_phase")]
    explain("launch", output=Output.TABLE)
    assert " ".join(capsys.readouterr().out.split()) == BOOKED
    for output in (Output.JSON, Output.TABLE):
        with pytest.raises(ApiProblem):
            explain("launch", output=output)
