"""`plimsoll flux figures` shows the shares that the platform answers, and refuses a service that has none."""

import pytest

from services.cli.client import Client
from services.cli.failure import CliFailure
from services.cli.flux.figures import figures

DONE = {
    "upsize": 4.0,
    "upsized": 3.0,
    "downsize": 2.0,
    "downsized": 1.0,
    "shift": 0.0,
    "shifted": 0.0,
    "automated": 1.0,
}
EXECUTION = {
    "plan_execution_id": 7,
    "state": "done",
    "started_at": None,
    "figures": DONE,
    "completion_h": 30.0,
    "resize_h": [1.0, 2.0, 5.0],
}
RUNS = [{"residual": 0.5, "error": 0.6, "capacity": 1.0}, {"residual": 0.0017, "error": 0.25, "capacity": 1.0}, None]


class Platform:
    """Answers the two routes of figures."""

    def get(self, path: str, *, last: int, service: str | None) -> dict[str, object]:
        known = service in (None, "store")
        if "execution" in path:
            named = [] if service is None else [{"service": service, "executions": [None]}]
            return {"executions": [EXECUTION], "services": named}
        return {"runs": [], "services": [{"service": service or "store", "runs": RUNS if known else [None] * 3}]}


@pytest.fixture(autouse=True)
def platform(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Client, "connect", classmethod(lambda cls: Platform()))


@pytest.mark.parametrize("service", [None, "store"])
def test_shares_are_shown_as_percent(capsys: pytest.CaptureFixture[str], service: str | None) -> None:
    figures(service=service)
    head, execution, services, store = (line.split() for line in capsys.readouterr().out.splitlines())
    told = dict(zip(head[:-2], execution[:-1], strict=True))  # the last heading has two words
    shares = [told[name] for name in ("UPSIZED", "DOWNSIZED", "SHIFTED", "AUTOMATED", "HOURS")]
    assert shares == ["75.00%", "50.00%", "-", "100.00%", "30"]
    model = dict(zip(services, store, strict=True))
    assert (model["SERVICE"], model["RESIDUAL"], model["ERROR"]) == ("store", "0.17%", "25.00%")


def test_a_misspelt_service_is_refused() -> None:
    with pytest.raises(CliFailure, match="no service stor is in the latest 26 executions and plans"):
        figures(service="stor")
