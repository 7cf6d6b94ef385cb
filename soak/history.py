"""What clients were told, as it was told: one JSON object a line, and operations put together from them.

    {"type": "run", "seed": 1, ...}                                                    what was run
    {"type": "call", "op": 7, "attempt": 0, "at_s": .., "client": .., "what": "create", "method": .., "path": ..,
     "key": .., "generation": .., "body": ..}
    {"type": "answer", "op": 7, "attempt": 0, "at_s": .., "status": 201, "generation": .., "replayed": .., "body": ..}
    {"type": "lost", "op": 7, "attempt": 0, "at_s": .., "error": ".."}                 nobody knows whether it was done
    {"type": "fault", "at_s": .., "name": "kill", "detail": "..", "hit": true}         hit: it met something
    {"type": "world", "at_s": .., "region": .., "server": .., "step": "join", ...}     done to a server, in truth
    {"type": "held", "at_s": .., "since_sent_s": .., "jobs": [..]}                     jobs whose lease is over
    {"type": "unheard", "at_s": .., "how": "lost"}                                     an answer that the mover missed
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
    """One sending of a request. `status` None: its answer was lost, or it was under way when the run ended."""

    began_s: float
    ended_s: float | None = None
    status: int | None = None
    generation: int | None = None
    replayed: bool = False
    body: Any = None

    @property
    def done(self) -> bool:
        """Whether the client was told that it is done."""
        return self.status is not None and 200 <= self.status < 300

    @property
    def refused(self) -> bool:
        """Whether the client was told that it is not done, and will not be."""
        return self.status is not None and 400 <= self.status < 500

    @property
    def unknown(self) -> bool:
        """Whether it may have been done all the same."""
        return not self.done and not self.refused


@dataclass(frozen=True, slots=True)
class Operation:
    """One thing that a client wanted, with all the times it was sent: every one with the same key and body."""

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
        """The first attempt that was answered with success; None where none was."""
        return next((attempt for attempt in self.attempts if attempt.done), None)


@dataclass(frozen=True, slots=True)
class History:
    """A whole run. `final` is empty where it ended before the end; `run` says what was run, `world` what was done."""

    operations: tuple[Operation, ...]
    faults: tuple[Json, ...]
    final: Json
    world: tuple[Json, ...] = ()
    unheard: tuple[Json, ...] = ()
    held: tuple[Json, ...] = ()
    run: Json = field(default_factory=dict)

    @property
    def at_rest(self) -> Json:
        """What was read back in a moment in which nothing changed; {} where there was none."""
        return self.final if self.final.get("quiet_s") is not None else {}

    @classmethod
    def of(cls, records: Iterable[Mapping[str, Any]]) -> History:
        """Put together from records in the order in which they were written."""
        calls: dict[int, Mapping[str, Any]] = {}
        attempts: dict[int, dict[int, Attempt]] = {}
        others: dict[str, list[Json]] = {kind: [] for kind in ("fault", "world", "unheard", "held", "run", "final")}
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
        faults, world, unheard, held = (tuple(others[kind]) for kind in ("fault", "world", "unheard", "held"))
        return cls(operations, faults, final, world=world, unheard=unheard, held=held, run=run)

    @classmethod
    def read(cls, path: Path) -> History:
        """The history that a file holds; a last line that is cut short is left out."""
        records = []
        with path.open() as file:
            for line in file:
                if line.endswith("\n"):
                    records.append(json.loads(line))
        return cls.of(records)


class Recorder:
    """Appends records to a file, from any thread."""

    def __init__(self, path: Path) -> None:
        self._file, self._lock, self._began_s = path.open("w"), threading.Lock(), time.monotonic()
        self._ops = 0
        self.answers = 0
        """How many were recorded: whether the platform gets on at all."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._file.close()

    def now_s(self) -> float:
        """Seconds since the run began."""
        return time.monotonic() - self._began_s

    def new_op(self) -> int:
        """A number for an operation."""
        with self._lock:
            self._ops += 1
            return self._ops

    def write(self, kind: str, **record: Any) -> None:
        """Append one record, with the time it is now. An answer is written after it came, a call before it goes."""
        with self._lock:
            self.answers += kind == "answer"
            line = json.dumps({"type": kind, "at_s": round(self.now_s(), 6), **record})
            self._file.write(line + "\n")
            self._file.flush()
