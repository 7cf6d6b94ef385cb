"""Which objects count towards a scope item's utilisation."""

from __future__ import annotations

from enum import StrEnum


class Flavour(StrEnum):
    """Sets of objects of a scope item: those initially in it, those after the moves, and those in both (stayed).

    An object that moves between two containers of one scope item has stayed in that item. Source: Rebalancer, 2.2.
    """

    AFTER = "AFTER"
    """In the item after the moves."""
    INITIAL = "INITIAL"
    """In the item before the moves: a constant."""
    STAYED = "STAYED"
    """In the item before and after."""
    NEW = "NEW"
    """AFTER less STAYED: moved in."""
    OLD = "OLD"
    """INITIAL less STAYED: moved out."""
    ANY = "ANY"
    """INITIAL plus AFTER less STAYED: at any point in time; an object under way occupies both ends."""
    DURING_AND_AFTER = "DURING_AND_AFTER"
    """Both ANY and AFTER, each on its own: what ANY breaks at the start, AFTER gives a reason to mend."""

    def parts(self) -> tuple[Flavour, ...]:
        """The utilisations that this flavour asks about, one after the other."""
        return (Flavour.AFTER, Flavour.ANY) if self is Flavour.DURING_AND_AFTER else (self,)
