"""The changes that importing an inventory would make in a region. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from libs.domain.arrays import Bools, Indices, Ints, Names
from libs.domain.domain_kind import DOMAINS_MAX, KINDS_MAX
from libs.domain.fleet import FREE, Topology
from libs.domain.inventory import Inventory

CONFLICTS_MAX = 20


class ImportMode(StrEnum):
    """The changes that an import may make. Only PRUNE treats the list as the whole region."""

    MERGE = "merge"
    ONLY_ADD = "only_add"
    PRUNE = "prune"


class ImportAction(StrEnum):
    """The action for one server. REFUSE and KEEP change nothing."""

    ADD = "add"
    CHANGE = "change"
    RETIRE = "retire"
    REFUSE = "refuse"
    """The list moves or retypes a bound server, which would break a guarantee."""
    KEEP = "keep"
    """The list lacks the server, and the server stays."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class KnownServers:
    """The N servers of a region, for comparison with an import.

    id, generation   (N,) int
    name             (N,) str
    rack             (N,) int           index into topology.racks
    domain           (N, J) int         domain of each kind of topology.kinds, or UNPLACED
    hardware_type    (N,) str
    reservation      (N,) str or None   reservation of the server, by the current binding or the target
    leaving          (N,) bool          a retirement is announced
    unavailability   (N,) str           state of the server by all open events
    reported         (N,) str           state of the server by the events that imports opened
    """

    topology: Topology
    id: Ints
    generation: Ints
    name: Names
    rack: Indices
    domain: Indices
    hardware_type: Names
    reservation: Names
    leaving: Bools
    unavailability: Names
    reported: Names

    @property
    def bound(self) -> Bools:
        """Return a (N,) mask of the bound servers."""
        return np.array([name is not None for name in self.reservation], bool)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ImportItems:
    """One row for each of the K servers that the list or the region has. The servers of the list come first, in the
    order of the list.

    action            (K,) str     values of ImportAction
    known, listed     (K,) int     row in KnownServers and in the Inventory; -1: absent there
    """

    action: Names
    known: Indices
    listed: Indices

    def __len__(self) -> int:
        return len(self.action)

    def counts(self) -> dict[str, int]:
        """Return the number of items of each action."""
        return {action.value: int((self.action == action.value).sum()) for action in ImportAction}


def diff_inventory(known: KnownServers, inventory: Inventory, mode: ImportMode) -> ImportItems:
    """Compare the known servers with a list, by name.

    A bound server may change its rack within its MSB, and its health, because no guarantee depends on rack or health.
    It may change its domains of further kinds, because the list corrects what is known of them. Kinds that the list
    lacks stay as they are. A listed health is a change if it differs both from the health that imports reported and
    from the health by all open events. An import does not end the events of other reporters.
    """
    row_of = {name: row for row, name in enumerate(known.name)}
    at = np.array([row_of.get(name, FREE) for name in inventory.server], np.int32)
    there = np.flatnonzero(at >= 0)
    row = at[there]
    ours, theirs = known.topology, inventory.topology
    moved = ours.racks[known.rack[row]] != theirs.racks[inventory.rack[there]]
    other_msb = ours.msbs[ours.rack_msb[known.rack[row]]] != theirs.msbs[inventory.msb[there]]
    other_type = known.hardware_type[row] != inventory.hardware_types[inventory.hardware_type[there]]
    elsewhere = np.zeros(len(row), bool)
    for kind in theirs.kinds:
        was = domain_names(ours, known.domain, kind.name)[row]
        elsewhere |= np.asarray(was != domain_names(theirs, inventory.domain, kind.name)[there], bool)
    said = inventory.unavailability[there]
    health = (said != known.reported[row]) & (said != known.unavailability[row])
    refused = (other_msb | other_type) & known.bound[row]
    action = np.full(len(inventory), "", object)
    action[at < 0] = ImportAction.ADD.value
    if mode is not ImportMode.ONLY_ADD:
        action[there[moved | other_msb | other_type | elsewhere | health]] = ImportAction.CHANGE.value
        action[there[refused]] = ImportAction.REFUSE.value
    listed = np.flatnonzero(action != "")
    gone = np.setdiff1d(np.arange(len(known.name)), row) if mode is not ImportMode.ONLY_ADD else np.zeros(0, np.intp)
    retires = (mode is ImportMode.PRUNE) & ~known.leaving[gone]
    return ImportItems(
        action=np.concatenate([action[listed], np.where(retires, "retire", "keep").astype(object)]),
        known=np.concatenate([at[listed], gone]).astype(np.int32),
        listed=np.concatenate([listed, np.full(len(gone), FREE)]).astype(np.int32),
    )


def domain_names(topology: Topology, domain: Indices, kind: str) -> Names:
    """Return the name of each server's domain of a kind, (N,) str or None. `domain` is (N, J)."""
    for j, found in enumerate(topology.kinds):
        if found.name == kind:
            return found.names_of(domain[:, j])
    return np.full(len(domain), None, object)


def find_conflicts(known: Topology, listed: Topology) -> list[tuple[str, str]]:
    """Return (field, message) for each rack and MSB that the list puts in another place than the region does. Return at
    most CONFLICTS_MAX, with those of too many kinds of domain, and of too many domains of one kind.
    """
    found = [
        *_elsewhere("msb", "datacenter", known.msbs, known.datacenters[known.msb_datacenter], listed.msbs,
                    listed.datacenters[listed.msb_datacenter]),
        *_elsewhere("rack", "msb", known.racks, known.msbs[known.rack_msb], listed.racks, listed.msbs[listed.rack_msb]),
        *_too_many(known, listed),
    ]  # fmt: skip
    return found[:CONFLICTS_MAX]


def _too_many(known: Topology, listed: Topology) -> Iterator[tuple[str, str]]:
    ours, theirs = ({kind.name: set(kind.domains) for kind in one.kinds} for one in (known, listed))
    kinds = sorted(ours | theirs)
    if len(kinds) > KINDS_MAX:
        new = sorted(set(theirs) - set(ours))
        message = f"with {', '.join(new)} the region has {len(kinds)} kinds of domain; at most {KINDS_MAX} are allowed"
        yield f"domain:{new[0]}", message
    for kind in kinds:
        count = len(ours.get(kind, set()) | theirs.get(kind, set()))
        if count > DOMAINS_MAX:
            message = f"the region then has {count} domains of this kind; at most {DOMAINS_MAX} are allowed"
            yield f"domain:{kind}", message


def _elsewhere(
    noun: str, parent: str, known: Names, known_in: Names, listed: Names, listed_in: Names
) -> Iterator[tuple[str, str]]:
    stands = dict(zip(known, known_in, strict=True))
    for name, place in zip(listed, listed_in, strict=True):
        if stands.get(name, place) != place:
            yield (
                noun,
                f"{noun} {name} stands in {parent} {stands[name]}, not in {place}, and keeps its place. Correct "
                "the list, or begin each name with the name of its place (--map rack=MSB-KEY+RACK-KEY)",
            )
