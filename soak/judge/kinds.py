"""Every kind of write of the clients: its audit entry, the row that it leaves, and the generation that it rests on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """One kind of write.

    entry     action and noun of its audit entry; None: it has no entry of its own
    subject   field of the answer with the subject's id; None: the answer has no such id
    certain   False: an acknowledged write may also mean that nothing had to change, and then there is no entry
    also      other audit entries that the write makes, each once
    besides   other audit entries that the write may make under the same name
    rows      list of the final record with its row, and the field that identifies the row there and in the answer
    version   field with the row's generation; None: the row has no generation
    kept      number of the latest rows that the platform keeps; None: all rows
    ends      field of that row, with dots, and its allowed values at rest
    swaps     True: the write needs If-Match, so at most one write is acknowledged on one generation
    keyed     False: the write takes no idempotency key, so each attempt may be carried out
    least     least number of acknowledged writes per minute of a run
    """

    entry: tuple[str, str] | None = None
    subject: str | None = None
    certain: bool = True
    also: tuple[tuple[str, str], ...] = ()
    besides: tuple[tuple[str, str], ...] = ()
    rows: tuple[str, str] | None = None
    version: str | None = "generation"
    kept: int | None = None
    ends: tuple[str, tuple[object, ...]] | None = None
    swaps: bool = False
    keyed: bool = True
    least: float = 0.5


_REQUEST, _APPROVAL, _POLICY = "capacity_request_id", "approval_id", ("update_policy", "region")
_EVENT = ("end", "unavailability_event")
_GONE, _OVERTAKEN = ("delete", "reservation"), ("withdraw", "capacity_request")
"""Entries for the end of a reservation, and for requests that waited for its window."""
_SUBMIT = Kind(entry=("submit", "capacity_request"), subject=_REQUEST, rows=("capacity_requests", _REQUEST))
_ENDED = ("done", "failed", "cancelled", "stale")
_COMMANDS = {
    "execution": ("pause", "resume", "abort", "reverse"),
    "action": ("approve", "reject", "retry", "skip", "take_over", "complete", "reverse"),
}
_RARELY = 0.05
"""Least number per minute of commands that are possible now and then only."""
KINDS: Mapping[str, Kind] = {
    "create": _SUBMIT,
    "create_window": _SUBMIT,
    "resize": _SUBMIT,
    "delete": replace(_SUBMIT, also=(_GONE,), besides=(_OVERTAKEN,)),
    "amend": Kind(
        entry=("amend", "capacity_request"), subject=_REQUEST, rows=("capacity_requests", _REQUEST), swaps=True
    ),
    "withdraw": Kind(
        entry=("withdraw", "capacity_request"),
        subject=_REQUEST,
        rows=("capacity_requests", _REQUEST),
        ends=("status.phase", ("withdrawn",)),
        swaps=True,
    ),
    "open_event": Kind(
        entry=("open", "unavailability_event"),
        subject="unavailability_event_id",
        rows=("events", "unavailability_event_id"),
    ),
    "end_event": Kind(entry=_EVENT, certain=False, rows=("events", "unavailability_event_id")),
    "set_in_use": Kind(),
    "announce": Kind(entry=("announce", "retirement"), subject="retirement_id", rows=("retirements", "retirement_id")),
    "cancel_retirement": Kind(
        entry=("cancel", "retirement"),
        certain=False,
        rows=("retirements", "retirement_id"),
        ends=("status", ("cancelled", "done")),
        swaps=True,
    ),
    "import": Kind(entry=("import", "region"), rows=("regions", "name")),
    "propose_import": Kind(rows=("imports", "import_id")),
    "confirm_import": Kind(
        entry=("confirm", "import"),
        subject="import_id",
        rows=("imports", "import_id"),
        ends=("status", ("confirmed",)),
    ),
    "discard_import": Kind(
        entry=("discard", "import"),
        subject="import_id",
        rows=("imports", "import_id"),
        ends=("status", ("discarded",)),
    ),
    "set_policy": Kind(entry=_POLICY, rows=("regions", "name"), swaps=True),
    "ask_policy": Kind(entry=("ask_for_policy", "region"), rows=("approvals", _APPROVAL)),
    "approve": Kind(
        entry=("approve", "approval"),
        subject=_APPROVAL,
        besides=(_POLICY,),
        rows=("approvals", _APPROVAL),
        ends=("status", ("approved", "superseded")),  # superseded by an amendment or refusal of the request
        swaps=True,
    ),
    "reject": Kind(
        entry=("reject", "approval"),
        subject=_APPROVAL,
        besides=(_GONE, _OVERTAKEN),  # if it was scheduled and its window has begun
        rows=("approvals", _APPROVAL),
        ends=("status", ("rejected",)),
        swaps=True,
    ),
    "set_quota": Kind(entry=("set_quota", "region"), rows=("quotas", "owner"), swaps=True),
    "set_limits": Kind(entry=("set_approval_limits", "region"), swaps=True),
    "solve": Kind(entry=("ask_for_solve", "region")),
    "simulate": Kind(rows=("simulations", "simulation_id"), version=None, kept=100, ends=("status", _ENDED)),
    "apply": Kind(
        entry=("apply", "simulation"),
        subject="simulation_id",
        besides=(_POLICY,),
        rows=("simulations", "simulation_id"),
        version=None,
    ),
    "retry_move": Kind(
        entry=("retry_move", "move"),
        subject="move_id",
        besides=(_EVENT,),
        rows=("moves", "move_id"),
        ends=("dead_letter", ("retried",)),
    ),
    "skip_step": Kind(
        entry=("skip_step", "move"),
        subject="move_id",
        besides=(_EVENT,),
        rows=("moves", "move_id"),
    ),
    "put_input": Kind(entry=("put", "planning_input"), rows=("planning_inputs", "name"), version="version", swaps=True),
    "run_plan": Kind(
        entry=("ask_for_plan", "plan_run"),
        subject="plan_run_id",
        rows=("plan_runs", "plan_run_id"),
        version=None,
        ends=("status", _ENDED),
    ),
    "create_execution": Kind(
        entry=("create", "plan_execution"),
        subject="plan_execution_id",
        rows=("plan_executions", "plan_execution_id"),
        ends=("state", ("done", "reversed", "aborted", "superseded")),
    ),
    "start_execution": Kind(entry=("start", "plan_execution")),
    **{
        f"{verb}_{level}": Kind(entry=(verb, "plan_execution"), least=_RARELY)
        for level, verbs in _COMMANDS.items()
        for verb in verbs
    },
    "decide_approve": Kind(
        entry=("approve", "plan_execution"),
        rows=("approvals", _APPROVAL),
        ends=("status", ("approved",)),
        swaps=True,
        least=_RARELY,
    ),
    "decide_reject": Kind(
        entry=("reject", "plan_execution"),
        rows=("approvals", _APPROVAL),
        ends=("status", ("rejected",)),
        swaps=True,
        least=_RARELY,
    ),
    "report_usage": Kind(),
    "report_traffic": Kind(),
    "export_spans": Kind(keyed=False),
    "create_token": Kind(entry=("create", "token"), subject="token_id", rows=("tokens", "token_id"), keyed=False),
    "rotate_token": Kind(
        entry=("rotate", "token"), subject="token_id", rows=("tokens", "token_id"), swaps=True, keyed=False
    ),
    "revoke_token": Kind(entry=("revoke", "token"), subject="token_id", rows=("tokens", "token_id")),
}
"""Kinds by the name that clients use. set_in_use, export_spans, report_usage and report_traffic have separate rules."""
