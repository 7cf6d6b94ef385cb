"""Send bombs many times in parallel, and watch the memory and the health of the API's process.

A bomb is a request that is built to cost the server far more memory or time than its size suggests.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

import httpx
import psutil

from soak.hostile.bombs import BUSY, Bomb

_TIMEOUT_S = 600.0
_LOOK_S = 0.01
_PROBE_S = 0.05
_AGAIN_MAX, _AGAIN_S = 60, 0.5
"""Largest number of tries of a bomb that the API answers with 429, and seconds between two tries. Without the tries the
API might never read the bomb.
"""
NO_ANSWER = 0


@dataclass(slots=True)
class Outcome:
    """The outcome of sending one group of bombs. `rss_bytes` is the largest memory of the API's process that was seen,
    and `healthz_s` the longest time of an answer to /healthz.
    """

    name: str
    fits: frozenset[int]
    answers: Counter[int] = field(default_factory=Counter)
    rss_bytes: int = 0
    healthz_s: float = 0.0
    died: bool = False

    def complaints(self, *, rss_bytes_max: float, healthz_s_max: float) -> list[str]:
        """Return a message for each fault: a wrong status, no bomb read, the process ended, or a limit exceeded."""
        wrong = [f"{name(status)} {number} times" for status, number in self.answers.items() if not self._fits(status)]
        if not self.answers.keys() - {BUSY}:
            wrong.append("every answer was 429, so it was never read")
        if self.died:
            wrong.append("the API's process ended")
        if self.rss_bytes >= rss_bytes_max:
            wrong.append(f"the API took {self.rss_bytes / 2**20:.0f} MiB")
        if self.healthz_s >= healthz_s_max:
            wrong.append(f"/healthz took {self.healthz_s:.2f} s")
        return [f"{self.name}: {one}" for one in wrong]

    def _fits(self, status: int) -> bool:
        return status == BUSY or status in self.fits


@dataclass(frozen=True, slots=True)
class Target:
    """The API under attack, a token with all rights, and a function that returns the id of the API's process."""

    url: str
    token: str
    pid: Callable[[], int]


def name(status: int) -> str:
    """Return an HTTP status as text; "no answer" for NO_ANSWER."""
    return "no answer" if status == NO_ANSWER else str(status)


def send_often(
    target: Target,
    label: str,
    bombs: Sequence[Bomb],
    *,
    times: int,
    at_once: int,
    tend: Callable[[], object] = lambda: None,
) -> Outcome:
    """Send every bomb in `bombs` `times` times, from `at_once` threads. Call `tend` every _PROBE_S seconds until all
    answers have come.

    A bomb that the API answers with 429 is sent again, at most _AGAIN_MAX times. Every answer is counted.
    """
    outcome = Outcome(label, frozenset[int]().union(*(bomb.fits for bomb in bombs)))
    pid = target.pid()
    with _client(target) as http, _watched(target, pid, outcome), ThreadPoolExecutor(at_once) as threads:
        sent = [threads.submit(_send, http, bomb) for _ in range(times) for bomb in bombs]
        while wait(sent, timeout=_PROBE_S).not_done:
            tend()
        for one in sent:
            outcome.answers += one.result()
    outcome.died |= target.pid() != pid
    return outcome


def ask_at_once(target: Target, path: str, *, times: int, at_once: int) -> Outcome:
    """Send `times` GETs to a public path from `at_once` threads."""
    outcome, pid = Outcome(f"{at_once} × {path}", frozenset({200})), target.pid()
    bomb = Bomb(method="GET", path=path)
    with _client(target) as http, _watched(target, pid, outcome), ThreadPoolExecutor(at_once) as threads:
        for answers in threads.map(lambda _: _send(http, bomb), range(times)):
            outcome.answers += answers
    outcome.died |= target.pid() != pid
    return outcome


def _client(target: Target) -> httpx.Client:
    return httpx.Client(
        base_url=target.url,
        headers={"Authorization": f"Bearer {target.token}"},
        timeout=_TIMEOUT_S,
        limits=httpx.Limits(max_connections=None),
        trust_env=False,
    )


def _send(http: httpx.Client, bomb: Bomb) -> Counter[int]:
    answers: Counter[int] = Counter()
    for _ in range(_AGAIN_MAX):
        try:
            status = bomb.send(http)
        except httpx.TransportError:
            status = NO_ANSWER
        answers[status] += 1
        if status != BUSY:
            break
        time.sleep(_AGAIN_S)
    return answers


@contextmanager
def _watched(target: Target, pid: int, outcome: Outcome) -> Iterator[None]:
    over = threading.Event()

    def memory() -> None:
        with suppress(psutil.NoSuchProcess):
            process = psutil.Process(pid)
            while not over.wait(_LOOK_S):
                outcome.rss_bytes = max(outcome.rss_bytes, process.memory_info().rss)

    def health() -> None:
        with httpx.Client(base_url=target.url, timeout=_TIMEOUT_S, trust_env=False) as http:
            while not over.wait(_PROBE_S):
                began = time.monotonic()
                try:
                    found = http.get("/healthz").status_code
                except httpx.TransportError:
                    found = NO_ANSWER
                outcome.healthz_s = max(outcome.healthz_s, time.monotonic() - began)
                if found != 200:
                    outcome.answers[found] += 1

    threads = [threading.Thread(target=watch, daemon=True) for watch in (memory, health)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        over.set()
        for thread in threads:
            thread.join()
