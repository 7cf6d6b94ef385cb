"""A small world whose servers move: the store in a few lines, and the real servers."""

import math
import random
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TypeVar

import numpy as np
from hypothesis import strategies as st

from libs.domain.arrays import Ints
from libs.domain.departure_exceptions import StoredExceptions
from libs.domain.departure_wait import DepartureWait, KnownWaits, WaitsPlan
from libs.domain.holding import Holding
from libs.domain.move import MoveChange, MoveStart, MoveStatus, MoveStep, Rebinding, RunningMove, StepResult
from libs.domain.mover import Mover
from libs.domain.moves_snapshot import MovesSnapshot, WaitingServers
from libs.domain.spare import LENT_SHARE_MAX, IdleServers, Loan, LoanAct, Spare
from libs.reconcile.call_retries import Backoff
from services.mover.move_policy import MovePolicy
from services.mover.moves_plan import MovesPlan
from tests.builders.moving_fleet import Fleet

MOVER = Mover(region="r")
T0 = datetime(2026, 1, 1, tzinfo=UTC)
POLICY = MovePolicy(moves_max=5, msb_share_max=1.0, attempts_max=3, backoff=Backoff(10.0), step_s_max=100.0)
Draws = st.DataObject | random.Random
_T = TypeVar("_T")


