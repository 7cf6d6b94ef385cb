"""Reservations whose shares of datacenters follow the holdings of another one (docs/designs/0060)."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
import sqlalchemy as sa

from libs.domain.arrays import Floats, Ints
from libs.domain.followed_shares import followed_shares, why_not_followed
from libs.reconcile.errors import Overtaken
from libs.store.platform.database import Transaction

_PLACES = sa.text("""
    SELECT datacenter_id, name, (SELECT count(*) FROM msbs WHERE msbs.datacenter_id = datacenters.datacenter_id) AS msbs
    FROM datacenters WHERE region_id = :region_id ORDER BY datacenter_id""")
_HELD = sa.text("""
    SELECT reservations.name, msbs.datacenter_id, sum(rru) AS rru
    FROM reservations JOIN servers ON target_reservation_id = reservation_id
    JOIN reservation_rru USING (reservation_id, hardware_type_id)
    JOIN racks USING (rack_id) JOIN msbs USING (msb_id)
    WHERE reservations.region_id = :region_id AND reservations.name = ANY(:names) AND deleted_at IS NULL
      AND decommissioned_at IS NULL
    GROUP BY reservations.name, msbs.datacenter_id""")
_FOLLOWERS = sa.text("""
    SELECT reservation_id, affinity_follows AS follows, survives_msb_loss FROM reservations
    WHERE region_id = :region_id AND affinity_follows IS NOT NULL AND deleted_at IS NULL
    ORDER BY reservation_id FOR NO KEY UPDATE""")
_SET = sa.text("""
    INSERT INTO reservation_affinity (region_id, reservation_id, datacenter_id, share)
    SELECT :region_id, reservation_id, datacenter_id, share
    FROM unnest(CAST(:ids AS bigint[]), CAST(:places AS bigint[]), CAST(:shares AS float8[]))
        AS wanted (reservation_id, datacenter_id, share)
    ON CONFLICT (reservation_id, datacenter_id) DO UPDATE SET share = excluded.share
    WHERE reservation_affinity.share <> excluded.share""")
_FOLLOWS = sa.text("""
    SELECT affinity_follows, (SELECT host.name FROM reservations AS host
                              WHERE host.reservation_id = reservations.host_reservation_id) AS guest_of
    FROM reservations
    WHERE region_id = :region_id AND name = :name AND kind = 'guaranteed' AND deleted_at IS NULL""")
_HOLD = sa.text("""
    SELECT FROM reservations WHERE region_id = :region_id AND name = :name AND deleted_at IS NULL FOR SHARE""")
_FOLLOWED_BY = sa.text("""
    SELECT name FROM reservations
    WHERE region_id = :region_id AND affinity_follows = :name AND deleted_at IS NULL ORDER BY name LIMIT 1""")


@dataclass(frozen=True, slots=True)
class Followed:
    """A reservation that another one may follow.

    follows    the name of the one that it follows itself; None: it follows none
    guest_of   the name of its host; None: it is no guest
    """

    follows: str | None
    guest_of: str | None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Held:
    """The D datacenters of a region, and the RRU that some reservations have there by their targets.

    ids, msbs  (D,)  id, and number of MSBs
    names      (D,)  str
    rru        name of a reservation -> (D,); without those that hold nothing
    """

    ids: Ints
    msbs: Ints
    names: list[str]
    rru: dict[str, Floats]

    def shares(self, other: str, *, survives_msb_loss: bool) -> Floats | None:
        """Return the shares (D,) of a reservation that follows `other`; None if that one holds nothing."""
        held = self.rru.get(other)
        return None if held is None else followed_shares(held, self.msbs, survives_msb_loss=survives_msb_loss)


def load_followed_shares(tx: Transaction, region_id: int, other: str, *, survives_msb_loss: bool) -> dict[str, float]:
    """Return datacenter -> share of the capacity that a reservation wants if it follows `other`. Return {} if that one
    holds nothing.
    """
    held = _load_held(tx, region_id, [other])
    found = held.shares(other, survives_msb_loss=survives_msb_loss)
    return {} if found is None else dict(zip(held.names, found.tolist(), strict=True))


def follow_holdings(tx: Transaction, region_id: int) -> None:
    """Set the shares of all reservations that follow another one, by its present targets. Idempotent.

    No generation rises, because what was asked for is the same.
    """
    followers = tx.execute(_FOLLOWERS, {"region_id": region_id}).all()
    if not followers:
        return
    held = _load_held(tx, region_id, {one.follows for one in followers})
    wanted = [
        (one.reservation_id, held.shares(one.follows, survives_msb_loss=one.survives_msb_loss)) for one in followers
    ]
    known = [(reservation_id, shares) for reservation_id, shares in wanted if shares is not None]
    values = {
        "ids": np.repeat([reservation_id for reservation_id, _ in known], len(held.ids)).tolist(),
        "places": np.tile(held.ids, len(known)).tolist(),
        "shares": [share for _, shares in known for share in shares.tolist()],
    }
    tx.execute(_SET, {"region_id": region_id, **values})


def load_followed(tx: Transaction, region_id: int, name: str) -> Followed | None:
    """Return the reservation `name` of an owner; None if there is none."""
    row = tx.execute(_FOLLOWS, {"region_id": region_id, "name": name}).one_or_none()
    return None if row is None else Followed(follows=row.affinity_follows, guest_of=row.guest_of)


def follower_of(tx: Transaction, region_id: int, name: str) -> str | None:
    """Return the first name of those that follow the reservation `name`; None if none does."""
    return tx.execute(_FOLLOWED_BY, {"region_id": region_id, "name": name}).scalar_one_or_none()


def why_not_followed_now(tx: Transaction, region_id: int, name: str, other: str) -> str | None:
    """Return why the reservation `name` may not follow `other` now, as why_not_followed does; None if it may, or if
    there is no `other`.
    """
    found = load_followed(tx, region_id, other)
    if found is not None and found.guest_of is not None:
        return f"is a guest of {found.guest_of}: name {found.guest_of}"
    follows = None if found is None else found.follows
    return why_not_followed(name, other, follows=follows, follower=follower_of(tx, region_id, name))


def hold_followed(tx: Transaction, region_id: int, name: str, other: str | None) -> None:
    """Keep `other` from following a reservation until the transaction ends, because `name` begins to follow it. None:
    `name` follows none.

    Call it with the row of `name` locked. Raises Overtaken if `name` may not follow `other`, because of what others
    wrote since it was decided.
    """
    if other is None:
        return
    tx.execute(_HOLD, {"region_id": region_id, "name": other})
    why = why_not_followed_now(tx, region_id, name, other)
    if why is not None:
        raise Overtaken(f"{other} {why}")


def _load_held(tx: Transaction, region_id: int, others: Collection[str]) -> _Held:
    places = tx.execute(_PLACES, {"region_id": region_id}).all()
    ids = np.array([row.datacenter_id for row in places], np.int64)
    rru: dict[str, Floats] = {}
    for row in tx.execute(_HELD, {"region_id": region_id, "names": sorted(others)}):
        rru.setdefault(row.name, np.zeros(len(ids)))[np.searchsorted(ids, row.datacenter_id)] = row.rru
    msbs = np.array([row.msbs for row in places], np.int64)
    return _Held(ids=ids, msbs=msbs, names=[row.name for row in places], rru=rru)
