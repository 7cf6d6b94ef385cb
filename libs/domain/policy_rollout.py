"""The roll-out of a region's policy: its stages, the shadow solves beside the real ones, and what holds it. Pure."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from libs.domain.approval import Cause
from libs.domain.canary import PER_RESERVATION, Canary, chosen, first_share
from libs.domain.policy import RegionPolicy
from libs.domain.region_condition import ConditionStatus
from libs.domain.stored_policy import changed

ENDS_ROLLOUT = "EndsRollout"
COMPARISONS_LEAST = 3
"""Number of finished comparisons that a stage needs before the next one may begin."""
_SHOWN = 10_000
"""A share that people may name is shown as a whole multiple of 1 / _SHOWN, rounded up."""


class RolloutStage(StrEnum):
    """Stage of a roll-out: shadow -> canary -> all, and from each of them back.

    A roll-out is superseded when the region's policy is changed otherwise before `all`.
    """

    SHADOW = "shadow"
    CANARY = "canary"
    ALL = "all"
    BACK = "back"
    SUPERSEDED = "superseded"


OPEN = (RolloutStage.SHADOW, RolloutStage.CANARY)
"""The stages that have shadow solves. A region has at most one roll-out in one of them."""


class ComparisonStatus(StrEnum):
    """Status of a shadow solve. A yielded one made room for a real solve, and has no answer."""

    RUNNING = "running"
    DONE = "done"
    YIELDED = "yielded"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Something that holds a roll-out: an identifier, a sentence, and the figures behind the sentence."""

    reason: str
    message: str
    numbers: Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyRollout:
    """The roll-out of one change of a region's policy.

    change      the new values of the changed fields
    before      the values of the same fields when it began
    share       the share of reservations in the canary; None before the canary
    held        the findings that hold it; empty: it is not held
    stage_at    when its stage began
    canary_at   when its first canary began; None before
    started_by, reason   who started it, and why
    """

    policy_rollout_id: int
    region: str
    stage: RolloutStage
    change: Mapping[str, float | bool]
    before: Mapping[str, float | bool]
    share: float | None
    held: tuple[Finding, ...]
    started_by: str
    reason: str
    created_at: datetime
    stage_at: datetime
    canary_at: datetime | None
    generation: int

    def new_policy(self, policy: RegionPolicy) -> RegionPolicy:
        """Return `policy`, the region's, with the change. Raises UnknownPrices."""
        return changed(self.region, policy, self.change)

    def canary_of(self, policy: RegionPolicy) -> Canary | None:
        """Return the canary of a region with this policy; None in every other stage."""
        if self.stage is not RolloutStage.CANARY or self.share is None:
            return None
        return Canary(policy=self.new_policy(policy), share=self.share, salt=self.salt)

    @property
    def salt(self) -> str:
        """Return the text that decides which reservations a share of its canary has."""
        return str(self.policy_rollout_id)

    @property
    def only_at_all(self) -> tuple[str, ...]:
        """Return the changed fields that hold for a whole region, so that no canary shows them."""
        return tuple(name for name in self.change if name not in PER_RESERVATION)


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyComparison:
    """A shadow solve beside the real solve `solve_run_id`.

    stage     the roll-out's stage at that time
    report    the differences of the two plans; None unless it is done
    findings  what held the roll-out because of it
    error     why it failed; None unless it did
    """

    policy_comparison_id: int
    solve_run_id: int
    stage: RolloutStage
    status: ComparisonStatus
    report: Mapping[str, object] | None
    findings: tuple[Finding, ...]
    error: str | None
    started_at: datetime
    finished_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToldCondition:
    """The region's condition PolicyRollout."""

    status: ConditionStatus
    reason: str
    message: str
    numbers: Mapping[str, object]


_TOLD = {
    RolloutStage.SHADOW: ("InShadow", "A new policy solves beside the old one, and changes nothing."),
    RolloutStage.CANARY: ("InCanary", "The prices of a new policy apply to some reservations."),
    RolloutStage.ALL: ("Everywhere", "The new policy is the region's policy."),
    RolloutStage.BACK: ("TakenBack", "The policy before the roll-out applies."),
    RolloutStage.SUPERSEDED: (
        "Superseded",
        "The policy was changed otherwise, so the roll-out ended. Start another one.",
    ),
}


