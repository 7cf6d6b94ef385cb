"""Turn options of the command line into the spec in the body of a request."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Collection, Sequence
from functools import wraps
from typing import Annotated, Any, TypeVar

import typer

from services.cli.cleared import EMPTY, cleared
from services.cli.moments import MOMENT, moment

T = TypeVar("T")
Spec = dict[str, object]
"""The spec in the body of a request."""
_Share = "DATACENTER=SHARE"

CapacityOption = Annotated[
    float | None,
    typer.Option("--capacity", min=0.0, metavar="RRU", help="capacity in RRU of --class or --rru"),
]
RruOption = Annotated[
    list[str] | None,
    typer.Option(
        "--rru",
        metavar="TYPE=RRU",
        help="relative resource units: the worth of one server of a type to you, such as hw-01=1.5; repeatable",
    ),
]
ClassOption = Annotated[
    str | None,
    typer.Option("--class", metavar="CLASS", help="class of workload, whose RRUs `plimsoll rru list` shows"),
]
CountOption = Annotated[
    int | None, typer.Option("--count", "--servers", min=1, help="capacity in servers, instead of RRU")
]
TypesOption = Annotated[
    list[str] | None, typer.Option("--hardware-type", "--type", "-t", metavar="TYPE", help="with --count; repeatable")
]
ResourceOption = Annotated[
    list[str] | None,
    typer.Option(
        "--resource",
        metavar="NAME=AMOUNT",
        help="a resource that must be there beside the capacity, such as memory_gib=4000; repeatable",
    ),
]
NoResourcesOption = Annotated[bool, typer.Option("--no-resources", help="the same as --clear resources")]
ClearOption = Annotated[
    list[str] | None,
    typer.Option(
        "--clear",
        metavar="FIELD",
        help=f"empty a list, lift a limit or leave out a time: {', '.join(EMPTY)}; repeatable",
    ),
]
HostProfileOption = Annotated[str | None, typer.Option(help="how its servers are set up")]
SurvivesOption = Annotated[
    bool | None,
    typer.Option("--survive-msb-loss/--no-survive-msb-loss", help="the capacity remains after the loss of any one MSB"),
]
SurvivesLossOfOption = Annotated[
    list[str] | None,
    typer.Option(
        "--survive-loss-of",
        "--survives-loss-of",
        metavar="KIND",
        help="likewise of any one domain of a further kind, such as network_block; repeatable",
    ),
]
MsbLimitOption = Annotated[float | None, typer.Option(help="share of the capacity in one MSB; a larger share costs")]
RackLimitOption = Annotated[float | None, typer.Option(help="likewise in one rack")]
AffinityOption = Annotated[
    list[str] | None, typer.Option("--affinity", metavar=_Share, help="share wanted in a datacenter; repeatable")
]
AffinityFollowsOption = Annotated[
    str | None,
    typer.Option(metavar="RESERVATION", help="shares of datacenters that follow another reservation, instead"),
]
PriorityOption = Annotated[
    int | None, typer.Option(min=0, max=4, help="class: where capacity lacks, a higher one is served first")
]
MoveCostOption = Annotated[
    float | None, typer.Option(min=0.1, max=10.0, help="factor on the costs of moving its servers; above 1: approval")
]
GbitOption = Annotated[
    float | None, typer.Option("--gbit-per-rru", min=0, help="Gbit/s that one RRU sends out of its rack")
]
MsbShareMaxOption = Annotated[
    float | None, typer.Option(help="hard limit: most of the capacity in one MSB, as a share, such as 0.25")
]
DatacenterOption = Annotated[list[str] | None, typer.Option("--datacenter", help="hard limit: only there; repeatable")]
WithinOption = Annotated[
    list[str] | None,
    typer.Option(
        "--within",
        metavar="KIND=DOMAINS",
        help="hard limit: most domains of a kind that may hold its servers, such as network_block=1; repeatable",
    ),
]
PreferWithinOption = Annotated[
    list[str] | None,
    typer.Option(
        "--prefer-within",
        metavar="KIND=DOMAINS",
        help="likewise, but further domains are allowed at the policy's locality_cost; repeatable",
    ),
]
ServersMaxOption = Annotated[
    list[str] | None,
    typer.Option(
        "--servers-max",
        metavar="KIND=SERVERS",
        help="hard limit: most of its servers in one domain of a kind, such as msb=2; repeatable",
    ),
]
ShareMaxOption = Annotated[
    list[str] | None,
    typer.Option(
        "--share-max",
        metavar="KIND=SHARE",
        help="hard limit: most of the capacity in one domain of a kind, as a share, such as msb=0.25; repeatable",
    ),
]
GuestOfOption = Annotated[
    str | None,
    typer.Option(metavar="RESERVATION", help="have no servers of its own, but a share of those of another reservation"),
]
GuestShareOption = Annotated[float | None, typer.Option(help="that share of each server, such as 0.3")]
StartsOption = Annotated[str | None, typer.Option(metavar=MOMENT, help="its start; UTC unless the time has an offset")]
EndsOption = Annotated[str | None, typer.Option(metavar=MOMENT, help="its end, in the same form; it is deleted then")]


def spec_of(
    *,
    capacity: CapacityOption = None,
    workload_class: ClassOption = None,
    rru: RruOption = None,
    count: CountOption = None,
    hardware_type: TypesOption = None,
    resource: ResourceOption = None,
    no_resources: NoResourcesOption = False,
    clear: ClearOption = None,
    host_profile: HostProfileOption = None,
    survive_msb_loss: SurvivesOption = None,
    survive_loss_of: SurvivesLossOfOption = None,
    msb_spread_limit: MsbLimitOption = None,
    rack_spread_limit: RackLimitOption = None,
    affinity: AffinityOption = None,
    affinity_follows: AffinityFollowsOption = None,
    priority: PriorityOption = None,
    move_cost: MoveCostOption = None,
    gbit_per_rru: GbitOption = None,
    msb_share_max: MsbShareMaxOption = None,
    datacenter: DatacenterOption = None,
    within: WithinOption = None,
    prefer_within: PreferWithinOption = None,
    servers_max: ServersMaxOption = None,
    share_max: ShareMaxOption = None,
    guest_of: GuestOfOption = None,
    guest_share: GuestShareOption = None,
    starts_at: StartsOption = None,
    ends_at: EndsOption = None,
) -> Spec:
    """Return the spec with the given options. The platform adds defaults for the others, or keeps their values.

    Its parameters are the options of every command that `takes_spec`.
    """
    given = {
        "capacity_rru": capacity,
        "workload_class": workload_class,
        "rru": _pairs(rru, "--rru", float),
        "count": count,
        "hardware_types": list(hardware_type) if hardware_type else None,
        "resources": _pairs(resource, "--resource", float),
        "host_profile": host_profile,
        "survives_msb_loss": survive_msb_loss,
        "survives_loss_of": list(survive_loss_of) if survive_loss_of else None,
        "msb_spread_limit": msb_spread_limit,
        "rack_spread_limit": rack_spread_limit,
        "affinity": _pairs(affinity, "--affinity", float),
        "affinity_follows": affinity_follows,
        "priority": priority,
        "move_cost": move_cost,
        "gbit_per_rru": gbit_per_rru,
        "msb_share_max": msb_share_max,
        "datacenters": list(datacenter) if datacenter else None,
        "domain_limits": _domain_limits(within, prefer_within, servers_max, share_max),
        "guest_of": guest_of,
        "guest_share": guest_share,
        "starts_at": moment("--starts-at", starts_at),
        "ends_at": moment("--ends-at", ends_at),
    }
    spec = {name: value for name, value in given.items() if value is not None}
    return spec | cleared([*(clear or ()), *(["resources"] if no_resources else ())], spec)


def takes_spec(command: Callable[..., None]) -> Callable[..., None]:
    """Replace a command's parameter `spec` by the options of `spec_of`, which make it."""
    options = inspect.signature(spec_of, eval_str=True).parameters

    @wraps(command)
    def with_options(**given: Any) -> None:
        spec = spec_of(**{name: given.pop(name) for name in options})
        command(spec=spec, **given)

    own = inspect.signature(command, eval_str=True).parameters
    taken = [one for name, found in own.items() for one in (options.values() if name == "spec" else [found])]
    # Keyword parameters may have defaults in any order, and typer passes all by name.
    named = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in taken]
    with_options.__signature__ = inspect.Signature(named)  # type: ignore[attr-defined]
    return with_options


