import json

import numpy as np
import pytest

from libs.domain.domain_limits import DomainLimit
from libs.domain.reservation import ReservationSpec
from libs.domain.simulation import Loss, NewReservation, WhatIf, what_if_of
from libs.domain.what_if import UnknownName, imagine, with_reservation
from tests.builders.region import fleet_snapshot

WEB = ReservationSpec(capacity_rru=3, rru={"hw-a": 1.0}, msb_spread_limit=0.5, affinity={"dc-00": 0.5})
SNAPSHOT = fleet_snapshot(reservations={"web": WEB}, hardware_types=("hw-a", "hw-b"), current={"server-00": "web"})


def test_a_reservation_that_is_not_stored_is_a_new_last_row() -> None:
    spec = ReservationSpec(capacity_rru=2, rru={"hw-b": 1.5, "hw-elsewhere": 9.0}, survives_msb_loss=False)
    snapshot, row = with_reservation(SNAPSHOT, "batch", spec, reservation_id=7)
    q = snapshot.reservations
    assert row == 1
    assert (q.id[1], q.name[1], q.capacity_rru[1], q.survives_msb_loss[1]) == (7, "batch", 2.0, False)
    assert (q.msb_spread_limit[1], q.rack_spread_limit[1]) == (np.inf, np.inf)
    np.testing.assert_array_equal(q.rru, [[1.0, 0.0], [0.0, 1.5]])
    np.testing.assert_array_equal(q.affinity_share, [[0.5], [np.nan]])
    assert len(SNAPSHOT.reservations) == 1
    assert snapshot.servers is SNAPSHOT.servers


def test_a_reservation_that_is_there_keeps_its_row_and_its_id() -> None:
    wanted = ReservationSpec(capacity_rru=9, rru={"hw-b": 1.0}, rack_spread_limit=0.1)
    snapshot, row = with_reservation(SNAPSHOT, "web", wanted, reservation_id=7)
    q = snapshot.reservations
    assert (row, len(q), q.id[0], q.capacity_rru[0], q.rack_spread_limit[0]) == (0, 1, 0, 9.0, 0.1)
    for column in (q.id, q.name, q.capacity_rru, q.survives_msb_loss, q.rru, q.generation):
        assert column.dtype == {"O": object, "i": np.int64, "f": np.float64, "b": bool}[column.dtype.kind]


def test_a_stored_what_if_creates_a_reservation_with_its_limits() -> None:
    limits = (DomainLimit(kind="msb", servers_max=2, domains_preferred=1),)
    spec = ReservationSpec(capacity_rru=2, rru={"hw-a": 1.0}, domain_limits=limits)
    asked = WhatIf(policy={}, create=(NewReservation(name="quorum", owner="team", spec=spec),))
    again = what_if_of(json.loads(json.dumps(asked.as_dict(), default=str)))
    assert again.create[0].spec.domain_limits == limits
    assert imagine(SNAPSHOT, again, {}).reservations.domain_limits[1, 1].tolist() == [np.inf, 2, np.inf, 1]


def test_the_loss_of_a_domain_takes_its_servers_and_no_others() -> None:
    domains = {
        "network_block": {"server-00": "b0", "server-01": "b1", "server-05": "b1"},
        "power_row": {"server-02": "b1"},
    }
    before = fleet_snapshot(domains=domains, down=["server-07"])

    def lost(*places: tuple[str, str]) -> list[str]:
        what_if = WhatIf(policy={}, lose=tuple(Loss(scope=kind, name=name) for kind, name in places))
        after = imagine(before, what_if_of(what_if.as_dict()), {})
        return [*after.servers.name[before.servers.available & ~after.servers.available]]

    assert lost(("network_block", "b1")) == ["server-01", "server-05"]
    assert lost(("network_block", "b0"), ("power_row", "b1")) == ["server-00", "server-02"]
    assert lost(("msb", "msb-01"), ("network_block", "b1")) == ["server-01", "server-04", "server-05", "server-06"]
    for place, field in ((("cooling", "b1"), "lose[0].scope"), (("power_row", "b0"), "lose[0].name")):
        with pytest.raises(UnknownName) as unknown:
            lost(place)
        assert unknown.value.field == field
