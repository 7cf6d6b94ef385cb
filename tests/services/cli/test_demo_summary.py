"""The summary of the demo."""

import io

from rich.console import Console

from services.cli.demo.summary import Summary, print_summary


def test_the_summary_calls_nothing_promised_that_waits() -> None:
    summary = Summary(
        requests={"create": {"degraded": 1}},
        refused={},
        moves={},
        taken_in_use=0,
        taken_idle=0,
        solves={},
        solve_s={},
        region={"embedded_buffer_rru": 1.0, "shared_buffer_rru": 2.0},
        reservations=1,
        uncovered=1,
        capacity_rru=240.0,
        shortfall_rru=216.0,
    )
    told = io.StringIO()
    print_summary(Console(file=told, width=200), summary)
    assert "240 RRU asked for, 216.0 of them short" in told.getvalue()
    assert "promised" not in told.getvalue()
