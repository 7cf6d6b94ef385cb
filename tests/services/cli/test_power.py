"""The command that sets the limits on power of domains."""

from typing import Any

import pytest
from typer.testing import CliRunner

from services.cli import power
from services.cli.client import Client
from tests.builders.refusals import refusal

MSB = {"kind": "MSB", "domain": "msb-00", "limit_w": 5000.0, "headroom": 0.1}


@pytest.mark.parametrize(
    ("arguments", "field", "said"),
    [
        (["msb-09", "--watts", "0"], "limits.1.limit_w", "--watts: must be more than 0"),
        (["msb-00", "--headroom", "2"], "limits.0.headroom", "--headroom: must be more than 0"),
        (["msb-00", "--kind", "msb", "--headroom", "2"], "limits.0.headroom", "--headroom: must be more than 0"),
        (["row-0", "--kind", "row", "--watts", "5"], "limits.1.kind", "--kind: must be more than 0"),
        (["msb-09", "--watts", "5"], "limits.1.domain", "domain: must be more than 0"),
        (["msb-09", "--watts", "5"], "limits.0.domain", "limits.0.domain: must be more than 0"),
    ],
)
def test_an_error_names_the_option_that_the_person_gave(
    monkeypatch: pytest.MonkeyPatch, arguments: list[str], field: str, said: str
) -> None:
    class Stub:
        """A platform with one limit. It refuses what it is sent."""

        def get(self, path: str) -> Any:
            return {"limits": [MSB], "generation": 3}

        def put(self, path: str, body: Any, *, generation: int) -> Any:
            raise refusal(field, "must be more than 0")

    monkeypatch.setattr(Client, "connect", classmethod(lambda cls: Stub()))
    done = CliRunner().invoke(power.app, ["limit", "west", *arguments])
    assert str(done.exception).splitlines()[1] == f"  {said}"
