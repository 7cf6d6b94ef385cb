"""Check whether one plan can keep an override, the present inputs and all other overrides."""

from __future__ import annotations

from datetime import datetime

from libs.domain.plan_override import OverrideKind, PlanOverride
from libs.interchange.planning_inputs.sets import missing_inputs, problems_of
from libs.interchange.world.overrides import CONTRADICTION
from libs.store.planner.plan_overrides import load_overrides_in_force
from libs.store.planner.planning_inputs import load_all_current
from libs.store.platform.database import Transaction
from libs.web.problems import FieldError, Problem, invalid
from services.planner.override_rows import override_rows

_MISSING_SHOWN = "put these first, so that the names can be checked: PUT /v1/planning-inputs/NAME"


def require_consistent(tx: Transaction, override: PlanOverride, *, now: datetime) -> None:
    """Require that a plan can keep the override. Raises Problem.

    The status is 422 if the inputs lack a name, or if the override has ended. It is 409 if the override contradicts an
    input or another override. Each contradiction names both sides.
    """
    if override.expires_at is not None and override.expires_at <= now:
        raise invalid(FieldError(field="expires_at", location="body", code="past", message="is past already"))
    contents = {name: content for name, (_, content) in load_all_current(tx).items()}
    missing = missing_inputs(contents)
    if missing:
        raise Problem(409, "conflict", f"Missing inputs: {', '.join(missing)}; {_MISSING_SHOWN}.")
    others = [one for one in load_overrides_in_force(tx, now) if one.plan_override_id != override.plan_override_id]
    known = {str(problem) for problem in problems_of(contents, override_rows(others))}
    found = [
        problem
        for problem in problems_of(contents, override_rows([*others, override]))
        if problem.file == "overrides" and str(problem) not in known
    ]
    wrong = [problem for problem in found if problem.field != CONTRADICTION and problem.row == len(others)]
    if wrong:
        subject = {"service": "subject", "product": "subject"}
        raise invalid(
            *(
                FieldError(
                    field=subject.get(p.field or "", p.field or "subject"),
                    location="body",
                    code="unknown_name",
                    message=p.message,
                )
                for p in wrong
            )
        )
    contradictions = [problem.message for problem in found if problem.field == CONTRADICTION]
    if contradictions:
        what = "capacity" if override.kind is OverrideKind.CAPACITY else "share"
        raise Problem(
            409,
            "contradiction",
            f"No plan could keep this {what} in {override.region}: {'; '.join(contradictions)}. Withdraw the other, or "
            "ask for something else.",
            contradictions=contradictions,
        )
