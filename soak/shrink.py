"""Shrink a history that breaks a rule to the smallest history that still breaks the rule. People read the result, and
tests keep it.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from soak.history import History, Json
from soak.judge import RULES


def shrink_history(arguments: list[str]) -> int:
    """Write the part of a history that the rule needs to be broken."""
    parser = argparse.ArgumentParser(prog="soak shrink", description=shrink_history.__doc__)
    parser.add_argument("history", type=Path)
    parser.add_argument("rule", choices=[rule.__name__ for rule in RULES])
    parser.add_argument("smaller", type=Path, help="file to write")
    asked = parser.parse_args(arguments)
    with asked.history.open() as file:
        records = [json.loads(line) for line in file if line.endswith("\n")]
    left = shrunk(records, asked.rule)
    asked.smaller.write_text("".join(json.dumps(record) + "\n" for record in left))
    sys.stdout.write(f"{len(records)} records became {len(left)}\n")
    return 0


def shrunk(records: Sequence[Json], rule_name: str) -> list[Json]:
    """Return a least part of the records that has the same first violation of a rule.

    The violation must have exactly the same message, so that a removal does not cause a violation of its own. Raises
    ValueError if the records do not break the rule.
    """
    [rule] = [rule for rule in RULES if rule.__name__ == rule_name]
    first = next(iter(rule(History.of(records))), None)
    if first is None:
        raise ValueError(f"these records do not break {rule_name}")

    def breaks(parts: Sequence[tuple[Any, ...]]) -> bool:
        return any(found.message == first.message for found in rule(History.of(_whole(parts))))

    return _whole(_least(_parts(records), breaks))


def _least(parts: list[tuple[Any, ...]], breaks: Callable[[Sequence[tuple[Any, ...]]], bool]) -> list[tuple[Any, ...]]:
    """Remove halves of the parts, then quarters, and so on, as long as the rest still breaks the rule (delta
    debugging).
    """
    size = max(len(parts) // 2, 1)
    while True:
        at, taken = 0, False
        while at < len(parts):
            fewer = parts[:at] + parts[at + size :]
            if breaks(fewer):
                parts, taken = fewer, True
            else:
                at += size
        if size == 1 and not taken:
            return parts
        size = max(size // 2, 1)


def _parts(records: Sequence[Json]) -> list[tuple[Any, ...]]:
    """Return the removable parts: an operation with all its answers, a record, or one row of a final list."""
    operations: dict[int, list[Json]] = {}
    parts: list[tuple[Any, ...]] = []
    for record in records:
        if "op" in record:
            if record["op"] not in operations:
                parts.append(("operation", operations.setdefault(record["op"], [])))
            operations[record["op"]].append(record)
        elif record["type"] == "final":
            lists = {name: rows for name, rows in record.items() if isinstance(rows, list)}
            kept = {name: value for name, value in record.items() if name not in lists}
            parts.append(("final", kept | {name: [] for name in lists}))
            parts += [("row", name, row) for name, rows in lists.items() for row in rows]
        else:
            parts.append(("record", record))
    return parts


def _whole(parts: Sequence[tuple[Any, ...]]) -> list[Json]:
    """Return the parts as records, in order of time."""
    records: list[Json] = []
    final: Json | None = None
    for kind, *what in parts:
        if kind == "operation":
            records += what[0]
        elif kind == "record":
            records.append(what[0])
        elif kind == "final":
            final = {name: list(value) if isinstance(value, list) else value for name, value in what[0].items()}
            records.append(final)
        elif final is not None:
            final[what[0]].append(what[1])
    return sorted(records, key=lambda record: float(record["at_s"]))
