"""Granted capacity against use at peak, with a bound."""

from dataclasses import replace

import numpy as np
import pytest

from libs.domain.service_reservation import ServiceReservation
from libs.flux.report.headroom import headroom_document
from libs.flux.reservation_sizes import ReservationTable
from tests.builders.world import random_world

HEADROOM = 0.25


@pytest.fixture
def measured():
    words, models, _ = random_world(1, services=3, regions=2)
    return words, replace(models, baseline=np.full_like(models.baseline, 10.0))


def table(words, *shared):
    return ReservationTable(
        ServiceReservation(
            service=str(words.services[s]),
            hardware_type=str(words.hardware_types[words.service_type[s]]),
            region=None,
            reservation=name,
            rru_per_unit=2.0,
            headroom=HEADROOM,
        )
        for s, name in enumerate(shared)
    )


def found(measured, names, promised, excess_max=0.2):
    words, models = measured
    return headroom_document(words, models, table(words, *names), promised, excess_max=excess_max)


@pytest.mark.parametrize(("rru", "finding"), [(25.0, None), (24.0, "HeadroomMissing"), (31.0, "HeadroomExceeded")])
def test_the_bound_lies_above_use_and_headroom(measured, rru, finding):
    region = str(measured[0].regions[0])
    [one] = found(measured, ["web"], {(region, "web"): rru})
    assert (one["granted"], one["used"], one["finding"]) == (pytest.approx(rru / 2.0), 10.0, finding)
    assert one["headroom"] == pytest.approx(rru / 20.0)
    assert one["wanted"] == pytest.approx(1 + HEADROOM)


def test_services_share_a_reservation_by_their_use(measured):
    words, models = measured
    models.baseline[1] = 30.0
    region = str(words.regions[0])
    first, second = found((words, models), ["both", "both"], {(region, "both"): 100.0, (region, "other"): 7.0})
    assert (first["granted"], second["granted"]) == (pytest.approx(12.5), pytest.approx(37.5))
    assert first["headroom"] == pytest.approx(second["headroom"])


def test_a_service_without_reservations_is_left_out(measured):
    assert found(measured, ["web"], {}) == []
