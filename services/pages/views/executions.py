"""All executions of placement plans, latest first."""

from __future__ import annotations

from markupsafe import Markup

from services.pages.api import Json
from services.pages.parts.states import execution_badge
from services.pages.parts.table import Choice, Column, Table
from services.pages.parts.words import moment_markup, moment_text, parse_moment
from services.pages.visit import Shown, Visit, link_markup

_SHOWN_MAX = 200
_STATES = ("draft", "running", "pausing", "paused", "aborting", "reversing", "superseding")
_ENDED = ("done", "reversed", "aborted", "superseded")


def name_of(execution: Json, visit: Visit) -> str:
    """Return how people name an execution: by the time at which it was prepared."""
    return moment_text(parse_moment(execution["created_at"]), visit.now)


def path_of(execution_id: int) -> str:
    """Return the path of the page of an execution."""
    return f"/executions/{execution_id}"


def show_executions(visit: Visit) -> Shown:
    """Show the executions; with a state in the URL, those in it."""
    state = visit.query.get("state")
    state = state if state in (*_STATES, *_ENDED) else None
    rows = visit.api.items("/v1/plan-executions", most=_SHOWN_MAX, state=state)
    return Shown(
        template="executions.html",
        title="Executions of plans",
        section="executions",
        command=("execution", "list", *(("--state", state) if state else ())),
        sources=["/v1/plan-executions" + (f"?state={state}" if state else "")],
        live=True,
        table=_table(visit, rows),
    )


def _table(visit: Visit, rows: list[Json]) -> Table:
    def moment(key: str, title: str) -> Column:
        return Column(key, title, lambda row: row[key], lambda row: _moment(visit, row[key]))

    return Table(
        name="executions",
        caption="Executions of placement plans",
        columns=[
            Column("execution", "Prepared", lambda row: row["created_at"], lambda row: _link(visit, row)),
            Column("state", "State", lambda row: row["state"], lambda row: execution_badge(row["state"])),
            Column("reason", "Reason", lambda row: row["reason"]),
            Column("by", "By", lambda row: row["created_by"]),
            moment("started_at", "Started"),
            moment("finished_at", "Ended"),
            Column("back", "Takes back", lambda row: row["reverses_execution_id"], _back),
        ],
        rows=rows,
        path=visit.path,
        query=visit.query,
        choices=[Choice("state", "State", [(one, one) for one in (*_STATES, *_ENDED)])],
        empty="No plan was carried out yet. `plimsoll flux plans` lists the plans, and `plimsoll execution create` "
        "prepares the execution of one.",
        cut=f"These are the latest {_SHOWN_MAX}." if len(rows) == _SHOWN_MAX else "",
    )


def _moment(visit: Visit, text: str | None) -> Markup | None:
    return None if text is None else moment_markup(text, visit.now)


def _link(visit: Visit, row: Json) -> Markup:
    return link_markup(path_of(row["plan_execution_id"]), name_of(row, visit))


def _back(row: Json) -> Markup | None:
    other = row["reverses_execution_id"]
    return None if other is None else link_markup(path_of(other), "an earlier execution")
