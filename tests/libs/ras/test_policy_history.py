"""Figures above the history of a region are found, with the figures; others, and lower ones, are not."""

from dataclasses import replace

import pytest

from libs.ras.policy_history import SolveFigures, judge_figures

USUAL = SolveFigures(solve_s=100, peak_mib=2000, moved_in_use=40, moved_idle=400, shortfall_rru=0, reservations_short=0)
HISTORY = [USUAL, replace(USUAL, solve_s=80, moved_in_use=10), replace(USUAL, moved_idle=0)]


def found(figures: SolveFigures, history: list[SolveFigures] = HISTORY) -> list[tuple[str, ...]]:
    findings = judge_figures(figures, history, capacity_rru=1000.0, of="the shadow solve")
    return [(one.reason, *one.numbers) for one in findings]


@pytest.mark.parametrize(
    ("name", "within", "beyond"),
    [
        ("solve_s", 125, 126),
        ("peak_mib", 2500, 2501),
        ("moved_in_use", 50, 51),
        ("moved_idle", 500, 501),
        ("shortfall_rru", 1, 1.1),
        ("reservations_short", 0, 1),
    ],
)
def test_a_figure_may_exceed_the_highest_by_its_margin(name: str, within: float, beyond: float) -> None:
    assert found(replace(USUAL, **{name: within})) == []
    assert found(replace(USUAL, **{name: beyond})) == [("OutsideHistory", name, f"{name}_highest", f"{name}_most")]


def test_small_figures_have_a_least_margin() -> None:
    quiet = [replace(USUAL, solve_s=1, moved_in_use=0, moved_idle=0)] * 3
    assert found(replace(quiet[0], solve_s=11, moved_in_use=5, moved_idle=20), quiet) == []
    assert len(found(replace(quiet[0], solve_s=12, moved_in_use=6, moved_idle=21), quiet)) == 3


def test_two_solves_are_no_history() -> None:
    assert found(USUAL, HISTORY[:2]) == [("TooLittleHistory", "solves")]


def test_figures_come_from_the_report_of_a_solve() -> None:
    terms = {"moved_in_use": 40, "moved_idle": 400, "shortfall_rru": 0.0, "reservations_short": 0, "buffer": 7.0}
    assert SolveFigures.of_report({"solve_s": 100, "peak_mib": 2000, "terms": terms, "gap": None}) == USUAL
