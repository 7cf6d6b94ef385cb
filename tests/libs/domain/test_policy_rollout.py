"""A roll-out advances only from an early stage, when nothing holds it, after enough comparisons, and to more."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from libs.domain.policy import RegionPolicy
from libs.domain.policy_rollout import (
    Finding,
    PolicyRollout,
    RolloutStage,
    condition_of,
    refusal_to_advance,
    refusals,
)
from libs.domain.region_condition import ConditionStatus

NOW = datetime(2026, 11, 1, tzinfo=UTC)
SHADOW = PolicyRollout(
    policy_rollout_id=7,
    region="west",
    stage=RolloutStage.SHADOW,
    change={"buffer_cost": 8.0, "shortfall_cost": 2000.0},
    before={"buffer_cost": 5.0, "shortfall_cost": 1000.0},
    share=None,
    held=(),
    started_by="olga",
    reason="test",
    created_at=NOW,
    stage_at=NOW,
    canary_at=None,
    generation=1,
)
CANARY = replace(SHADOW, stage=RolloutStage.CANARY, share=0.2, canary_at=NOW)
HELD = replace(SHADOW, held=(Finding(reason="OutsideHistory", message="too slow", numbers={}),))
NAMES = [f"web-{k}" for k in range(40)]
WHOLE = replace(SHADOW, change={"fix_first": False}, before={"fix_first": True})


@pytest.mark.parametrize(
    ("rollout", "share", "compared", "why"),
    [
        (SHADOW, 0.1, 3, None),
        (CANARY, 0.3, 3, None),
        (CANARY, None, 3, None),
        (WHOLE, None, 3, None),
        (SHADOW, 0.1, 2, "needs 3"),
        (SHADOW, None, 3, "name its share"),
        (CANARY, 0.2, 3, "name a larger share"),
        (HELD, 0.1, 3, "is held: too slow"),
        (WHOLE, 0.1, 3, "a canary shows nothing"),
        (replace(SHADOW, stage=RolloutStage.ALL), None, 3, "start another one"),
        (replace(SHADOW, stage=RolloutStage.BACK), 0.1, 3, "start another one"),
    ],
)
def test_it_advances_or_says_why_not(
    rollout: PolicyRollout, share: float | None, compared: int, why: str | None
) -> None:
    refusal = refusal_to_advance(rollout, share, compared, NAMES)
    assert refusal is None if why is None else why in str(refusal)


NEW = RegionPolicy(buffer_cost=8.0, shortfall_cost=2000.0)


@pytest.mark.parametrize(
    ("rollout", "policy", "possible"),
    [
        (SHADOW, RegionPolicy(), {"canary", "back"}),
        (CANARY, RegionPolicy(), {"canary", "all", "back"}),
        (replace(CANARY, share=0.999), RegionPolicy(), {"canary", "all", "back"}),
        (WHOLE, RegionPolicy(), {"all", "back"}),
        (HELD, RegionPolicy(), {"resume", "back"}),
        (replace(SHADOW, stage=RolloutStage.ALL), NEW, {"back"}),
        (replace(SHADOW, stage=RolloutStage.ALL), replace(NEW, buffer_cost=9.0), set()),
        (replace(SHADOW, stage=RolloutStage.BACK), RegionPolicy(), set()),
        (replace(SHADOW, stage=RolloutStage.SUPERSEDED), RegionPolicy(), set()),
    ],
)
def test_every_command_says_whether_it_can_work(
    rollout: PolicyRollout, policy: RegionPolicy, possible: set[str]
) -> None:
    told = refusals(rollout, policy, 3, NAMES)
    assert {command for command, refusal in told.items() if refusal is None} == possible
    assert told.keys() == {"canary", "all", "resume", "back"}


@pytest.mark.parametrize(
    ("rollout", "share", "names", "why"),
    [
        (SHADOW, 0.1, ["web-6"], "does not have the only reservation of west, so it shows nothing: name a share of"),
        (SHADOW, 0.1, ["web-6", "web-7"], "does not have any of the 2 reservations of west"),
        (SHADOW, 0.1, [], "west has no reservation, so a canary shows nothing"),
        (CANARY, None, ["web-6"], "A canary of 0.2 does not have the only reservation"),
        (CANARY, None, [], "west has no reservation"),
        (WHOLE, None, [], None),
    ],
)
def test_a_canary_without_a_reservation_shows_nothing(
    rollout: PolicyRollout, share: float | None, names: list[str], why: str | None
) -> None:
    refusal = refusal_to_advance(rollout, share, 3, names)
    assert refusal is None if why is None else why in str(refusal)
    if why is not None and names:
        least = float(str(refusal).rsplit(" ", 1)[1].rstrip("."))
        assert refusal_to_advance(rollout, least, 3, names) is None
        assert refusal_to_advance(rollout, least - 1e-4, 3, names) is not None
        assert refusals(rollout, RegionPolicy(), 3, names)["canary"] is None


def test_only_the_canary_stage_has_a_canary() -> None:
    policy = RegionPolicy(spread_cost=3.0)
    canary = CANARY.canary_of(policy)
    assert canary is not None
    assert (canary.share, canary.policy.buffer_cost, canary.policy.spread_cost, canary.salt) == (0.2, 8.0, 3.0, "7")
    assert SHADOW.canary_of(policy) is None
    assert replace(CANARY, stage=RolloutStage.ALL).canary_of(policy) is None


def test_a_held_roll_out_is_a_condition_that_says_what_to_do() -> None:
    told = condition_of(HELD)
    assert (told.status, told.reason) == (ConditionStatus.FALSE, "OutsideHistory")
    assert "too slow" in told.message
    assert "`plimsoll rollout resume west`" in told.message
    for stage in RolloutStage:
        assert condition_of(replace(SHADOW, stage=stage)).status is ConditionStatus.TRUE
