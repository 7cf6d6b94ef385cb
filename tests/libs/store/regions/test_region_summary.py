"""A summary names the kinds of domain of which reservations survive a loss, and not all kinds that there are."""

import pytest

from libs.domain.reservation import ReservationSpec
from libs.store.platform.database import Database
from libs.store.regions.region_summary import load_region_summary
from tests.builders.region import region_image
from tests.builders.stored import stored


@pytest.mark.parametrize(
    ("survives", "kinds"),
    [
        ([(True, ())], ("MSB",)),
        ([(True, ()), (False, ("block",))], ("MSB", "block")),
        ([(False, ("block",))], ("block",)),
        ([(False, ())], ()),
    ],
)
def test_the_kinds_that_reservations_survive(
    database: Database, survives: list[tuple[bool, tuple[str, ...]]], kinds: tuple[str, ...]
) -> None:
    specs = {
        f"web-{k}": ReservationSpec(capacity_rru=1, rru={"hw-a": 1.0}, survives_msb_loss=msb, survives_loss_of=further)
        for k, (msb, further) in enumerate(survives)
    }
    stored(database, region_image(reservations=specs, domains={"block": {"server-00": "b0", "server-04": "b1"}}))
    with database.snapshot() as tx:
        summary = load_region_summary(tx, "west")
    assert summary.domain_kinds == ("block",)
    assert summary.survived_kinds == kinds