def condition_of(rollout: PolicyRollout) -> ToldCondition:
    """Return the condition that a roll-out gives its region. A held one is not healthy."""
    numbers: dict[str, object] = {"policy_rollout_id": rollout.policy_rollout_id}
    if rollout.share is not None:
        numbers["share"] = rollout.share
    if not rollout.held:
        reason, message = _TOLD[rollout.stage]
        return ToldCondition(status=ConditionStatus.TRUE, reason=reason, message=message, numbers=numbers)
    found = "; ".join(one.message for one in rollout.held)
    return ToldCondition(
        status=ConditionStatus.FALSE,
        reason=rollout.held[0].reason,
        message=f"The roll-out of a policy is held: {found}. Accept that with "
        f"`plimsoll rollout resume {rollout.region}`, or take it back with `plimsoll rollout back {rollout.region}`.",
        numbers=numbers,
    )


def ended_by_policy(rollout: PolicyRollout | None) -> tuple[Cause, ...]:
    """Return the roll-out that any other change of the region's policy would end, as a cause to read before that change
    is approved. Empty: `rollout`, the region's latest one, is over, or there was none.
    """
    if rollout is None or rollout.stage not in OPEN:
        return ()
    number = rollout.policy_rollout_id
    message = f"it would end roll-out {number}, which is in the stage {rollout.stage}"
    return (Cause(reason=ENDS_ROLLOUT, message=message, numbers={"policy_rollout_id": number}),)


def refusal_to_advance(
    rollout: PolicyRollout, share: float | None, compared: int, names: Collection[str]
) -> str | None:
    """Return why the roll-out cannot advance now; None: it can.

    share     of the canary to begin or to widen; None: to all reservations
    compared  number of comparisons in the present stage
    names     the region's reservations
    """
    name = "The roll-out"
    if rollout.stage not in OPEN:
        return f"{name} is in the stage {rollout.stage}: start another one."
    if rollout.held:
        return f"{name} is held: {rollout.held[0].message}. Resume it or take it back."
    alone = len(rollout.only_at_all) == len(rollout.change)
    if share is not None and alone:
        return f"{name} changes no price of single reservations, so a canary shows nothing: advance to all."
    if share is None and rollout.stage is RolloutStage.SHADOW and not alone:
        return f"{name} has had no canary: name its share of the reservations, such as 0.1."
    if share is not None and rollout.share is not None and share <= rollout.share:
        return f"{name} has a canary of {rollout.share:g} already: name a larger share, or none for all."
    if compared < COMPARISONS_LEAST:
        return f"{name} has {compared} comparisons in this stage, and needs {COMPARISONS_LEAST}: each solve makes one."
    return None if alone else _refusal_of_empty(rollout, share, names)


def _refusal_of_empty(rollout: PolicyRollout, share: float | None, names: Collection[str]) -> str | None:
    """Return why the canary that is asked for, or else the present one, shows nothing: it has no reservation."""
    asked = rollout.share if share is None else share
    if asked is None or chosen(names, share=asked, salt=rollout.salt).any():
        return None
    if not names:
        todo = "set the policy with `plimsoll policy --set`"
        return f"{rollout.region} has no reservation, so a canary shows nothing: take the roll-out back, and {todo}."
    least = math.ceil(first_share(names, salt=rollout.salt) * _SHOWN) / _SHOWN
    some = "the only reservation" if len(names) == 1 else f"any of the {len(names)} reservations"
    has = f"A canary of {asked:g} does not have {some} of {rollout.region}"
    return f"{has}, so it shows nothing: name a share of at least {least:g}."


def refusal_to_resume(rollout: PolicyRollout) -> str | None:
    """Return why the findings of a roll-out cannot be accepted now; None: they can."""
    return None if rollout.held else "The roll-out is not held."


def refusal_to_take_back(rollout: PolicyRollout, policy: RegionPolicy) -> str | None:
    """Return why a roll-out cannot be taken back now; None: it can. `policy` is the region's."""
    if rollout.stage not in (*OPEN, RolloutStage.ALL):
        return f"The roll-out is in the stage {rollout.stage}: there is nothing to take back."
    if rollout.stage is RolloutStage.ALL and rollout.new_policy(policy) != policy:
        changed = f"The policy of {rollout.region} was changed after the roll-out"
        return f"{changed}: set its fields with `plimsoll policy --set`."
    return None


def refusals(
    rollout: PolicyRollout, policy: RegionPolicy, compared: int, names: Collection[str]
) -> dict[str, str | None]:
    """Return why each command cannot work now: a canary or a larger one, all, resume and back. None: it can.

    policy    the region's
    compared  number of comparisons in the present stage
    names     the region's reservations
    """
    largest = math.nextafter(1.0, 0.0)
    return {
        "canary": refusal_to_advance(rollout, largest, compared, names),
        "all": refusal_to_advance(rollout, None, compared, names),
        "resume": refusal_to_resume(rollout),
        "back": refusal_to_take_back(rollout, policy),
    }
