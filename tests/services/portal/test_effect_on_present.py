"""The effect of an approval on the reservations that exist is read from the targets before and after it."""

from dataclasses import replace

from libs.domain.fleet import FREE
from libs.domain.reservation import ReservationSpec
from libs.domain.what_if import with_reservation
from services.portal.effect_on_present import FreeOfType, Shorter, effect_on_present
from tests.builders.region import fleet_snapshot

SPEC = ReservationSpec(capacity_rru=2, rru={"hw-a": 1.0}, survives_msb_loss=False)
BUFFER = ReservationSpec(capacity_rru=3, rru={"hw-a": 1.0}, survives_msb_loss=False)


def snapshot():
    """Eight servers: web has two, the buffer has one of three, one of the free ones is down."""
    bound = {"server-00": "web", "server-01": "web", "server-02": "buffer"}
    return fleet_snapshot(reservations={"web": SPEC, "buffer": BUFFER}, current=bound, target=bound, down={"server-07"})


def bind(before, name: str, **targets: str | None):
    asked, _ = with_reservation(before, name, SPEC)
    target = asked.servers.target.copy()
    for server, to in targets.items():
        row = asked.servers.name.tolist().index(server.replace("_", "-"))
        target[row] = FREE if to is None else asked.reservations.name.tolist().index(to)
    return replace(asked, servers=replace(asked.servers, target=target))


def effect(before, after, name: str = "new"):
    own = int(before.reservations.id[before.reservations.name.tolist().index("buffer")])
    return effect_on_present(before, after, name=name, types={"hw-a"}, buffers={own})


def test_free_servers_go_and_nobody_else_lacks_more() -> None:
    before = snapshot()
    found = effect(before, bind(before, "new", server_03="new", server_04="new"))
    assert (found.from_free, found.from_others, found.compared, found.shorter) == (2, 0, 2, ())
    assert found.free == (FreeOfType(hardware_type="hw-a", before=4, after=2, buffers_lack=2),)


def test_a_server_of_another_reservation_is_counted_and_named() -> None:
    before = snapshot()
    found = effect(before, bind(before, "new", server_00="new", server_03="new"))
    assert (found.from_free, found.from_others) == (1, 1)
    assert found.shorter == (Shorter(reservation="web", before_rru=0.0, after_rru=1.0),)


def test_a_resize_that_gives_its_own_servers_back_takes_nothing() -> None:
    before = snapshot()
    found = effect(before, bind(before, "web", server_00=None), name="web")
    assert (found.from_free, found.from_others, found.compared, found.shorter) == (0, 0, 1, ())
    assert (found.free[0].before, found.free[0].after) == (4, 5)
