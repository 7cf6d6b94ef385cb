"""The commands that report failures and ask for drains: what they send, and what they refuse."""

from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from services.cli.client import Client
from services.cli.drain import drain
from services.cli.report_failure import failure

Json = dict[str, Any]
LATER = {"servers": 3, "answer": {"message": "it waits until msb-02 is up again"}}
OPEN = {"unavailability_event_id": 7, "scope": "network_block", "scope_name": "block-03", "newcomers": LATER}


class Stub:
    """A platform with one open event of a block, of each kind."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, Json | None]] = []

    def items(self, path: str, **query: object) -> list[Json]:
        assert (path, query["open"]) == ("/v1/unavailability-events", "true")
        return [{**OPEN, "kind": query["kind"]}, {**OPEN, "unavailability_event_id": 8, "scope": "rack"}]

    def post(self, path: str, body: Json | None = None) -> Json:
        self.sent.append((path, body))
        return {"unavailability_event_id": 9, "starts_at": "2026-12-01T08:00:00Z", "state": "allowed", "answer": None}


@pytest.fixture
def platform(monkeypatch: pytest.MonkeyPatch) -> Stub:
    stub = Stub()
    monkeypatch.setattr(Client, "connect", classmethod(lambda cls: stub))
    return stub


def run(command: Any, *arguments: str) -> Any:
    app = typer.Typer()
    app.command()(command)
    return CliRunner().invoke(app, [*arguments, "-r", "west"])


@pytest.mark.parametrize(
    ("given", "scope", "name"),
    [
        (("--domain", "network_block:block-03"), "network_block", "block-03"),
        (("--domain", "network_block:b:3"), "network_block", "b:3"),
        (("--domain", "MSB:msb-01"), "msb", "msb-01"),
        (("rack", "rack-01"), "rack", "rack-01"),
    ],
)
@pytest.mark.parametrize(("command", "kind"), [(failure, "unplanned"), (drain, "planned")])
def test_a_place_is_written_in_two_ways(
    platform: Stub, command: Any, kind: str, given: tuple[str, ...], scope: str, name: str
) -> None:
    done = run(command, *given, "--reason", "dark")
    assert done.exit_code == 0, done.output
    ((_, body),) = platform.sent
    expected = {"region": "west", "scope": scope, "scope_name": name, "kind": kind, "reason": "dark"}
    assert body == expected
    assert f"{scope} {name}: event 9 " in done.output


@pytest.mark.parametrize(("command", "kind"), [(failure, "unplanned"), (drain, "planned")])
def test_open_events_of_exactly_this_place_are_ended(platform: Stub, command: Any, kind: str) -> None:
    again = run(command, "--domain", "network_block:block-03")
    assert "event 7; --end ends all of them" in again.output
    platform.sent.clear()
    done = run(command, "--domain", "network_block:block-03", "--end")
    assert platform.sent == [("/v1/unavailability-events/7/end", None)]
    assert "network_block block-03: event 9 has ended" in done.output
    assert f"no open {kind} event" in run(command, "--domain", "zone:z1", "--end").output


def test_a_drain_says_which_servers_an_earlier_one_does_not_take(platform: Stub) -> None:
    again = run(drain, "--domain", "network_block:block-03")
    assert "event 7 does not take 3 servers that came later: it waits until msb-02 is up again" in again.output


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ((), "name one place"),
        (("rack",), "name one place"),
        (("rack", "rack-01", "--domain", "zone:z1"), "leave it out"),
        (("--domain", "block-03"), "write KIND:DOMAIN"),
        (("--domain", ":block-03"), "write KIND:DOMAIN"),
        (("--domain", "zone:"), "write KIND:DOMAIN"),
    ],
)
@pytest.mark.parametrize("command", [failure, drain])
def test_one_place_is_named(platform: Stub, command: Any, given: tuple[str, ...], said: str) -> None:
    done = run(command, *given)
    assert done.exit_code == 2
    assert said in " ".join(done.output.replace("│", " ").split())
    assert platform.sent == []


@pytest.mark.parametrize(
    ("command", "option"),
    [
        (drain, ("--dry-run",)),
        (drain, ("--until", "2026-12-01T18:00")),
        (drain, ("--override", "agreed")),
        (failure, ("--at", "2026-12-01T08:00")),
        (failure, ("--until", "2026-12-01T18:00")),
    ],
)
def test_an_end_is_now(platform: Stub, command: Any, option: tuple[str, ...]) -> None:
    """A time or a dry run beside --end would be passed over, and the servers would be up too early."""
    result = run(command, "rack", "rack-1", "--end", *option)
    assert result.exit_code == 2
    assert option[0] in result.output
    assert platform.sent == []
