"""Compare two regions, except for the ids that a broker gave them."""

import dataclasses

import numpy as np

from libs.domain.fleet import FleetSnapshot
from libs.domain.region_image import RegionImage
from libs.domain.resources import resources_in


def assert_same_image(found: RegionImage, wanted: RegionImage) -> None:
    """Assert that all arrays are equal, with their types."""
    assert found.catalogue == wanted.catalogue
    for field in dataclasses.fields(RegionImage):
        if field.name not in ("snapshot", "catalogue"):
            np.testing.assert_array_equal(getattr(found, field.name), getattr(wanted, field.name), field.name)
    assert_same_snapshot(found.snapshot, wanted.snapshot)


def assert_same_snapshot(found: FleetSnapshot, wanted: FleetSnapshot) -> None:
    """Assert that all arrays are equal, with their types. Ids and generations may differ."""
    assert (found.region, found.policy) == (wanted.region, wanted.policy)
    np.testing.assert_array_equal(found.hardware_types, wanted.hardware_types)
    assert found.cost_units is not None or wanted.cost_units is None
    np.testing.assert_array_equal(found.cost_units, wanted.cost_units)
    np.testing.assert_array_equal(found.uplinks, wanted.uplinks)
    for part in ("topology", "servers", "reservations"):
        one, other = getattr(found, part), getattr(wanted, part)
        for field in dataclasses.fields(one):
            if field.name in ("id", "generation"):
                continue
            column, expected = getattr(one, field.name), getattr(other, field.name)
            if field.name == "resources":  # a snapshot may know resources that no reservation asks for
                asked = [
                    [resources_in(row, of.resources) for row in of.reservations.resources] for of in (found, wanted)
                ]
                assert asked[0] == asked[1]
                continue
            if field.name == "kinds":
                assert [kind.name for kind in column] == [kind.name for kind in expected]
                for kind, wanted_kind in zip(column, expected, strict=True):
                    np.testing.assert_array_equal(kind.domains, wanted_kind.domains, f"{part}.{kind.name}")
                continue
            assert column.dtype == expected.dtype, f"{part}.{field.name}"
            np.testing.assert_array_equal(column, expected, f"{part}.{field.name}")
