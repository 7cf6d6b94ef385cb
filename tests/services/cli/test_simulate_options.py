"""Options of a simulation that could mean another question are refused before anything is asked."""

import pytest

from services.cli.client import Client
from services.cli.main import main


class Stub:
    """A platform that must not be asked."""

    def post(self, path: str, body: object, **query: object) -> None:
        raise AssertionError(f"it asks {path} for {body}")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--uplink-limit", "=5"], "'=5': write [RACK=]GBIT"),
        (["--scale", "=2"], "'=2': write [NAME=]FACTOR"),
        (["--uplink-limit", "rack-00=nan"], "'nan' is not a number: write [RACK=]GBIT"),
        (["--traffic", "web=inf"], "'inf' is not a number: write NAME=VALUE"),
        (["--lose", "network_block:"], "'network_block:': write [KIND:]DOMAIN"),
        (["--scale", "1e999"], "'1e999' is not a number: write [NAME=]FACTOR"),
    ],
)
def test_no_name_means_all_only_without_an_equals_sign_and_numbers_are_finite(
    options: list[str], said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(Client, "connect", classmethod(lambda cls: Stub()))
    monkeypatch.setattr("sys.argv", ["plimsoll", "simulate", "west", *options])
    with pytest.raises(SystemExit) as left:
        main()
    assert left.value.code == 1
    assert said in " ".join(capsys.readouterr().err.split())


def test_what_is_lost_is_named_by_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []
    monkeypatch.setattr(Client, "connect", classmethod(lambda cls: Stub()))
    monkeypatch.setattr(
        Stub, "post", lambda self, path, body, **query: asked.append(body) or {"simulation_id": 1, **body}
    )
    lost = ["--lose", "network_block:block-03", "--lose", "msb-03", "--lose-rack", "rack:1"]
    monkeypatch.setattr("sys.argv", ["plimsoll", "simulate", "west", *lost, "--wait", "0"])
    with pytest.raises(SystemExit) as left:
        main()
    assert left.value.code == 0
    assert asked == [
        {
            "region": "west",
            "lose": [
                {"scope": "network_block", "name": "block-03"},
                {"scope": "msb", "name": "msb-03"},
                {"scope": "rack", "name": "rack:1"},
            ],
        }
    ]
