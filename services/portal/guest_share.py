"""Find the share of each server with which a refused guest would leave its host enough. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from libs.domain.guest import GUEST_SHARE_MIN, number_name
from libs.domain.reservation import ReservationSpec
from libs.domain.resources import AMOUNT_MIN, GUEST_PREFIX
from libs.domain.verdict import Verdict

_STEPS = 100
"""Shares that are offered are whole multiples of one in so many."""


def naming_the_share(
    verdict: Verdict, guest: str, spec: ReservationSpec, host: str, refusal: Callable[[ReservationSpec], Verdict | None]
) -> Verdict:
    """Return the refusal of a guest with the largest share that would do, if its share is too large for its host.

    verdict   the answer about the host with this guest
    spec      what the guest asks for
    refusal   returns the refusal of the host if the guest had another spec; None: it could have all of it
    """
    assert spec.guest_share is not None
    if verdict.plan is not None:
        return verdict

    def with_share(steps: int, of: ReservationSpec) -> Verdict | None:
        return refusal(replace(of, guest_share=steps / _STEPS))

    # The host has the less the larger the share is, so the largest share that it can give is found by halving.
    asked = int(spec.guest_share * _STEPS - 1e-9)
    least, most = int(GUEST_SHARE_MIN * _STEPS), asked
    share_alone = replace(spec, capacity_rru=AMOUNT_MIN)
    if most < least or refusal(share_alone) is None or with_share(least, share_alone) is not None:
        return verdict
    while least < most:
        middle = (least + most + 1) // 2
        least, most = (middle, most) if with_share(middle, share_alone) is None else (least, middle - 1)
    message = f"With {spec.guest_share:g} of each server for {guest}, {host} could not have all that it asks for. "
    message += f"Ask for a guest_share of at most {least / _STEPS:g}"
    rest = with_share(least, spec)
    numbers = {**(verdict if rest is None else rest).numbers, "most_guest_share": least / _STEPS}
    if rest is not None:
        could = rest.numbers.get(f"most_{number_name(GUEST_PREFIX + guest)}")
        message += " and for less capacity" if could is None else f" and for at most {could:.6g} RRU with it"
    return replace(verdict, message=f"{message}, or another host.", numbers=numbers)
