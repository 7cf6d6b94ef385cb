"""The real servers of a small world."""

from dataclasses import dataclass, field

from libs.domain.move import MoveStep, RunningMove


@dataclass
class Fleet:
    """The real servers. A step that was asked for may be done at any time, until a newer one ends it.

    owners   server -> the reservations that it is in
    dirty    servers with data of a reservation
    late     server -> the step that is still under way although its outcome was never told
    """

    owners: dict[int, set[int]]
    dirty: set[int] = field(default_factory=set)
    profile: dict[int, int] = field(default_factory=dict)
    late: dict[int, RunningMove] = field(default_factory=dict)
    done: set[tuple[int, MoveStep]] = field(default_factory=set)

    def ask(self, move: RunningMove) -> None:
        """A step of a newer move, or a higher attempt, ends what is under way on the server."""
        self.late.pop(move.server_id, None)

    def do(self, move: RunningMove) -> None:
        s, step = move.server_id, move.step
        if (move.move_id, step) in self.done:
            return
        self.done.add((move.move_id, step))
        if step is MoveStep.PREEMPT:
            self.owners[s].discard(move.from_reservation_id or 0)
            self.dirty.add(s)
        elif step is MoveStep.CLEAN:
            assert not self.owners[s], "it is cleaned while a reservation has it"
            self.dirty.discard(s)
        elif step is MoveStep.HOST_PROFILE:
            self.profile[s] = move.to_reservation_id or 0
        elif step is MoveStep.JOIN:
            to = move.to_reservation_id or 0
            assert self.owners[s] <= {to}, "it joins while another reservation has it"
            assert s not in self.dirty or self.owners[s], "it joins with data of another reservation"
            assert self.profile[s] == to
            self.owners[s].add(to)
