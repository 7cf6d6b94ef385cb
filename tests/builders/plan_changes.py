"""Build the changes of a plan with the reservations that they touch, for the decision what to commit."""

import numpy as np

from libs.domain.loss_axis import LossAxis
from libs.domain.plan_changes import NONE, PlanChanges, TouchedReservations
from libs.domain.reservation_rows import weight_of


def touched(
    load,
    *,
    capacity,
    survives=None,
    there=None,
    share=None,
    msb_datacenter=None,
    priority=None,
    msb_limit=None,
    domains=0,
    survives_other=None,
):
    """Build reservations from their loads (Q, M), or from loads (Q, M + `domains`) with a further kind of domain."""
    load = np.array(load, float)
    Q, M = len(load), load.shape[1] - domains
    kinds = [np.zeros(Q, bool) if given is None else np.array(given, bool) for given in (survives, survives_other)]
    datacenter = np.zeros(M, np.int32) if msb_datacenter is None else np.array(msb_datacenter, np.int32)
    D = int(datacenter.max(initial=0)) + 1
    return TouchedReservations(
        id=np.arange(1, Q + 1),
        row=np.arange(Q),
        name=np.array([f"r{r}" for r in range(Q)], object),
        capacity_rru=np.array(capacity, float),
        axis=LossAxis(
            ends=(M, M + domains) if domains else (M,),
            survives=np.stack(kinds if domains else kinds[:1], axis=1),
        ),
        penalty_weight=weight_of(np.full(Q, 2) if priority is None else np.array(priority, np.int64)),
        affinity_share=np.full((Q, D), np.nan) if share is None else np.array(share, float),
        msb_limit_rru=np.full(Q, np.inf) if msb_limit is None else np.array(msb_limit, float),
        load=load,
        load_there=load.copy() if there is None else np.array(there, float),
        msb_datacenter=datacenter,
    )


def plan_changes(reservations, rows):
    """Build changes of (source, to, msb, rru) each, and maybe a dict of other columns.

    `domain` is the number of the server's domain of the further kind.
    """
    values = [
        dict(zip(("source", "to", "msb", "rru"), row[:4], strict=True)) | (row[4] if row[4:] else {}) for row in rows
    ]

    def column(name, default, dtype):
        return np.array([one.get(name, default(one) if callable(default) else default) for one in values], dtype)

    first, ends = reservations.axis.msbs, reservations.axis.ends
    further = [first + column("domain", 0, np.int32)] if len(ends) > 1 else []
    return PlanChanges(
        row=np.arange(len(rows)),
        source=column("source", NONE, np.int32),
        to=column("to", NONE, np.int32),
        current=column("current", lambda one: one["source"], np.int32),
        domain=np.stack([column("msb", 0, np.int32), *further], axis=1),
        changed=column("changed", False, bool),
        leaving=column("leaving", False, bool),
        source_rru=column("source_rru", lambda one: one["rru"] if one["source"] != NONE else 0.0, float),
        to_rru=column("to_rru", lambda one: one["rru"] if one["to"] != NONE else 0.0, float),
        touched=reservations,
    )
