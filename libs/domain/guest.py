"""Guests: reservations with a share of each server of another one of their owner, the host (docs/designs/0061)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from libs.domain.reservation import ReservationSpec
from libs.domain.resources import AMOUNT_MIN, GUEST_PREFIX, RESOURCES_MAX

GUEST_SHARE_MIN = 0.01
"""The smallest share of a guest."""
GUEST_SHARES_MAX = 0.99
"""The most that all guests of a host may have of its servers. The host has the rest."""
_DIGITS = 9
_PLAIN = ReservationSpec(capacity_rru=0.0, rru={})
_OF_THE_HOST = (
    *("resources", "host_profile", "msb_spread_limit", "rack_spread_limit", "affinity_follows", "affinity"),
    *("priority", "move_cost", "msb_share_max", "datacenters", "domain_limits", "starts_at", "ends_at"),
    "gbit_per_rru",
)
"""Fields of a spec that say where and when servers are, and how they move. A guest has none of its own.

`affinity_follows` comes before `affinity`, which it fills in: a refusal names the field that its owner gave.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Guest:
    """A live reservation with `guest_share` of each server of the reservation `guest_of`.

    spec           its own: the RRU of whole servers
    promised_rru   RRU that it was granted so far; None: its capacity, or not known
    """

    reservation_id: int
    name: str
    owner: str
    spec: ReservationSpec
    generation: int = 1
    promised_rru: float | None = None

    @property
    def host(self) -> str:
        """Return the name of its host."""
        assert self.spec.guest_of is not None
        return self.spec.guest_of

    @property
    def share(self) -> float:
        """Return its share of each server of the host."""
        assert self.spec.guest_share is not None
        return self.spec.guest_share

    @property
    def resource(self) -> str:
        """Return the name of the resource of the host that stands for the guest."""
        return guest_resource(self.name)


@dataclass(frozen=True, slots=True)
class GuestFault:
    """Why a reservation cannot be a guest of its host.

    field       the field of the guest's spec to change; host_field: that of the host's spec
    because     the reason, and what the owner of the guest can do
    """

    field: str
    host_field: str
    because: str
    todo: str

    @property
    def message(self) -> str:
        """Return the refusal of the guest."""
        return f"{self.because}: {self.todo}"

    def message_to_host(self, guest: str) -> str:
        """Return the refusal of a change of the host."""
        return f"its guest {guest} does not allow this, because then {self.because}: change or delete the guest first"


def guest_resource(name: str) -> str:
    """Return the name of the resource of a host that stands for its guest `name`."""
    return f"{GUEST_PREFIX}{name}"


def guest_name(resource: str) -> str:
    """Return the name of the guest that a resource stands for, the inverse of `guest_resource`."""
    return resource.removeprefix(GUEST_PREFIX)


def unit_in_words(resource: str | None) -> str:
    """Return the unit of a measure for people: a resource, the RRU of a guest, or the reservation's own RRU (None)."""
    if resource is None:
        return "RRU"
    return f"RRU of its guest {guest_name(resource)}" if is_guest_resource(resource) else resource


def number_name(resource: str) -> str:
    """Return the end of the names of numbers about a resource, for people and clients."""
    return f"rru_of_{guest_name(resource)}" if is_guest_resource(resource) else resource


def is_guest_resource(name: str) -> bool:
    """Return whether a resource stands for a guest."""
    return name.startswith(GUEST_PREFIX)


def host_share(guests: Iterable[Guest]) -> float:
    """Return the share of each of its servers that a host has: what its guests leave."""
    return round(1.0 - sum(guest.share for guest in guests), _DIGITS)


def in_effect(spec: ReservationSpec, guests: Collection[Guest]) -> ReservationSpec:
    """Return the spec of a host as solves see it: RRU of its share of a server, and a resource for each guest.

    V'[t] = (1 - sum_g s[g]) V[t]      resources[guest g] = C[g]
    """
    if not guests:
        return spec
    share = host_share(guests)
    resources = dict(spec.resources) | {guest.resource: guest.spec.capacity_rru for guest in guests}
    rru = {hardware_type: value * share for hardware_type, value in spec.rru.items()}
    return replace(spec, rru=rru, resources=dict(sorted(resources.items())))


