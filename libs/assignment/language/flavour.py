"""Select the objects that count towards a scope item's utilisation."""

from __future__ import annotations

from enum import StrEnum


class Flavour(StrEnum):
    """Sets of objects of a scope item: initially in it, in it after the moves, or both (stayed).

    An object that moves between two containers of one scope item has stayed in that item. Source: Rebalancer, 2.2.
    """

    AFTER = "AFTER"
    """Objects in the item after the moves."""
    INITIAL = "INITIAL"
    """Objects in the item before the moves: a constant."""
    STAYED = "STAYED"
    """Objects in the item before and after."""
    NEW = "NEW"
    """AFTER less STAYED: moved in."""
    OLD = "OLD"
    """INITIAL less STAYED: moved out."""
    ANY = "ANY"
    """INITIAL plus AFTER less STAYED: at any time during the moves. A moving object counts in both places."""
    DURING_AND_AFTER = "DURING_AND_AFTER"
    """ANY and AFTER, each for itself. If the start breaks ANY, AFTER still gives a reason to improve."""

    def parts(self) -> tuple[Flavour, ...]:
        """Return the utilisations of this flavour, one after the other."""
        return (Flavour.AFTER, Flavour.ANY) if self is Flavour.DURING_AND_AFTER else (self,)
