"""Hold a new version of a class of the RRU catalogue for approval, with the reservations that it would leave short.

The version that retires a class waits in the same way.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime

from libs.domain.approval import Approval, ApprovalKind, Cause
from libs.domain.region import Region
from libs.domain.reservation import ROUNDING
from libs.domain.rru_catalogue import CLASSES_MAX, RruCatalogue, RruVersion
from libs.reconcile.errors import StaleGeneration
from libs.store.capacity.approvals import ask_for_approval, supersede_of_class
from libs.store.capacity.held_classes import lock_class
from libs.store.capacity.rru_catalogue import (
    append_version,
    find_version,
    load_class_servers,
    load_class_users,
    load_version,
)
from libs.store.fleet.known_names import known_hardware_types
from libs.store.fleet.present_classes import load_catalogue
from libs.store.platform.database import Transaction
from libs.store.platform.refusals import NotFound
from libs.web.names import unknown_name
from libs.web.problems import FieldError, Problem, invalid

_SHOWN_MAX = 10


def ask_for_version(
    tx: Transaction,
    region: Region,
    workload_class: str,
    rru: Mapping[str, float],
    reference: str | None,
    *,
    version: int,
    actor: str,
    reason: str | None,
    now: datetime,
) -> Approval:
    """Store the version after `version` of a class as an approval. Supersede an approval of the class that waits
    already.

    The caller has locked `region`. Raises StaleGeneration unless `version` is the present one, and Problem: 422 for
    unknown types and a wrong reference, 409 for too many classes.
    """
    catalogue, before = load_catalogue(tx, region.region_id), find_version(tx, region.region_id, workload_class)
    present = 0 if before is None else before.version
    if present != version:
        raise StaleGeneration("class of workload", workload_class, expected=version, found=present)
    known = known_hardware_types(tx)
    wrong = [unknown_name(f"rru.{name}", "hardware type", name, known) for name in rru if name not in known]
    if wrong:
        raise invalid(*wrong)
    _require_room(region, catalogue, workload_class)
    reference = _reference(catalogue.reference, reference, rru)
    was = {} if before is None else dict(before.rru)
    servers = load_class_servers(tx, region.region_id, workload_class)
    causes = [_difference(workload_class, version + 1, was, rru), *left_short(servers, was, rru)]
    change = {"workload_class": workload_class, "version": version + 1, "reference": reference, "rru": dict(rru)}
    return _wait(tx, region, change, before, causes, actor=actor, reason=reason, now=now)


def ask_to_retire(
    tx: Transaction,
    region: Region,
    workload_class: str,
    *,
    version: int,
    actor: str,
    reason: str | None,
    now: datetime,
) -> Approval:
    """Store the retirement of a class as an approval: a version without types. The caller has locked `region`.

    Raises NotFound, StaleGeneration unless `version` is the present one, and Problem (409) if reservations follow the
    class.
    """
    before = load_version(tx, region.region_id, workload_class)
    if not before.rru:
        raise NotFound("class of workload", workload_class)
    if before.version != version:
        raise StaleGeneration("class of workload", workload_class, expected=version, found=before.version)
    _require_unused(tx, region, workload_class)
    cause = Cause(
        reason="Retirement",
        message=f"version {version + 1} of class {workload_class} retires it: requests can no longer name it",
        numbers={},
    )
    change = {"workload_class": workload_class, "version": version + 1, "reference": before.reference, "rru": {}}
    return _wait(tx, region, change, before, [cause], actor=actor, reason=reason, now=now)


def _wait(
    tx: Transaction,
    region: Region,
    change: Mapping[str, object],
    before: RruVersion | None,
    causes: Sequence[Cause],
    *,
    actor: str,
    reason: str | None,
    now: datetime,
) -> Approval:
    """Store a version as an approval. Supersede an approval of the same class that waits already."""
    name = str(change["workload_class"])
    supersede_of_class(tx, region.region_id, name, decided_by=actor, reason="AskedAnew", now=now)
    return ask_for_approval(
        tx,
        region.region_id,
        action="ask_for_rru_class",
        kind=ApprovalKind.RRU_CLASS,
        causes=causes,
        change=change,
        before=None if before is None else {field: getattr(before, field) for field in change},
        actor=actor,
        reason=reason,
        now=now,
    )


def _require_unused(tx: Transaction, region: Region, workload_class: str) -> None:
    """Raise Problem (409) with the names of the reservations that follow the class."""
    users = load_class_users(tx, region.region_id, workload_class)
    if not users:
        return
    more = f" and {len(users) - _SHOWN_MAX} more" if len(users) > _SHOWN_MAX else ""
    detail = (
        f"{', '.join(users[:_SHOWN_MAX])}{more} in {region.name} follow class {workload_class}. Resize them to another "
        "class, or delete them, and retire it then."
    )
    raise Problem(409, "class_in_use", detail, reservations=users[:_SHOWN_MAX], reservations_count=len(users))


def append_approved(tx: Transaction, region: Region, approval: Approval, *, actor: str, now: datetime) -> RruVersion:
    """Append the approved version.

    Raises StaleGeneration if another version of the class was appended meanwhile. Raises Problem (422) if another class
    with another reference type was approved first. Raises Problem (409) if there are too many classes by now, or if
    reservations follow a class that would be retired.
    """
    workload_class, version = str(approval.change["workload_class"]), approval.change["version"]
    rru, reference = approval.change["rru"], str(approval.change["reference"])
    assert isinstance(version, int)
    assert isinstance(rru, dict)
    lock_class(tx, region.region_id, workload_class)
    if rru:
        catalogue = load_catalogue(tx, region.region_id)
        _require_room(region, catalogue, workload_class)
        _reference(catalogue.reference, reference, rru)
    else:
        _require_unused(tx, region, workload_class)
    append_version(
        tx,
        region.region_id,
        workload_class,
        after=version - 1,
        reference=reference,
        rru=rru,
        asked_by=approval.asked_by,
        approved_by=actor,
        reason=approval.given_reason,
        now=now,
    )
    found = find_version(tx, region.region_id, workload_class)
    assert found is not None
    return found


def left_short(
    servers: Sequence[tuple[str, float, bool, int, str, int]], was: Mapping[str, float], rru: Mapping[str, float]
) -> list[Cause]:
    """Return a cause that names the reservations that the new RRUs leave with less than asked for. Pure.

    servers   rows of load_class_servers
    was, rru  the present and the new RRUs of the class

    Only reservations that would lack more than they lack now count.
    """
    loads: dict[str, list[defaultdict[int, float]]] = {}
    asked: dict[str, tuple[float, bool]] = {}
    for name, capacity_rru, survives, msb, hardware_type, number in servers:
        asked[name] = capacity_rru, survives
        before, after = loads.setdefault(name, [defaultdict(float), defaultdict(float)])
        before[msb] += number * was.get(hardware_type, 0.0)
        after[msb] += number * rru.get(hardware_type, 0.0)
    short = {}
    for name, (before, after) in loads.items():
        lacks = _short(after, *asked[name])
        if lacks > _short(before, *asked[name]) + ROUNDING * asked[name][0]:
            short[name] = lacks
    if not short:
        return []
    worst = sorted(short, key=lambda name: -short[name])
    told = ", ".join(f"{name} by {short[name]:.4g} of {asked[name][0]:g} RRU" for name in worst[:_SHOWN_MAX])
    more = f" and {len(worst) - _SHOWN_MAX} more" if len(worst) > _SHOWN_MAX else ""
    message = f"until a solve has found more servers, these would be short: {told}{more}"
    return [Cause(reason="LeavesShort", message=message, numbers={f"short_rru_{name}": short[name] for name in worst})]


def _short(load: Mapping[int, float], capacity_rru: float, survives: bool) -> float:
    buffer = max(load.values(), default=0.0) if survives else 0.0
    return max(0.0, capacity_rru - (sum(load.values()) - buffer))


def _difference(workload_class: str, version: int, was: Mapping[str, float], rru: Mapping[str, float]) -> Cause:
    """Return the cause that names the changes of a version."""
    changed = [name for name in sorted(was.keys() | rru.keys()) if was.get(name) != rru.get(name)]
    told = ", ".join(_told(name, was.get(name), rru.get(name)) for name in changed[:_SHOWN_MAX]) or "nothing"
    more = f" and {len(changed) - _SHOWN_MAX} more" if len(changed) > _SHOWN_MAX else ""
    return Cause(
        reason="CatalogueChange",
        message=f"version {version} of class {workload_class} changes {told}{more}",
        numbers={f"differs_{name}": rru[name] / was[name] - 1.0 for name in changed if name in was and name in rru},
    )


def _told(name: str, was: float | None, rru: float | None) -> str:
    if rru is None:
        return f"{name} {was:g} (left out)"
    return f"{name} {rru:g} (new)" if was is None else f"{name} {was:g} to {rru:g} ({rru / was - 1.0:+.1%})"


def _require_room(region: Region, catalogue: RruCatalogue, workload_class: str) -> None:
    """Raise Problem (409) if the region has the largest number of classes already."""
    if workload_class not in catalogue.classes and len(catalogue.classes) >= CLASSES_MAX:
        raise Problem(409, "too_many_classes", f"{region.name} has {CLASSES_MAX} classes, the most that it may have.")


def _reference(present: str | None, asked: str | None, rru: Mapping[str, float]) -> str:
    """Return the reference type. Raises Problem (422) if it is missing or not the present one, or its RRU is not 1."""
    reference = asked or present
    if reference is None:
        message = "is required for the first class of a region: the hardware type whose RRU is 1 in every class"
        raise invalid(FieldError(field="reference", location="body", code="missing", message=message))
    if present is not None and reference != present:
        message = f"is {reference}, and the classes of this region refer to {present}"
        raise invalid(FieldError(field="reference", location="body", code="conflict", message=message))
    if rru.get(reference) != 1.0:
        message = f"must be 1, because {reference} is the reference type: divide all values by its own"
        raise invalid(FieldError(field=f"rru.{reference}", location="body", code="not_one", message=message))
    return reference
