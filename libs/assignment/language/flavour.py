"""Name the sets of objects that can count towards a scope item's utilisation."""

from __future__ import annotations

from enum import StrEnum


class Flavour(StrEnum):
    """Sets of objects of a scope item, by their places before and after the moves.

    An object that moves between two containers of one scope item has stayed in that item. Source: Rebalancer, 2.2.
    """

    AFTER = "AFTER"
    """Objects in the item after the moves."""
    INITIAL = "INITIAL"
    """Objects in the item before the moves: a constant."""
    STAYED = "STAYED"
    """Objects in the item before and after."""
    NEW = "NEW"
    """Objects that move in: AFTER less STAYED."""
    OLD = "OLD"
    """Objects that move out: INITIAL less STAYED."""
    ANY = "ANY"
    """Objects that are in the item at any time during the moves: INITIAL plus NEW. A moving object counts in both
    places.
    """
    DURING_AND_AFTER = "DURING_AND_AFTER"
    """ANY and AFTER, as two utilisations. If the start breaks a constraint on ANY, AFTER still gives a reason to
    improve.
    """

    def parts(self) -> tuple[Flavour, ...]:
        """Return the utilisations of this flavour, one after the other."""
        return (Flavour.AFTER, Flavour.ANY) if self is Flavour.DURING_AND_AFTER else (self,)
