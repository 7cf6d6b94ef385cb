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
