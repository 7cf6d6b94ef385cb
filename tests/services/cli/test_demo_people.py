"""Owners of the simulated day do one thing at a time."""

from typing import Any

from libs.simulator.demand import DemandEvent, DemandKind
from services.cli.demo.people import Owners


class Platform:
    """A platform on which every request is in `phase`."""

    def __init__(self, phase: str) -> None:
        self.phase = phase
        self.sent: list[dict[str, Any]] = []

    def get(self, path: str, **query: object) -> dict[str, Any]:
        return {"items": [{"status": {"phase": self.phase}}]}

    def post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        self.sent.append(body)
        return body


def test_an_owner_waits_for_the_answer_before_he_asks_for_something_else() -> None:
    platform, agenda = Platform("assessing"), []
    owners = Owners(platform, "west")  # type: ignore[arg-type]
    event = DemandEvent(at_s=0.0, kind=DemandKind.DELETE, reservation="web", owner="a", spec=None)
    owners.act(event, agenda.append)
    assert (platform.sent, len(agenda), owners.said.total(), owners.waiting) == ([], 1, 0, 1)
    platform.phase = "granted"
    agenda.pop()()
    assert [body["kind"] for body in platform.sent] == ["delete"]
    assert (agenda, owners.said, owners.waiting) == ([], {"delete": 1}, 0)
    resize = DemandEvent(at_s=0.0, kind=DemandKind.RESIZE, reservation="web", owner="a", spec=None)
    owners.act(resize, agenda.append)  # it waited longer than the reservation lived
    assert (agenda, owners.said) == ([], {"delete": 1})
