"""`plimsoll ledger` against the planner's API and a real database."""

import json

import pytest
from typer.testing import CliRunner

from services.cli import ledger
from services.cli.client import Client
from services.cli.failure import CliFailure
from tests.services.planner.conftest import client, database  # noqa: F401 - fixtures

CAPACITY = ["--service", "web", "-r", "east", "--type", "compute"]
TRAFFIC = ["--product", "shop", "--from", "west", "--to", "east", "--share", "0.25"]


@pytest.fixture
def plimsoll(client, monkeypatch):  # noqa: F811
    """Return a function that runs `plimsoll ledger` and returns its output, less the logs of the API in the same
    process.
    """
    connected = Client("http://testserver", "none")
    connected._http = client
    monkeypatch.setattr(Client, "connect", classmethod(lambda cls: connected))
    monkeypatch.setenv("COLUMNS", "200")

    def run(*arguments):
        done = CliRunner().invoke(ledger.app, [*map(str, arguments)])
        if done.exception is not None:
            raise done.exception
        return "".join(line for line in done.output.splitlines(True) if '"event": "request.done"' not in line)

    return run


def propose(plimsoll, *what, due="2026-12-01"):
    return plimsoll("propose", "--due", due, "--reason", "a launch", *what)


def test_the_way_of_an_event(plimsoll):
    assert propose(plimsoll, *CAPACITY, "--delta", 10) == "Proposed event 1.\n"
    assert propose(plimsoll, *TRAFFIC, "--after", 1) == "Proposed event 2.\n"
    assert plimsoll("approve", 1) == "Event 1 is approved.\n"
    assert plimsoll("activate", 1) == "Event 1 is active.\n"
    assert plimsoll("report", 1, "succeeded", "--achieved", 9, "--reason", "rounded") == "Event 1 is succeeded.\n"
    assert plimsoll("cancel", 2) == "Event 2 is cancelled.\n"
    headings, none = plimsoll("list").splitlines()
    assert headings.split() == ["ID", "STATUS", "DUE", "OF", "WHERE", "AMOUNT", "ACHIEVED", "BY", "WHY"]
    assert none == "There are none."
    table = plimsoll("list", "--all")
    assert "succeeded" in table
    assert "west > east" in table
    shown = plimsoll("show", 1)
    assert "delta: 10" in shown
    assert "product" not in shown
    assert "rounded" in shown


def test_the_combined_effect(plimsoll):
    propose(plimsoll, *CAPACITY, "--delta", 10)
    propose(plimsoll, *CAPACITY, "--delta", 5, due="2026-12-03")
    propose(plimsoll, *TRAFFIC)
    found = json.loads(plimsoll("effect", "--service", "web", "--at", "2026-12-02", "-o", "json"))
    assert found["capacity"][0]["sums"]["proposed"] == 10.0
    table = plimsoll("effect", "-r", "east", "--at", "2026-12-04")
    assert [line.split()[0] for line in table.splitlines()] == ["OF", "web", "shop"]
    assert "15" in table
    assert "0.25" in table


def test_an_effect_is_given_whole(plimsoll):
    for half in (CAPACITY, [*CAPACITY, "--delta", 1, "--product", "shop"], []):
        with pytest.raises(CliFailure, match="give --service, --region, --type and --delta"):
            propose(plimsoll, *half)


def test_a_dry_run_keeps_nothing(plimsoll):
    assert propose(plimsoll, *TRAFFIC, "--dry-run") == "The ledger would take it.\n"
    assert json.loads(plimsoll("list", "-o", "json")) == []
