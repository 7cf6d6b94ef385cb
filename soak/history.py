"""The record of a run: one JSON object per line, and operations put together from these lines.

    {"type": "run", "seed": 1, ...}                                                    parameters of the run
    {"type": "call", "op": 7, "attempt": 0, "at_s": .., "client": .., "what": "create", "method": .., "path": ..,
     "key": .., "generation": .., "body": ..}
    {"type": "answer", "op": 7, "attempt": 0, "at_s": .., "status": 201, "generation": .., "replayed": .., "body": ..}
    {"type": "lost", "op": 7, "attempt": 0, "at_s": .., "error": ".."}                 no answer, outcome unknown
    {"type": "fault", "at_s": .., "name": "kill", "detail": "..", "hit": true}         hit: it had a target
    {"type": "world", "at_s": .., "region": .., "server": .., "step": "join", ...}     step done on a real server
    {"type": "held", "at_s": .., "since_sent_s": .., "jobs": [..]}                     jobs with an expired lease
    {"type": "system", "at_s": .., "what": "done", "key": .., "place": [..], ...}      order asked, done, ...
    {"type": "unheard", "at_s": .., "how": "lost", "of": "servers"}                    an answer that was missed
    {"type": "final", "at_s": .., ...}                                                 see soak.settle

Times are seconds of real time since the run began, on one monotonic clock.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt to send a request. `status` is None if the answer was lost or had not come when the run ended."""

    began_s: float
    ended_s: float | None = None
    status: int | None = None
    generation: int | None = None
    replayed: bool = False
    body: Any = None

    @property
    def done(self) -> bool:
        """True if the client was told that the operation is done."""
        return self.status is not None and 200 <= self.status < 300

    @property
    def refused(self) -> bool:
        """True if the client was told that the operation is not done and will not be."""
        return self.status is not None and 400 <= self.status < 500

    @property
    def unknown(self) -> bool:
        """True if the operation may have been done, although the client was not told."""
        return not self.done and not self.refused


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation of a client, with all attempts to send it. Every attempt has the same key and body."""

    op: int
    client: str
    what: str
    method: str
    path: str
    key: str | None
    generation: int | None
    body: Any
    attempts: tuple[Attempt, ...]

    @property
    def done(self) -> Attempt | None:
        """First attempt that was answered with success; None if there is none."""
        return next((attempt for attempt in self.attempts if attempt.done), None)


@dataclass(frozen=True, slots=True)
class History:
    """The history of a run, with its parameters in `run`.

    `world` has the steps on real servers, and `systems` the orders to portals and traffic.

    `final` is empty if the run was cut off.
    """

    operations: tuple[Operation, ...]
    faults: tuple[Json, ...]
    final: Json
    world: tuple[Json, ...] = ()
    systems: tuple[Json, ...] = ()
    unheard: tuple[Json, ...] = ()
    held: tuple[Json, ...] = ()
    run: Json = field(default_factory=dict)

    @property
    def at_rest(self) -> Json:
        """State that was read while nothing changed; {} if there was no such moment."""
        return self.final if self.final.get("quiet_s") is not None else {}

    @classmethod
    def of(cls, records: Iterable[Mapping[str, Any]]) -> History:
        """Return the history of records, in the order in which they were written."""
        calls: dict[int, Mapping[str, Any]] = {}
        attempts: dict[int, dict[int, Attempt]] = {}
        kinds = ("fault", "world", "system", "unheard", "held", "run", "final")
        others: dict[str, list[Json]] = {kind: [] for kind in kinds}
        for record in records:
            kind = record["type"]
            if kind == "call":
                calls.setdefault(record["op"], record)
                attempts.setdefault(record["op"], {})[record["attempt"]] = Attempt(began_s=record["at_s"])
            elif kind in ("answer", "lost"):
                begun = attempts[record["op"]][record["attempt"]]
                said = {name: record[name] for name in ("status", "generation", "replayed", "body") if name in record}
                attempts[record["op"]][record["attempt"]] = Attempt(begun.began_s, record["at_s"], **said)
            else:
                others[kind].append(dict(record))
        names = ("client", "what", "method", "path", "key", "generation", "body")
        operations = tuple(
            Operation(op=op, attempts=tuple(attempts[op].values()), **{name: call[name] for name in names})
            for op, call in calls.items()
        )
        final, run = (others[kind][-1] if others[kind] else {} for kind in ("final", "run"))
        faults, world, systems, unheard, held = (tuple(others[kind]) for kind in kinds[:5])
        return cls(operations, faults, final, world=world, systems=systems, unheard=unheard, held=held, run=run)

    @classmethod
    def read(cls, path: Path) -> History:
        """Return the history in a file. A last line that is cut short is left out."""
        records = []
        with path.open() as file:
            for line in file:
                if line.endswith("\n"):
                    records.append(json.loads(line))
        return cls.of(records)


class Recorder:
    """Appends records to a file. Any thread may use it."""

    def __init__(self, path: Path) -> None:
        self._file, self._lock, self._began_s = path.open("w"), threading.Lock(), time.monotonic()
        self._ops = 0
        self.answers = 0
        """Number of answers recorded, as a sign that the platform makes progress."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._file.close()

    def now_s(self) -> float:
        """Return the seconds since the run began."""
        return time.monotonic() - self._began_s

    def new_op(self) -> int:
        """Return a new number for an operation."""
        with self._lock:
            self._ops += 1
            return self._ops

    def write(self, kind: str, **record: Any) -> None:
        """Append one record with the current time. Write a call before it is sent, and an answer after it came."""
        with self._lock:
            self.answers += kind == "answer"
            line = json.dumps({"type": kind, "at_s": round(self.now_s(), 6), **record})
            self._file.write(line + "\n")
            self._file.flush()