def guests_by_host(guests: Sequence[Guest]) -> dict[str, list[Guest]]:
    """Return the guests of each host."""
    found: dict[str, list[Guest]] = {}
    for guest in guests:
        found.setdefault(guest.host, []).append(guest)
    return found


def guest_amounts(guests: Iterable[Guest]) -> dict[str, dict[str, float]]:
    """Return hardware type -> resource of a guest -> its RRU in one server of the host: a[g,t] = s[g] V[g,t]."""
    found: dict[str, dict[str, float]] = {}
    for guest in guests:
        for hardware_type, rru in guest.spec.rru.items():
            found.setdefault(hardware_type, {})[guest.resource] = rru * guest.share
    return found


def with_amounts(
    amounts: Mapping[str, Mapping[str, float]], more: Mapping[str, Mapping[str, float]]
) -> dict[str, dict[str, float]]:
    """Return hardware type -> resource -> amount in one server, for all of `amounts` and `more`, which wins."""
    return {name: {**amounts.get(name, {}), **more.get(name, {})} for name in {**amounts, **more}}


def on_servers_of(host: str) -> str:
    """Return the beginning of a message about a guest, which goes on with a sentence about the servers of its host."""
    return f"On the servers of {host}: "


def has_guests(names: Sequence[str]) -> str:
    """Return why a host cannot be deleted, by the names of its guests."""
    more = f" and {len(names) - 1} more" if len(names) > 1 else ""
    return f"has guests on its servers: {names[0]}{more}. Delete them first"


def guest_fault(
    name: str,
    spec: ReservationSpec,
    host: ReservationSpec,
    others: Sequence[Guest],
    dropped: Collection[str] = (),
) -> GuestFault | None:
    """Return the first reason why the reservation `name` with this spec cannot be a guest; None: it can.

    host     the spec of the reservation that `spec.guest_of` names
    others   the other guests of that host
    dropped  hardware types of the guest that its host does not use any more, because a class of workload changed
    """
    of, share = spec.guest_of, spec.guest_share or 0.0
    if name == of:
        return GuestFault("guest_of", "guest_of", "it is this reservation itself", "name another one")
    if host.guest_of is not None:
        todo = f"name {host.guest_of}"
        return GuestFault("guest_of", "guest_of", f"{of} is a guest of {host.guest_of} itself", todo)
    if host.starts_at is not None or host.ends_at is not None:
        field = "ends_at" if host.starts_at is None else "starts_at"
        return GuestFault("guest_of", field, f"{of} has a window", "name a reservation without starts_at or ends_at")
    for field in _OF_THE_HOST:
        if getattr(spec, field) != getattr(_PLAIN, field):
            return GuestFault(field, field, f"{field} is that of {of}", "a guest has none of its own, so leave it out")
    for hardware_type in sorted(set(spec.rru) - set(host.rru) - set(dropped)):
        todo = f"leave it out, or let {of} use it first"
        return GuestFault("rru", "rru", f"{of} does not use {hardware_type}", todo)
    for kind in spec.kinds_survived:
        if kind not in host.kinds_survived:
            field = "survives_loss_of" if kind in spec.survives_loss_of else "survives_msb_loss"
            because = f"{of} does not survive the loss of one {kind}"
            return GuestFault(field, field, because, "a guest survives no more than its host, so do without")
    free = round(host_share(others) - (1.0 - GUEST_SHARES_MAX), _DIGITS)
    if free < GUEST_SHARE_MIN:
        because = f"the other guests of {of} have {1 - host_share(others):g} of each server"
        return GuestFault("guest_share", "guest_share", because, "name another host")
    if not GUEST_SHARE_MIN <= share <= free:
        because = f"{free:g} of each server of {of} is free, and guests have at least {GUEST_SHARE_MIN:g}"
        return GuestFault("guest_share", "guest_share", because, "ask for a share between them")
    for hardware_type, rru in sorted(spec.rru.items()):
        if rru * share < AMOUNT_MIN:  # solves would count it as none, see `is_amount`
            because = f"{share:g} of a server of {hardware_type} is {rru * share:g} RRU, less than {AMOUNT_MIN:g}"
            return GuestFault("rru", "rru", because, "count capacity and RRU in a smaller unit")
    there = len(host.resources) + len(others)
    if there >= RESOURCES_MAX:
        because = f"{of} has {there} resources and guests, of which {RESOURCES_MAX} are allowed"
        return GuestFault("guest_of", "resources", because, "name another host")
    return None
