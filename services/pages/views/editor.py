"""The form about one row of a list. It opens in place: the URL says which row, and works without scripts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from markupsafe import Markup
from starlette.responses import Response

from services.pages.api import ApiProblem, Json
from services.pages.form_fields import WrongField
from services.pages.visit import Visit, go_to

_REFUSED = (400, 403, 404, 409, 422, 428, 429)


@dataclass(frozen=True, slots=True)
class Input:
    """A field of the form: its name, its label, its present value, and a sentence about it."""

    name: str
    title: str
    value: str = ""
    hint: str = ""
    is_number: bool = False


REASON = Input("reason", "Reason", hint="The audit trail keeps it.")


@dataclass(frozen=True, slots=True)
class Button:
    """A thing that a person may do with the row.

    kind      primary or danger
    why_not   why this person may not do it; "": the API decides
    """

    name: str
    words: str
    kind: str = "primary"
    why_not: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Editor:
    """The declaration of the form.

    word      the link of each row, such as Revoke; "": the row has none
    key       the key of a row, for the URL
    name      the name of a row, as people know it
    read      the row of a key as it is now. Raises ApiProblem
    facts     what the form says about the row: name and value
    inputs    the fields
    buttons   what may be done
    done      name of a button -> a sentence for when it is done
    send      do what the button of this name says, with the fields. Raises ApiProblem, WrongField
    ask       the label of a field that opens the form of a row that the table lacks; "": there are none
    """

    word: Callable[[Json], str]
    key: Callable[[Json], str]
    name: Callable[[Json], str]
    read: Callable[[Visit, str], Json]
    facts: Callable[[Visit, Json], Sequence[tuple[str, object]]]
    inputs: Callable[[Json], Sequence[Input]]
    buttons: Callable[[Visit, Json], Sequence[Button]]
    done: Mapping[str, str]
    send: Callable[[Visit, Json, str, Mapping[str, str]], None]
    ask: str = ""

    def link(self, visit: Visit, row: Json) -> Markup:
        """Return the link that opens the form of a row; no link for a row without one."""
        url, word = _url(visit, open=self.key(row)), self.word(row)
        if not word:
            return Markup("")
        return Markup('<a href="{}" aria-label="{} {}">{}</a>').format(url, word, self.name(row), word)


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """The open form.

    wrong      name of a field -> what is wrong with it
    trouble    the API's refusal; ""
    done       a sentence about what was done just now; ""
    why_not    sentences why some of the buttons are disabled
    """

    name: str
    facts: Sequence[tuple[str, object]]
    inputs: Sequence[Input]
    buttons: Sequence[Button]
    generation: int
    form: Mapping[str, str]
    url: str
    close_url: str
    wrong: Mapping[str, str]
    trouble: str
    done: str
    why_not: Sequence[str]
    status: int


def open_row(editor: Editor, visit: Visit) -> Opened | Response | None:
    """Return the form of the row that the URL names; None if it names none.

    A sent form is passed on to the API: the answer leads back to the form with the row as it is then. The API's refusal
    is shown beside it. Raises ApiProblem if there is no such row.
    """
    key = visit.query.get("open")
    if key is None:
        return None
    row, wrong, trouble, status = editor.read(visit, key), {}, "", 200
    if visit.form:
        act = visit.form.get("act", "")
        try:
            _send(editor, visit, row, act)
        except WrongField as field:
            wrong, status = {field.field: field.message}, 422
        except ApiProblem as problem:
            if problem.status not in _REFUSED:
                raise
            wrong, status = problem.fields, problem.status
            trouble = problem.detail
            if problem.code == "stale_generation":
                trouble = "It changed after you read it. Below is what it says now: decide again."
        else:
            return go_to(_url(visit, open=key, done=act))
    inputs, buttons = editor.inputs(row), editor.buttons(visit, row)
    beside = {one.name for one in inputs}
    return Opened(
        name=editor.name(row),
        facts=editor.facts(visit, row),
        inputs=inputs,
        buttons=buttons,
        generation=row["generation"],
        form=visit.form,
        url=_url(visit, open=key),
        close_url=_url(visit),
        wrong=wrong,
        trouble=" ".join([trouble, *(f"{name}: {said}" for name, said in wrong.items() if name not in beside)]).strip(),
        done="" if visit.form else editor.done.get(visit.query.get("done", ""), ""),
        why_not=list(dict.fromkeys(one.why_not for one in buttons if one.why_not)),
        status=status,
    )


def _send(editor: Editor, visit: Visit, row: Json, act: str) -> None:
    generation = visit.form.get("generation", "")
    if not generation.isdecimal() or all(one.name != act for one in editor.buttons(visit, row)):
        detail = "Open the page again, and send the form there."
        raise ApiProblem(422, {"title": "The form cannot be read", "detail": detail})
    editor.send(visit, row | {"generation": int(generation)}, act, visit.form)


def _url(visit: Visit, **changes: str) -> str:
    kept = {name: value for name, value in visit.query.items() if name not in ("open", "done")} | changes
    return f"{visit.path}?{urlencode(kept)}" if kept else visit.path
