"""Test replacements after the event of a domain of a further kind, on a real database."""

from datetime import timedelta

import pytest

from libs.domain.region_image import RegionImage
from libs.domain.reservation import ReservationSpec
from libs.domain.unavailability import UnavailabilityScope
from libs.store.moves.replacement_history import load_replacement_history
from libs.store.platform.database import Database
from tests.builders.clock import ManualClock
from tests.builders.lost_servers import LostServers
from tests.builders.region import region_image

FAILED = (0, 1, 6, 7, 12)
"""The servers of block b0: two in each rack of msb-00, and one in msb-01. Each other block has six or seven servers."""
BLOCKS = {f"server-{k:02d}": "b0" if k in FAILED else f"b{1 + k % 3}" for k in range(24)}
CURRENT = {
    **{f"server-{k:02d}": "safe" for k in (0, 6, 2, 3, 8, 4)},
    **{f"server-{k:02d}": "plain" for k in (1, 7, 14)},
    **{f"server-{k:02d}": "spare" for k in (18, 19, 20, 21)},
}


def image(*, safe_rru: float = 4, blocks: dict[str, str] = BLOCKS) -> RegionImage:
    """Two MSBs of two racks of six servers. `safe` survives the loss of a block and `plain` does not. Each holds two
    servers of b0.
    """
    specs = {
        "safe": ReservationSpec(
            capacity_rru=safe_rru, rru={"hw-a": 1.0}, survives_msb_loss=False, survives_loss_of=("block",)
        ),
        "plain": ReservationSpec(capacity_rru=3, rru={"hw-a": 1.0}, survives_msb_loss=False),
        "spare": ReservationSpec(capacity_rru=4, rru={"hw-a": 1.0}, survives_msb_loss=False),
    }
    return region_image(
        racks_per_msb=2,
        servers_per_rack=6,
        reservations=specs,
        current=CURRENT,
        kind={"spare": "shared_buffer"},
        domains={"block": blocks},
    )


def replaced(region: LostServers) -> dict[str, set[str]]:
    """Return the servers of each guaranteed reservation that the draw took, and those that it brought."""
    after = region.targets()
    found: dict[str, set[str]] = {"safe": set(), "plain": set()}
    for server in CURRENT.keys() | after.keys():
        for name in {CURRENT.get(server), after.get(server)} - {None, "spare"}:
            if CURRENT.get(server) != after.get(server):
                found[str(name)].add(server)
    return found


def test_the_embedded_buffer_carries_a_failed_block_and_spares_the_rest(database: Database, clock: ManualClock) -> None:
    """A third of msb-00 fails at one moment. The event says why, so no replacement waits for the loss of the MSB."""
    region = LostServers(database, clock, image())
    event = region.fail("block", "b0")
    assert region.jobs() == {"draw_replacements"}, "asked for with the event"
    assert region.draw() == {"with_place": 2, "drawn": 2}
    found = replaced(region)
    assert found["safe"] == set()
    assert found["plain"] >= {"server-01", "server-07"}
    assert len(found["plain"]) == 4, "two for two"
    after = region.targets()
    with database.snapshot() as tx:
        history = load_replacement_history(tx, "west", since=event.starts_at - timedelta(hours=1), most=10)
    assert sorted(one.server for one in history.latest) == ["server-01", "server-07"]
    assert {one.failed_at for one in history.latest} == {event.starts_at}
    region.mend(event)
    assert region.draw() == {}
    assert region.targets() == after, "plain is not given more than it had"


def test_a_reservation_that_is_short_in_spite_of_its_buffer_draws(database: Database, clock: ManualClock) -> None:
    region = LostServers(database, clock, image(safe_rru=5))
    region.fail("block", "b0")
    assert region.draw() == {"drawn": 3, "with_place": 1}, "until it has its capacity"
    assert len(replaced(region)["safe"] & {"server-00", "server-06"}) == 1


def test_servers_reported_one_by_one_look_like_the_loss_of_the_msb(database: Database, clock: ManualClock) -> None:
    """The same failures without the event: a third of msb-00 fails within minutes, so nothing draws."""
    region = LostServers(database, clock, image())
    for k in FAILED:
        region.fail(UnavailabilityScope.SERVER, f"server-{k:02d}")
    assert region.draw() == {"with_place": 4}


@pytest.mark.parametrize("safe_rru", [4, 5])
def test_a_block_in_one_rack_is_replaced_as_a_rack_is(database: Database, clock: ManualClock, safe_rru: float) -> None:
    blocks = {f"server-{k:02d}": "one" if k in (0, 1) else "other" for k in range(24)}
    region = LostServers(database, clock, image(safe_rru=safe_rru, blocks=blocks))
    region.fail("block", "one")
    verdicts = region.draw()
    assert "with_place" not in verdicts
    assert "server-01" in replaced(region)["plain"]