def _domain_limits(
    within: Sequence[str] | None,
    prefer_within: Sequence[str] | None,
    servers_max: Sequence[str] | None,
    share_max: Sequence[str] | None,
) -> list[dict[str, object]] | None:
    """Return an entry per kind of domain with all of its limits; None without any."""
    found: dict[str, dict[str, object]] = {}
    for name, given in (
        ("domains_max", _pairs(within, "--within", int)),
        ("domains_preferred", _pairs(prefer_within, "--prefer-within", int)),
        ("servers_max", _pairs(servers_max, "--servers-max", int)),
        ("share_max", _pairs(share_max, "--share-max", float)),
    ):
        for kind, value in (given or {}).items():
            found.setdefault(kind, {"kind": kind})[name] = value
    return list(found.values()) or None


_FORMS = {"--rru": "TYPE=RRU, such as hw-01=1.5", "--affinity": "DATACENTER=SHARE, such as dc-01=0.5"}
_FORMS |= {
    "--resource": "NAME=AMOUNT, such as memory_gib=4000",
    "--within": "KIND=DOMAINS, such as network_block=1",
    "--prefer-within": "KIND=DOMAINS, such as network_block=1",
    "--servers-max": "KIND=SERVERS, such as msb=2",
    "--share-max": "KIND=SHARE, such as msb=0.25",
}


def _pairs(texts: Sequence[str] | None, option: str, convert: Callable[[str], T]) -> dict[str, T] | None:
    """Parse all NAME=VALUE of an option. Raises BadParameter with an example of the form."""
    if not texts:
        return None
    found: dict[str, T] = {}
    for text in texts:
        name, _, value = text.rpartition("=")
        try:
            if not name:
                raise ValueError
            refuse_twice(name, found, option)
            found[name] = convert(value)
        except ValueError:
            raise typer.BadParameter(f"{text!r}: write {_FORMS[option]}", param_hint=option) from None
    return found


def refuse_twice(name: str, found: Collection[str], option: str) -> None:
    """Raise BadParameter if an option has given `name` already: one of its two values would be lost."""
    if name in found:
        raise typer.BadParameter(f"{name!r} is given twice: give it one value", param_hint=option)


def number_of(text: str, convert: Callable[[str], T], option: str, form: str) -> T:
    """Parse a finite number. Raises BadParameter with an example of the form."""
    try:
        value = convert(text)
    except ValueError:
        value = None
    if value is None or (isinstance(value, float) and not math.isfinite(value)):  # JSON has no nan and no inf
        raise typer.BadParameter(f"{text!r} is not a number: write {form}", param_hint=option)
    return value
