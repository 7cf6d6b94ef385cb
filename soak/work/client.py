"""One client: what it knows of the region, what it has made, and how it writes."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from soak.caller import Caller
from soak.history import Json
from soak.world import World

_STALE = 0.4
"""Share of acknowledged writes that are tried once more on the generation that they have made old."""
_REMEMBERED = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """What all clients know: the regions, what is in the first, the platform's time, and the world behind it.

    quiet_region    where little happens, so that what rests on nothing having changed succeeds
    """

    region: str
    quiet_region: str
    servers: Sequence[str]
    racks: Sequence[str]
    hardware_types: Sequence[str]
    region_files: Callable[[str, int], Mapping[str, Any]]
    now: Callable[[], datetime]
    world: World


@dataclass(slots=True)
class Client:
    """What one client does follows from `chance` and from what it is told."""

    caller: Caller
    site: Site
    chance: random.Random
    is_admin: bool = False
    made: int = 0
    mine: dict[str, int] = field(default_factory=dict)
    """Name of a reservation -> the request that was last made for it."""
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
        """Its token's, and the owner of its reservations."""
        return self.caller.name

    def next_name(self, kind: str) -> str:
        """A name that nothing else has or ever had."""
        self.made += 1
        return f"{self.name}-{kind}{self.made}"

    def in_a_while(self, least_s: float, most_s: float) -> datetime:
        """A moment so many seconds of the platform's time ahead."""
        return self.site.now() + timedelta(seconds=self.chance.uniform(least_s, most_s))

    def write(self, what: str, method: str, path: str, body: Any = None, **named: Any) -> Any:
        """Write under a new key, which `send_again` may use again; the answer's body where it was done, else None."""
        named["key"] = f"{self.name}-{self.chance.getrandbits(64):016x}"
        answer = self.caller.write(what, method, path, body, **named)
        if answer is None or not answer.done:
            return None
        if "files" not in named:
            self._sent = [*self._sent[-_REMEMBERED:], ((what, method, path, body), named)]
        return answer.body

    def swap(self, what: str, method: str, path: str, body: Any = None, *, generation: int) -> Any:
        """Write on a generation; now and then once more on the same one, which must be refused."""
        made = self.write(what, method, path, body, generation=generation)
        if made is not None and self.chance.random() < _STALE:
            self.write(what, method, path, body, generation=generation)
        return made

    def send_again(self) -> None:
        """Repeat one of the latest acknowledged writes, as a client does that lost the answer."""
        if self._sent:
            arguments, named = self.chance.choice(self._sent)
            self.caller.write(*arguments, **named)

    def read(self, what: str, path: str) -> Json | None:
        """The body of an answer; None where there was none, or it was refused."""
        answer = self.caller.read(what, path)
        return answer.body if answer is not None and answer.done else None

    def read_etag(self, what: str, path: str) -> tuple[Json, int] | None:
        """The body of an answer, and its generation."""
        answer = self.caller.read(what, path)
        if answer is None or not answer.done or answer.generation is None:
            return None
        return answer.body, answer.generation
