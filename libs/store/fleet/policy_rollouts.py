"""Roll-outs of policies as they are stored. libs/store/regions/rollout_stages.py changes them."""

from __future__ import annotations

import sqlalchemy as sa

from libs.domain.canary import Canary
from libs.domain.page import Page
from libs.domain.policy_rollout import OPEN, Finding, PolicyRollout, RolloutStage
from libs.domain.region import Region
from libs.store.platform.database import Transaction
from libs.store.platform.refusals import NotFound
from libs.store.tables import policy_rollouts, regions

_table = policy_rollouts
_SELECT = sa.select(_table, regions.c.name.label("region")).join(regions, regions.c.region_id == _table.c.region_id)


def load_rollout(tx: Transaction, policy_rollout_id: int, *, lock: bool = False) -> PolicyRollout:
    """Return one roll-out. With `lock`, nothing else changes it until this transaction ends. Raises NotFound."""
    query = _SELECT.where(_table.c.policy_rollout_id == policy_rollout_id)
    row = tx.execute(query.with_for_update(of=_table) if lock else query).mappings().one_or_none()
    if row is None:
        raise NotFound("roll-out", policy_rollout_id)
    return _rollout(row)


def load_latest_rollout(tx: Transaction, region_id: int) -> PolicyRollout | None:
    """Return the latest roll-out of a region, in any stage; None if there was none."""
    query = _SELECT.where(_table.c.region_id == region_id).order_by(_table.c.policy_rollout_id.desc()).limit(1)
    row = tx.execute(query).mappings().one_or_none()
    return None if row is None else _rollout(row)


def list_rollouts(
    tx: Transaction, region_id: int, *, before: int | None = None, limit: int = 100
) -> Page[PolicyRollout]:
    """Return a page of a region's roll-outs, latest first. `before` is the last id of the page before."""
    query = _SELECT.where(_table.c.region_id == region_id).order_by(_table.c.policy_rollout_id.desc()).limit(limit + 1)
    if before is not None:
        query = query.where(_table.c.policy_rollout_id < before)
    found = [_rollout(row) for row in tx.execute(query).mappings()]
    return Page.of(found, limit, lambda rollout: rollout.policy_rollout_id)


def has_open_rollout(tx: Transaction, region: str) -> bool:
    """Return whether a roll-out of the region has shadow solves: it is in an early stage, and nothing holds it."""
    query = _SELECT.where(regions.c.name == region, _table.c.stage.in_(OPEN))
    row = tx.execute(query).mappings().one_or_none()
    return row is not None and not _rollout(row).held


def load_canary(tx: Transaction, region: Region) -> Canary | None:
    """Return the canary of the region's open roll-out; None unless one is in the stage `canary`. Raises
    UnknownPrices.
    """
    query = _SELECT.where(_table.c.region_id == region.region_id, _table.c.stage == RolloutStage.CANARY)
    row = tx.execute(query).mappings().one_or_none()
    return None if row is None else _rollout(row).canary_of(region.policy)


def _rollout(row: sa.RowMapping) -> PolicyRollout:
    fields = {name: row[name] for name in PolicyRollout.__dataclass_fields__}
    return PolicyRollout(
        **fields | {"stage": RolloutStage(row["stage"]), "held": tuple(Finding(**one) for one in row["held"])}
    )
