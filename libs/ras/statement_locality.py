"""State the preference of reservations for few domains of a kind (docs/designs/0062-priced-locality.md)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from libs.assignment import Bound, Filter, GroupDiversitySpec, Limit, Problem
from libs.domain.arrays import Floats, Indices
from libs.domain.domain_limits import MSB as MSB_LIMITS
from libs.domain.fleet import FleetSnapshot
from libs.domain.limited_kinds import LimitedKind
from libs.domain.locality import domains_held, preferring_kinds
from libs.ras.statement_names import MSB, RESERVATION


def locality_specs(snapshot: FleetSnapshot, problem: Problem, rows: Indices) -> Iterator[GroupDiversitySpec]:
    """Yield a spec for each kind of which some reservation prefers few domains. `rows` are those of the objects.

    max(0, sum_n [servers[r,n] > 0] - k[r])       for all r that prefer at most k[r] domains of the kind
    """
    for kind in preferring_kinds(snapshot):
        yield _diversity(problem, rows, kind, f"locality by {kind.kind}", kind.preferred)


def add_kept_locality(snapshot: FleetSnapshot, problem: Problem, rows: Indices, planned: Indices) -> None:
    """Add constraints so that no reservation gets more further domains of a kind than the plan `planned` (S,) has."""
    for kind in preferring_kinds(snapshot):
        most = np.maximum(kind.preferred, domains_held(snapshot, kind, planned))
        problem.add_constraint(_diversity(problem, rows, kind, f"domains of the plan by {kind.kind}", most))


def _diversity(problem: Problem, rows: Indices, kind: LimitedKind, name: str, most: Floats) -> GroupDiversitySpec:
    partition = MSB if kind.kind == MSB_LIMITS else kind.kind
    if partition not in problem.partitions:
        problem.add_partition(partition, kind.of[rows], [str(domain) for domain in kind.domains])
    wanted = np.isfinite(most)
    return GroupDiversitySpec(
        name=name,
        partition=partition,
        scope=RESERVATION,
        limit=Limit(items=np.where(wanted, most, 0.0)),
        bound=Bound.MAX,
        filter=Filter(items=np.flatnonzero(wanted).tolist()),
    )
