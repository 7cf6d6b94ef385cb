"""An import into an existing region. An import is proposed first, then confirmed or discarded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from libs.domain.inventory_diff import ImportAction, ImportMode


class ImportStatus(StrEnum):
    """Status of an import. It is decided once."""

    PROPOSED = "proposed"
    CONFIRMED = "confirmed"
    DISCARDED = "discarded"


@dataclass(frozen=True, slots=True, kw_only=True)
class Import:
    """An import and its totals. `counts` maps an action to the number of its servers."""

    import_id: int
    region: str
    mode: ImportMode
    status: ImportStatus
    counts: Mapping[str, int]
    proposed_by: str
    decided_by: str | None
    generation: int
    created_at: datetime
    decided_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportItem:
    """The change that an import makes to one server.

    reservation                   the reservation that the server is bound to; None: the server is free, or new
    datacenter ... unavailability values in the list; None: the list lacks the server
    was_...                       values in the region; None: the server is new
    domains, was_domains          kind -> name of the server's domain, for the kinds in the list; None: no place of it
    """

    item_index: int
    action: ImportAction
    server: str
    server_id: int | None
    reservation: str | None
    datacenter: str | None
    msb: str | None
    rack: str | None
    hardware_type: str | None
    unavailability: str | None
    domains: Mapping[str, str | None] | None
    was_msb: str | None
    was_rack: str | None
    was_hardware_type: str | None
    was_unavailability: str | None
    was_domains: Mapping[str, str | None] | None


def describe_item(item: ImportItem) -> str:
    """Return one sentence about the change. If the item has no change, the sentence gives the reason and the
    next step.
    """
    if item.action is ImportAction.ADD:
        domains = "".join(f", {kind} {name}" for kind, name in sorted((item.domains or {}).items()) if name)
        return f"new in {item.rack}, {item.msb}, {item.datacenter}{domains}: {item.hardware_type}"
    listed = [
        ("MSB", item.was_msb, item.msb),
        ("rack", item.was_rack, item.rack),
        ("type", item.was_hardware_type, item.hardware_type),
        ("unavailability", item.was_unavailability, item.unavailability),
    ]
    changes = [(noun, was, now) for noun, was, now in listed if now is not None and was != now]
    before = item.was_domains or {}
    changes += [
        (kind, before.get(kind) or "none", now or "none")
        for kind, now in sorted((item.domains or {}).items())
        if before.get(kind) != now
    ]
    differences = ", ".join(f"{noun} {was} to {now}" for noun, was, now in changes)
    if item.action is ImportAction.CHANGE:
        return differences
    if item.action is ImportAction.REFUSE:
        return (
            f"{differences}: refused, because {item.reservation} relies on the server as it is. "
            f"`plimsoll decommission server {item.server} --region REGION --at WHEN` empties it; then import again"
        )
    if item.action is ImportAction.KEEP:
        return "not in the list; it stays unless the list is the whole of the region (--prune)"
    if item.reservation is None:
        return "not in the list: it leaves the fleet at once"
    return f"not in the list: it leaves the fleet once {item.reservation} is covered without it"
