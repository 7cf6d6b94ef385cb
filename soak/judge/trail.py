"""A rule about the audit trail: each acknowledged write has an entry by its client, as often as the write was done."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from soak.history import History
from soak.judge.by_key import by_key, times_done
from soak.judge.kinds import KINDS
from soak.judge.violation import Violation


def done_is_on_the_trail(history: History) -> Iterator[Violation]:
    """An acknowledged write has its entry, and every entry belongs to a write that a client asked for."""
    if not history.final:
        return
    entries = history.final["audit"]
    named: Counter[tuple[Any, ...]] = Counter(
        (one["actor"], one["action"], one["subject_kind"], one["subject_id"]) for one in entries
    )
    told: Counter[tuple[str, ...]] = Counter()
    possible: Counter[tuple[str, ...]] = Counter()
    for operation in by_key(history):
        kind, (done, may_be) = KINDS[operation.what], times_done(operation)
        if kind.entry is not None:
            told[operation.client, *kind.entry] += done if kind.certain else 0
            possible[operation.client, *kind.entry] += may_be
        for entry in kind.also:
            told[operation.client, *entry] += done
            possible[operation.client, *entry] += may_be
        for entry in kind.besides:
            possible[operation.client, *entry] += may_be
        if kind.entry is not None and kind.subject is not None and operation.done is not None and kind.certain:
            subject = operation.done.body[kind.subject]
            if not named[operation.client, *kind.entry, subject]:
                said = f"{operation.client} did {operation.what} of {kind.entry[1]} {subject}: no entry on the trail"
                yield Violation("done_is_on_the_trail", said, (operation.op,))
    found: Counter[tuple[str, ...]] = Counter((one["actor"], one["action"], one["subject_kind"]) for one in entries)
    for change in possible:
        if not told[change] <= found[change] <= possible[change]:
            said = f"{change[0]} did {change[1]} of {change[2]}: told so {told[change]} times, possibly "
            yield Violation("done_is_on_the_trail", f"{said}{possible[change]}; {found[change]} entries on the trail")
    yield from _in_use(history)


def _in_use(history: History) -> Iterator[Violation]:
    """Yield violations of set_in_use: one write changes several servers and makes an entry for each."""
    entries: Counter[tuple[Any, ...]] = Counter()
    for entry in history.final["audit"]:
        if entry["action"] == "set_in_use":
            entries[entry["actor"], entry["subject_id"]] += 1
    told: Counter[tuple[Any, ...]] = Counter()
    possible: Counter[tuple[Any, ...]] = Counter()
    for operation in by_key(history, ("set_in_use",)):
        done, may_be = times_done(operation)
        for server in operation.body["servers"]:
            told[operation.client, server["server_id"]] += done
            possible[operation.client, server["server_id"]] += may_be
    for change in possible.keys() | entries.keys():
        if not told[change] <= entries[change] <= possible[change]:
            said = f"{change[0]} set in_use of server {change[1]}: told so {told[change]} times, possibly "
            yield Violation("done_is_on_the_trail", f"{said}{possible[change]}; {entries[change]} entries on the trail")