@dataclass
class World:
    """The store in a few lines: servers by id, from 1; 0 is no reservation. Profiles are named for reservations.

    kind, rru       server -> hardware type, 0 unless given; (reservation, type) -> RRU, 1 unless given
    no_loans        reservations with a hard limit, or that ask for resources: they borrow no server
    deleted         reservations that do not exist any more
    profile_of      reservation -> the profile that it was changed to
    stores_waits    True: waits are stored, and idle servers are looked for only while some server waits
    """

    current: dict[int, int]
    target: dict[int, int]
    in_use: set[int]
    msbs: int
    down: set[int] = field(default_factory=set)
    profile: dict[int, int] = field(default_factory=dict)
    unclean: set[int] = field(default_factory=set)
    in_doubt: dict[int, int] = field(default_factory=dict)
    running: dict[int, RunningMove] = field(default_factory=dict)
    ended: list[MoveChange] = field(default_factory=list)
    number: int = 0
    promised: dict[int, float] = field(default_factory=dict)
    survives: bool = False
    blocks: int = 0
    survives_block: bool = False
    buffers: frozenset[int] = frozenset()
    spare_for: dict[int, int] = field(default_factory=dict)
    lent_until: dict[int, datetime] = field(default_factory=dict)
    recalled: dict[int, datetime] = field(default_factory=dict)
    exceptions: StoredExceptions | None = None
    granted: dict[int, float] = field(default_factory=dict)
    kind: dict[int, int] = field(default_factory=dict)
    rru: dict[tuple[int, int], float] = field(default_factory=dict)
    no_loans: set[int] = field(default_factory=set)
    deleted: set[int] = field(default_factory=set)
    hurried: set[int] = field(default_factory=set)
    profile_of: dict[int, int] = field(default_factory=dict)
    stores_waits: bool = False
    waiting: dict[int, tuple[int, int]] = field(default_factory=dict)
    waits_of: dict[int, DepartureWait] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.fleet = Fleet({s: {r} - {0} - self.buffers for s, r in self.current.items()}, profile=dict(self.profile))
        self.in_use -= {s for s, r in self.current.items() if r in self.buffers}

    def goal(self, s: int) -> int:
        return self.target[s] if s in self.recalled else self.spare_for.get(s, self.target[s])

    def waits(self, s: int) -> bool:
        astray = self.current[s] != self.goal(s) or s in self.in_doubt or (s in self.unclean and not self.current[s])
        return astray or (self.current[s] in self.profile_of and self._has_other_profile(s))

    def worth(self, s: int, r: int) -> float:
        """Return the RRU of a server for a reservation."""
        return self.rru.get((r, self.kind.get(s, 0)), 1.0)

    def profile_for(self, r: int) -> int:
        """Return the host profile that a reservation has now."""
        return self.profile_of.get(r, r)

    def _has_other_profile(self, s: int) -> bool:
        return self.profile.get(s) != self.profile_for(self.goal(s))

    def snapshot(self) -> MovesSnapshot:
        waits = [s for s in self.target if self.waits(s) and s not in self.running and s not in self.down]
        waiting = WaitingServers(
            id=_ints(waits),
            generation=_ints(1 for _ in waits),
            msb_id=_ints(s % self.msbs for s in waits),
            current_id=_ints(self.current[s] or self.in_doubt.get(s, 0) for s in waits),
            target_id=_ints(self.goal(s) for s in waits),
            in_use=np.array([s in self.in_use for s in waits], bool),
            other_profile=np.array([self._has_other_profile(s) for s in waits], bool),
            unclean=np.array([s in self.unclean for s in waits], bool),
            in_doubt=np.array([s in self.in_doubt for s in waits], bool),
            from_buffer=np.array([self.current[s] in self.buffers for s in waits], bool),
            to_buffer=np.array([self.goal(s) in self.buffers for s in waits], bool),
            lent=np.array([s in self.spare_for and s not in self.recalled for s in waits], bool),
            leaves_rru=np.array([self.worth(s, self.current[s]) if self.current[s] else 0.0 for s in waits]),
            domain_ids=self.domain_ids(waits),
        )
        moves = tuple(self._as_read(move) for move in self.running.values())
        servers = Counter(s % self.msbs for s in self.target)
        return MovesSnapshot(
            region="r",
            region_id=1,
            running=moves,
            waiting=waiting,
            msb_servers=servers,
            mover=MOVER,
            holdings=tuple(self.holding(r) for r in self.promised),
            kinds=("MSB", "block"),
            ungranted=frozenset(self.granted),
            spares=tuple(
                Spare(
                    server_id=s,
                    server=f"s{s}",
                    generation=1,
                    reservation_id=r,
                    reservation=f"r{r}",
                    has_joined=self.current[s] == r,
                    usable=s not in self.down and r not in self.deleted and self.target[s] in self.buffers | {0},
                    until=self.lent_until[s],
                    recalled_at=self.recalled.get(s),
                    has_left=self.current[s] != r
                    and self.in_doubt.get(s) != r
                    and not (s in self.running and self.running[s].to_reservation_id == r),
                    keeps=self.target[s] == r,
                    is_up=s not in self.down,
                )
                for s, r in self.spare_for.items()
            ),
            idle=self.idle() if self.waiting or not self.stores_waits else None,
            waits=self.known_waits(),
            hurried=frozenset(self.hurried),
            exceptions=self.exceptions,
        )

    def holds(self, r: int) -> float:
        """Return the RRU of the real servers that are in the reservation."""
        return float(sum(r in owners for owners in self.fleet.owners.values()))

    def idle(self) -> IdleServers:
        """The free servers, and those that are idle in a shared buffer."""
        known = {*self.running, *self.down, *self.in_doubt, *self.spare_for}
        homes = self.buffers | {0}
        at_home = [s for s in self.target if self.target[s] in homes and self.current[s] == self.target[s]]
        taken = known | {s for s in self.in_use if self.target[s]}
        free = sorted((s for s in at_home if s not in taken), key=lambda s: (self.target[s], s))
        sizes = Counter(self.target[s] for s in self.target if s not in self.down)
        ready = Counter(self.target[s] for s in at_home if s not in known)
        kinds = {self.kind.get(s, 0) for s in self.target}
        borrowers = self.promised.keys() - self.no_loans
        worth = {(r, kind): self.rru.get((r, kind), 1.0) for r in borrowers for kind in kinds}
        return IdleServers(
            id=_ints(free),
            generation=_ints(1 for _ in free),
            msb_id=_ints(s % self.msbs for s in free),
            hardware_type_id=_ints(self.kind.get(s, 0) for s in free),
            buffer_id=_ints(self.target[s] for s in free),
            domain_ids=self.domain_ids(free),
            rru={like: rru for like, rru in worth.items() if rru > 0},
            room={b: int(LENT_SHARE_MAX * sizes[b]) - (sizes[b] - ready[b]) for b in self.buffers},
        )

    def write(self, loan: Loan, now: datetime) -> None:
        s = loan.server_id
        if loan.act is LoanAct.FORGET:
            assert self.spare_for.pop(s) == loan.reservation_id
            self.recalled.pop(s, None)
            del self.lent_until[s]
        elif loan.act is LoanAct.RECALL:
            assert s not in self.recalled
            self.recalled[s] = now
        else:
            assert s not in self.spare_for
            assert self.target[s] in self.buffers | {0}
            assert loan.until is not None
            assert loan.until > now
            self.spare_for[s], self.lent_until[s] = loan.reservation_id, loan.until

    def known_waits(self) -> KnownWaits:
        """Return the waits that are stored."""
        servers = sorted(self.waiting)
        return KnownWaits(
            server_id=_ints(servers),
            reservation_id=_ints(self.waiting[s][0] for s in servers),
            since_us=_ints(self.waiting[s][1] for s in servers),
            by_reservation=dict(self.waits_of),
        )

    def write_waits(self, waits: WaitsPlan, now: datetime) -> None:
        """Store the waits of a tick, as libs/store/moves/waits.py does."""
        for s in waits.ended.tolist():
            del self.waiting[s]
        since_us = round((now - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds() * 1e6)
        self.waiting |= {s: (r, since_us) for s, r in waits.began.tolist()}
        for r in waits.gone:
            del self.waits_of[r]
        self.waits_of |= {wait.reservation_id: wait for wait in waits.changed}

    def place(self, s: int) -> tuple[int, ...]:
        """Its MSB, and its block if there are any."""
        return (s % self.msbs, *((s // self.msbs % self.blocks,) if self.blocks else ()))

    def domain_ids(self, servers: Iterable[int]) -> Ints:
        blocks = np.array([self.place(s)[1:] for s in servers], np.int64)
        return blocks if self.blocks and len(blocks) else np.zeros((len(blocks), int(self.blocks > 0)), np.int64)

    def holding(self, r: int) -> Holding:
        """The RRU of each server that is up, is in the reservation and is not asked to leave it."""
        there = [
            (self.place(s), self.worth(s, r))
            for s, current in self.current.items()
            if current == r and s not in self.down and not (s in self.running and self.running[s].asked)
        ]
        number = (self.msbs, self.blocks) if self.blocks else (self.msbs,)
        held = [dict.fromkeys(range(most), 0.0) for most in number]
        for place, rru in there:
            for k in range(len(number)):
                held[k][place[k]] += rru
        return Holding(
            reservation_id=r,
            reservation=f"r{r}",
            capacity_rru=self.promised[r],
            granted_rru=self.granted.get(r, math.inf),
            survives=(self.survives, self.survives_block)[: len(number)],
            held_rru=tuple(held),
        )

    def _as_read(self, move: RunningMove) -> RunningMove:
        fields = {name: getattr(move, name) for name in RunningMove.__dataclass_fields__}
        s = move.server_id
        to, available = move.to_reservation_id or 0, s not in self.down
        wanted = to == self.goal(s) and (not to or self.current[s] != to or self._has_other_profile(s))
        return RunningMove(**{**fields, "wanted": wanted, "available": available})

    def start(self, start: MoveStart, now: datetime) -> None:
        assert start.server_id not in self.running
        self.number += 1
        self.running[start.server_id] = RunningMove(
            move_id=self.number,
            generation=1,
            server_id=start.server_id,
            server_generation=1,
            server=f"s{start.server_id}",
            msb_id=start.server_id % self.msbs,
            from_reservation_id=start.from_reservation_id,
            to_reservation_id=start.to_reservation_id,
            from_reservation=None,
            to_reservation=None,
            steps=start.steps,
            step_index=0,
            attempt=1,
            step_started_at=now,
            wanted=True,
            available=True,
            host_profile="",
            to_host_profile="",
            leaves_rru=self.worth(start.server_id, start.from_reservation_id) if start.from_reservation_id else 0.0,
            domain_ids=self.place(start.server_id)[1:],
            from_buffer=self.current[start.server_id] in self.buffers,
        )

    def rebind(self, rebinding: Rebinding) -> None:
        s = rebinding.server_id
        assert s not in self.running.keys() | self.unclean | self.in_doubt.keys()
        assert not self.fleet.owners[s], "a spare server runs something"
        assert s not in self.fleet.dirty
        assert self.target[s] in self.buffers | {0}
        assert self.current[s] in self.buffers | {0}
        assert not self.target[s] or self.profile[s] == self.target[s]
        self.current[s] = self.target[s]

    def change(self, change: MoveChange) -> None:
        move = change.move
        s = move.server_id
        if change.result in (StepResult.DONE, StepResult.SKIPPED):
            if move.step is MoveStep.PREEMPT:
                assert (self.current[s] or self.in_doubt[s]) == move.from_reservation_id
                self.current[s] = 0
                self.in_doubt.pop(s, None)
                self.in_use.discard(s)
                self.unclean.add(s)
            elif move.step is MoveStep.CLEAN:
                self.unclean.discard(s)
            elif move.step is MoveStep.HOST_PROFILE:
                self.profile[s] = self.profile_for(move.to_reservation_id or 0)
            elif move.step is MoveStep.JOIN:
                assert self.current[s] in self.buffers | {0}, "it joins while it is in another reservation"
                assert move.to_reservation_id not in self.buffers, "it joins a shared buffer"
                assert s not in self.unclean, "it joins with what its last owner left on it"
                assert move.to_reservation_id in self.profile_of or self.profile[s] == move.to_reservation_id
                self.current[s] = move.to_reservation_id or 0
        elif change.result is StepResult.UNKNOWN and change.status is not MoveStatus.RUNNING:
            if move.step is MoveStep.HOST_PROFILE:
                self.profile[s] = -1
            elif move.step in (MoveStep.PREEMPT, MoveStep.JOIN):
                of = move.from_reservation_id if move.step is MoveStep.PREEMPT else move.to_reservation_id
                self.current[s], self.in_doubt[s] = 0, of or 0
                self.in_use.discard(s)
        if change.status is MoveStatus.RUNNING:
            fields = {name: getattr(move, name) for name in RunningMove.__dataclass_fields__}
            fields |= {"step_index": change.step_index, "attempt": change.attempt}
            fields["asked"] = change.result is StepResult.UNKNOWN
            self.running[s] = RunningMove(**{**fields, "step_started_at": change.step_started_at})
            return
        del self.running[s]
        self.ended.append(change)
        if change.status is MoveStatus.FAILED:
            self.down.add(s)


def choose(draws: Draws, options: Sequence[_T]) -> _T:
    """Return one of the options, as drawn."""
    return draws.choice(options) if isinstance(draws, random.Random) else draws.draw(st.sampled_from(options))


def running(**other: object) -> RunningMove:
    """A move that joins reservation 2."""
    given = {
        "move_id": 1,
        "generation": 1,
        "server_id": 1,
        "server_generation": 1,
        "server": "s1",
        "msb_id": 0,
        "from_reservation_id": None,
        "to_reservation_id": 2,
        "from_reservation": None,
        "to_reservation": "b",
        "steps": (MoveStep.JOIN,),
        "step_index": 0,
        "attempt": 1,
        "step_started_at": T0,
        "wanted": True,
        "available": True,
        "host_profile": "",
        "to_host_profile": "",
        **other,
    }
    return RunningMove(**given)


def _ints(values: Iterable[int]) -> Ints:
    return np.array(list(values), np.int64)


def survives(world: World, r: int) -> float:
    """Return the RRU that r holds in the world after the worst loss of an MSB or a block, by the real servers."""
    return left_of(world, [s for s, owners in world.fleet.owners.items() if r in owners])


def numbers(plan: MovesPlan) -> dict[str, int]:
    """Return how many servers wait to leave each reservation."""
    assert plan.waits is not None
    return {wait.reservation: wait.servers for wait in plan.waits.now.values()}


def left_of(world: World, servers: list[int]) -> float:
    """Return how many of the servers are left after the worst loss of an MSB, or of a block if blocks are survived."""
    kinds = 2 if world.blocks and world.survives_block else 1
    lost = [(k, world.place(s)[k]) for s in servers for k in range(kinds)]
    return float(min((sum(world.place(s)[k] != d for s in servers) for k, d in lost), default=0))
