"""Report what a phase after the first gained."""

from __future__ import annotations

from dataclasses import asdict, dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseReport:
    """A phase after the first in numbers. Costs are those of the whole region, in the currency of the policy.

    phase               its name
    reservations        the names of the reservations that it refined, the worst first
    waiting             number of further reservations that stand badly: beyond the share, or out of time
    counts              number of integer counts of its largest model
    before, after       the cost of the term that it refines, in the plan before and after it
    moves               what its plan costs more in moves than the plan before; below 0: it costs less
    others              by how much all other terms together fell
    moved_in_use        servers in use that leave their reservation only because of this phase; below 0: fewer do
    moved_idle          the same for idle servers
    bound_gap           (cost - bound) / bound of the refined reservations, all terms but penalties, while all others
                        stay; None: no bound is known
    stopped_by          "finished", "time" or "cancelled"
    """

    phase: str
    reservations: tuple[str, ...]
    waiting: int
    counts: int
    before: float
    after: float
    moves: float
    others: float
    moved_in_use: int
    moved_idle: int
    bound_gap: float | None
    stopped_by: str

    @property
    def gain(self) -> float:
        """Return by how much the total cost of the plan fell."""
        return self.before - self.after + self.others - self.moves

    def as_dict(self) -> dict[str, object]:
        """Return the report for JSON."""
        return asdict(self) | {"reservations": list(self.reservations), "gain": self.gain}
