"""How an estimate of a what-if is told at a terminal."""

from typing import Any

import pytest

from services.cli.estimate import show_estimate
from services.cli.output import Output


def row(name: str, *, needs_solve: bool) -> dict[str, Any]:
    rru = {"capacity_rru_now": 8.0, "capacity_rru": 8.0, "most_rru": 9.0, "short_rru_now": 2.0}
    rru |= {"short_rru_at_once": 2.0, "short_rru_with_free": 2.0}
    servers = {"taken_servers": 0, "missing_servers": 0 if needs_solve else 2, "spare_servers": 0}
    of = None if needs_solve else "hw-a"
    more = {"missing_hardware_type": of, "short_of": None, "needs_solve": needs_solve}
    return {"reservation": name, **rru, **servers, **more}


@pytest.mark.parametrize("needs_solve", [True, False])
def test_what_only_a_solve_tells_is_said_at_the_verdict(needs_solve: bool, capsys: pytest.CaptureFixture[str]) -> None:
    short = {"reservations_short": 1, "shortfall_rru": 2.0}
    found = {"now": short, "at_once": short, "with_free": short, "needing_solve": int(needs_solve)}
    found |= {"reservations": [row("web", needs_solve=needs_solve)], "reservations_affected": 1, "hardware_types": []}
    found |= {"power": [], "power_limits": 0, "uplinks": None, "spare_servers": 0, "covers": "An estimate."}
    show_estimate(found, Output.TABLE)
    lines = " ".join(capsys.readouterr().out.split())
    assert ("unknown without a solve" in lines, "with free servers, at most" in lines) == (needs_solve, needs_solve)
    assert ("hw-a" in lines) is not needs_solve
