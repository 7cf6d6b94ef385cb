"""The real servers: the reservation that each is in, what is on it, and whether it is up.

The platform acts on them through the actuator, and people through failures and maintenance. A watcher sees every change
at its moment. Nothing here reads the platform's records.
"""

from __future__ import annotations

import hashlib
import heapq
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import NormalDist

import numpy as np

from libs.actuators.actuator import StepOutcome, StepRequest, StepState
from libs.domain.arrays import Ints, Names
from libs.domain.move import MoveStep

NOWHERE = 0
"""Number that stands for no reservation."""
_MEDIAN_S: Mapping[MoveStep, float] = {
    MoveStep.ABORT: 5.0,
    MoveStep.PREEMPT: 60.0,
    MoveStep.CLEAN: 90.0,
    MoveStep.HOST_PROFILE: 240.0,
    MoveStep.JOIN: 20.0,
}
_LOG_DEVIATION = 0.5
_NORMAL = NormalDist()
Key = tuple[int, MoveStep, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Luck:
    """Share of step attempts that fail, and of answers that are lost. A seed and the key of an attempt decide."""

    seed: int
    fails: float = 0.01
    lost: float = 0.03

    def draw(self, about: str, key: object) -> float:
        """Return a number between 0 and 1, always the same for the same arguments."""
        digest = hashlib.blake2b(f"{self.seed} {about} {key}".encode(), digest_size=8).digest()
        return (int.from_bytes(digest) + 0.5) / 2**64


@dataclass(slots=True)
class _Attempt:
    """An attempt at a step that is in progress or over."""

    step: StepRequest
    state: StepState = StepState.RUNNING
    asked: int = 0


@dataclass(slots=True)
class Counts:
    """Numbers of events, and the steps that no sound platform asks for."""

    preempted_in_use: int = 0
    preempted_idle: int = 0
    preempted_by_day: Counter[int] = field(default_factory=Counter)
    """Day -> number of servers in use that were preempted in it."""
    joined: int = 0
    failed_steps: int = 0
    lost_answers: int = 0
    wrong: list[str] = field(default_factory=list)
    """A sentence for each of those steps."""


class RealServers:
    """All servers of a region; an Actuator.

    name, msb, hardware_type   (S,) of each server; MSBs and types as numbers
    reservation                (S,) int     the number of the reservation that the server is in, or NOWHERE
    down                       (S,) int     for how many reasons the server is down; 0: it is up
    failed_s                   (S,) float   when it last failed
    leaving                    (S,) bool    whether a preempt of it is in progress
    number                     reservation -> its number
    """

    def __init__(
        self,
        name: Names,
        msb: Ints,
        hardware_type: Ints,
        *,
        luck: Luck,
        now_s: Callable[[], float],
        watch: Callable[[float], None],
    ) -> None:
        """`watch` is called after every change, with its time."""
        self.name, self.msb, self.hardware_type = name, msb, hardware_type
        self.number: dict[str, int] = {}
        self.reservation = np.full(len(name), NOWHERE, np.int64)
        self.down = np.zeros(len(name), np.int64)
        self.failed_s = np.full(len(name), -math.inf)
        self.in_use = np.zeros(len(name), bool)
        self.leaving = np.zeros(len(name), bool)
        self.counts = Counts()
        self._traces = self.reservation.copy()
        self._luck, self._now_s, self._watch = luck, now_s, watch
        self._row = {str(one): row for row, one in enumerate(name)}
        self._attempts: dict[Key, _Attempt] = {}
        self._newest: dict[int, int] = {}  # row -> its latest move
        self._under_way: dict[int, Key] = {}  # row -> the attempt in progress
        self._done: set[tuple[int, MoveStep]] = set()
        self._due: list[tuple[float, Key]] = []

    @property
    def next_due_s(self) -> float:
        """When the next step ends; infinite if none is in progress."""
        return self._due[0][0] if self._due else math.inf

    def rows(self, names: Iterable[str]) -> Ints:
        """Return the rows of the servers `names`."""
        return np.array([self._row[name] for name in names], np.int64)

    def fail(self, rows: Ints) -> None:
        """Take servers down."""
        self.failed_s[rows[self.down[rows] == 0]] = self._now_s()
        self.down[rows] += 1
        self._watch(self._now_s())

    def mend(self, rows: Ints) -> None:
        """Take one reason to be down from servers."""
        self.down[rows] -= 1
        self._watch(self._now_s())

    def perform(self, steps: Sequence[StepRequest]) -> Sequence[StepOutcome]:
        """See Actuator. Some answers are lost, though the work goes on."""
        self.go_on(self._now_s())
        return [self._answer(step) for step in steps]

    def go_on(self, until_s: float) -> bool:
        """End the steps that are due by `until_s`, in order of time. Return whether there were any."""
        is_any = self.next_due_s <= until_s
        while self.next_due_s <= until_s:
            at_s, key = heapq.heappop(self._due)
            attempt = self._attempts[key]
            if attempt.state is StepState.RUNNING:
                self._end(at_s, key, attempt)
        return is_any

    def _answer(self, step: StepRequest) -> StepOutcome:
        key, row = (step.move_id, step.step, step.attempt), self._row[step.server]
        attempt = self._attempts.get(key)
        if attempt is None:
            if step.move_id < self._newest.get(row, 0):
                return StepOutcome(state=StepState.FAILED, message="a later move has begun with this server")
            attempt = self._begin(key, row, step)
        attempt.asked += 1
        if self._luck.draw("lost", (*key, attempt.asked)) < self._luck.lost:
            self.counts.lost_answers += 1
            return StepOutcome(state=StepState.UNKNOWN, message="the answer was lost")
        message = "the server could not" if attempt.state is StepState.FAILED else None
        return StepOutcome(state=attempt.state, message=message)

    def _begin(self, key: Key, row: int, step: StepRequest) -> _Attempt:
        """Start an attempt. It ends the attempt in progress on the same server."""
        self._newest[row] = step.move_id
        self.leaving[row] = False
        before = self._under_way.pop(row, None)
        if before is not None and self._attempts[before].state is StepState.RUNNING:
            self._attempts[before].state = StepState.FAILED
        attempt = self._attempts[key] = _Attempt(step)
        if (step.move_id, step.step) in self._done:  # an earlier attempt did it, and its answer was lost
            attempt.state = StepState.DONE
            return attempt
        self._under_way[row] = key
        self.leaving[row] = step.step is MoveStep.PREEMPT
        deviation = math.exp(_LOG_DEVIATION * _NORMAL.inv_cdf(self._luck.draw("speed", key)))
        heapq.heappush(self._due, (self._now_s() + _MEDIAN_S[step.step] * deviation, key))
        return attempt

    def _end(self, at_s: float, key: Key, attempt: _Attempt) -> None:
        step, row = attempt.step, self._row[attempt.step.server]
        self._under_way.pop(row, None)
        self.leaving[row] = False
        if self._luck.draw("fails", key) < self._luck.fails or self.down[row]:
            attempt.state = StepState.FAILED
            self.counts.failed_steps += 1
            return
        attempt.state = StepState.DONE
        self._done.add((step.move_id, step.step))
        if step.step is MoveStep.PREEMPT:
            self._preempt(row, at_s)
        elif step.step is MoveStep.CLEAN:
            if self.reservation[row] != NOWHERE:
                self._wrong(step, f"was cleaned in {self._named(self.reservation[row])}")
            self._traces[row] = NOWHERE
        elif step.step is MoveStep.JOIN:
            self._join(row, step)
        if step.step in (MoveStep.PREEMPT, MoveStep.JOIN):
            self._watch(at_s)

    def _preempt(self, row: int, at_s: float) -> None:
        if self.in_use[row]:
            self.counts.preempted_in_use += 1
            self.counts.preempted_by_day[int(at_s // 86_400)] += 1
        else:
            self.counts.preempted_idle += 1
        self.in_use[row] = False
        self.reservation[row] = NOWHERE

    def _join(self, row: int, step: StepRequest) -> None:
        assert step.to_reservation is not None
        into = self.number.setdefault(step.to_reservation, len(self.number) + 1)
        if self.reservation[row] not in (NOWHERE, into):
            self._wrong(step, f"joined {step.to_reservation} and had not left {self._named(self.reservation[row])}")
        if self._traces[row] not in (NOWHERE, into):
            self._wrong(step, f"joined {step.to_reservation} with what {self._named(self._traces[row])} left on it")
        self.reservation[row] = self._traces[row] = into
        self.counts.joined += 1

    def _wrong(self, step: StepRequest, said: str) -> None:
        self.counts.wrong.append(f"{step.server} {said} (move {step.move_id})")

    def _named(self, number: int) -> str:
        return next(name for name, known in self.number.items() if known == number)
