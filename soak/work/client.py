"""One client: its knowledge of the region, the objects that it made, and its way to write."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from soak.caller import Caller
from soak.history import Json
from soak.systems import Systems
from soak.world import World

_STALE = 0.4
"""Share of acknowledged writes that are sent again on the old generation, and must be refused."""
_REMEMBERED = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """Common knowledge of all clients: the regions, the content of the first, the platform's time, and the real
    servers and systems.

    quiet_region    a region with little work, in which writes that need an unchanged region succeed
    """

    region: str
    quiet_region: str
    servers: Sequence[str]
    racks: Sequence[str]
    hardware_types: Sequence[str]
    region_files: Callable[[str, int], Mapping[str, Any]]
    now: Callable[[], datetime]
    world: World
    systems: Systems


@dataclass(slots=True)
class Client:
    """One client. Its deeds depend only on `chance` and on the answers that it gets."""

    caller: Caller
    site: Site
    chance: random.Random
    is_admin: bool = False
    made: int = 0
    mine: dict[str, int] = field(default_factory=dict)
    """Name of a reservation -> id of the latest request for it."""
    open_events: list[int] = field(default_factory=list)
    regions: int = 0
    plans: int = 0
    tokens: list[int] = field(default_factory=list)
    simulations: list[int] = field(default_factory=list)
    retirements: list[int] = field(default_factory=list)
    imports: list[int] = field(default_factory=list)
    _sent: list[tuple[tuple[Any, ...], dict[str, Any]]] = field(default_factory=list)

    @property
    def name(self) -> str:
        """Name of the client's token, and of the owner of its reservations."""
        return self.caller.name

    def next_name(self, kind: str) -> str:
        """Return a name that was never used before."""
        self.made += 1
        return f"{self.name}-{kind}{self.made}"

    def in_a_while(self, least_s: float, most_s: float) -> datetime:
        """Return a random time between `least_s` and `most_s` seconds of platform time ahead."""
        return self.site.now() + timedelta(seconds=self.chance.uniform(least_s, most_s))

    def write(self, what: str, method: str, path: str, body: Any = None, **named: Any) -> Any:
        """Write under a new key and return the body of the answer; None if the write was not acknowledged.

        `send_again` may use the key again.
        """
        named["key"] = f"{self.name}-{self.chance.getrandbits(64):016x}"
        answer = self.caller.write(what, method, path, body, **named)
        if answer is None or not answer.done:
            return None
        if "files" not in named:
            self._sent = [*self._sent[-_REMEMBERED:], ((what, method, path, body), named)]
        return answer.body

    def swap(self, what: str, method: str, path: str, body: Any = None, *, generation: int) -> Any:
        """Write on a generation. Sometimes repeat the write on the same generation, which must be refused."""
        made = self.write(what, method, path, body, generation=generation)
        if made is not None and self.chance.random() < _STALE:
            self.write(what, method, path, body, generation=generation)
        return made

    def send_again(self) -> None:
        """Repeat one of the latest acknowledged writes, like a client that lost the answer."""
        if self._sent:
            arguments, named = self.chance.choice(self._sent)
            self.caller.write(*arguments, **named)

    def read(self, what: str, path: str) -> Json | None:
        """Return the body of an answer; None if there was no answer, or a refusal."""
        answer = self.caller.read(what, path)
        return answer.body if answer is not None and answer.done else None

    def read_etag(self, what: str, path: str) -> tuple[Json, int] | None:
        """Return the body of an answer and its generation; None if it has none."""
        answer = self.caller.read(what, path)
        if answer is None or not answer.done or answer.generation is None:
            return None
        return answer.body, answer.generation
