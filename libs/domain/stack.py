"""A host and its guests, of which a question may change one: it is judged as a question about the host. See
docs/designs/0061.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TypeAlias

from libs.domain.guest import GUEST_SHARES_MAX, Guest, GuestFault, guest_fault, host_share, in_effect
from libs.domain.reservation import ROUNDING, Reservation, ReservationSpec

Asking: TypeAlias = tuple[str, str, ReservationSpec]
"""A request for a reservation: its name, its owner and its spec."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stack:
    """The reservations that share servers with that of a question.

    host     the host of the guest in question, as it is now; None: the question is about no guest, or the host is gone
    guests   the present guests of the host, or of the reservation in question; without the guest in question
    was      the guest in question as it is now; None: there is none yet
    """

    host: Reservation | None = None
    guests: tuple[Guest, ...] = ()
    was: Guest | None = None

    def asked(self, name: str, owner: str, spec: ReservationSpec) -> ReservationSpec:
        """Return the spec that solves would see if the reservation `name` had this spec: its own, or that of its
        host.
        """
        if self.host is None:
            return in_effect(spec, self.guests)
        return in_effect(self.host.spec, (*self.guests, *self.asking(name, owner, spec)))

    def asking(self, name: str, owner: str, spec: ReservationSpec) -> tuple[Guest, ...]:
        """Return the guest that the reservation `name` would be with this spec; () if it would be none."""
        if spec.guest_of is None:
            return ()
        return (Guest(reservation_id=0, name=name, owner=owner, spec=spec),)

    def holder_id(self, reservation_id: int | None) -> int:
        """Return the id of the reservation that holds the servers: the host, or the one in question. 0: it is new."""
        return reservation_id or 0 if self.host is None else self.host.reservation_id

    def before(self, found: Reservation | None) -> Reservation | None:
        """Return the reservation that solves see now, with the spec that they see: the one in question, or its host.

        found  the reservation in question as it is now
        """
        seen = found if self.host is None else self.host
        if seen is None:
            return None
        return replace(seen, spec=in_effect(seen.spec, self.guests if self.was is None else (*self.guests, self.was)))

    def beside(self, spec: ReservationSpec, others: Iterable[Asking]) -> Stack:
        """Return the stack if these requests about it were granted before the one in question, which has this spec.

        others   each about another reservation of the stack. A guest whose share would leave none for the one in
                 question is left out, because not both can be granted
        """
        stack, mine = self, spec.guest_share or 0.0
        for name, owner, asked in others:
            if asked.guest_of is None:
                stack = replace(stack, host=None if stack.host is None else replace(stack.host, spec=asked))
                continue
            guests = (*(one for one in stack.guests if one.name != name), *stack.asking(name, owner, asked))
            if host_share(guests) - mine >= 1.0 - GUEST_SHARES_MAX - ROUNDING:
                stack = replace(stack, guests=guests)
        return stack

    def fault(self, name: str, owner: str, spec: ReservationSpec) -> GuestFault | None:
        """Return why the reservation `name` cannot be a guest of this host; None: it can, or it is none."""
        if spec.guest_of is None:
            return None
        if self.host is None and spec.guest_of != name:
            return GuestFault("guest_of", "guest_of", f"{spec.guest_of} is gone", "name another reservation")
        if self.host is not None and self.host.owner != owner:
            because = f"{spec.guest_of} is of {self.host.owner}, and a guest and its host have one owner"
            return GuestFault("guest_of", "guest_of", because, f"name a reservation of {owner}")
        host = spec if self.host is None else self.host.spec
        dropped = () if self.was is None else self.was.spec.rru.keys() - host.rru.keys()
        return guest_fault(name, spec, host, self.guests, dropped)
