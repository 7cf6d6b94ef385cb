"""The commands that show and set the limits of the uplinks of racks."""

from typing import Any

import pytest
from typer.testing import CliRunner

from services.cli import uplinks
from services.cli.client import Client
from tests.builders.refusals import refusal

FOUND = {
    "limits": {"rack-00": 40.0, "rack-01": 100.0},
    "fullest": [{"rack": "rack-00", "limit_gbit": 40.0, "current_gbit": 55.0, "target_gbit": 30.0}],
    "racks_above": 0,
    "current_above_gbit": 15.0,
    "target_above_gbit": 0.0,
    "generation": 3,
}


class Stub:
    """A platform with the limits of FOUND. It keeps what it is sent."""

    def __init__(self) -> None:
        self.sent: list[tuple[Any, int]] = []

    def get(self, path: str) -> Any:
        assert path == "/v1/regions/west/uplinks"
        return FOUND

    def put(self, path: str, body: Any, *, generation: int) -> Any:
        self.sent.append((body, generation))
        return FOUND


@pytest.fixture
def platform(monkeypatch: pytest.MonkeyPatch) -> Stub:
    stub = Stub()
    monkeypatch.setattr(Client, "connect", classmethod(lambda cls: stub))
    return stub


@pytest.mark.parametrize(
    ("arguments", "body"),
    [
        (["--gbit", "80"], {"limits": {}, "others_gbit": 80.0}),
        (["rack-00", "rack-07", "--gbit", "80"], {"limits": {"rack-00": 80.0, "rack-01": 100.0, "rack-07": 80.0}}),
        (["rack-00", "--lift", "--reason", "old"], {"limits": {"rack-01": 100.0}, "reason": "old"}),
        (["--lift"], {"limits": {}}),
    ],
)
def test_named_racks_change_and_the_others_keep_their_limits(platform: Stub, arguments: list[str], body: Any) -> None:
    done = CliRunner().invoke(uplinks.app, ["limit", "west", *arguments])
    assert done.exit_code == 0, done.output
    assert platform.sent == [(body, 3)]


@pytest.mark.parametrize(
    ("arguments", "field", "said"),
    [
        (["--gbit", "0"], "others_gbit", "--gbit: must be more than 0"),
        (["rack-07", "--gbit", "0"], "limits.rack-07", "--gbit of rack-07: must be more than 0"),
    ],
)
def test_an_error_names_the_option_that_the_person_gave(
    platform: Stub, monkeypatch: pytest.MonkeyPatch, arguments: list[str], field: str, said: str
) -> None:
    def refuse(path: str, body: Any, *, generation: int) -> Any:
        raise refusal(field, "must be more than 0")

    monkeypatch.setattr(platform, "put", refuse)
    done = CliRunner().invoke(uplinks.app, ["limit", "west", *arguments])
    assert said in str(done.exception).splitlines()[1]


def test_the_racks_that_send_most_are_shown_with_the_sums(platform: Stub) -> None:
    done = CliRunner().invoke(uplinks.app, ["show", "west"])
    assert "rack-00" in done.output
    assert "2 racks with a limit, 0 above it by targets; 15.0 Gbit/s above limits now, 0.0 by targets" in done.output


@pytest.mark.parametrize("arguments", [[], ["--gbit", "80", "--lift"], ["rack-09", "--lift"]])
def test_a_limit_is_set_or_lifted_and_nothing_else(platform: Stub, arguments: list[str]) -> None:
    done = CliRunner().invoke(uplinks.app, ["limit", "west", *arguments])
    assert done.exit_code != 0
    assert not platform.sent
