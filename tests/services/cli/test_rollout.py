"""Show a roll-out: figures as other tables show them."""

from services.cli.rollout import _row


def test_a_residue_of_rounding_is_shown_as_none() -> None:
    plan = {"total": 6254.58, "moved_in_use": 0, "moved_idle": 2, "shortfall_rru": 1.8e-14}
    solve = {"solve_s": 3.317, "peak_mib": 157.4}
    report = {"at_old_prices": {"real": plan, "shadow": plan}, "solve": {"real": solve, "shadow": solve}}
    row = _row({"solve_run_id": 4, "stage": "shadow", "status": "done", "report": {**report, "bound_differently": 0}})
    assert (row["cost"], row["idle"], row["short"]) == ("6,254.58 / 6,254.58", "2 / 2", "0 / 0")
