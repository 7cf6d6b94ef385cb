"""A region's policy.json keeps to the bounds of the API, so that no import brings a policy that the API refuses."""

import json
from dataclasses import fields

import pytest

from libs.domain.policy import RegionPolicy
from libs.interchange.files.errors import Problems
from libs.interchange.files.policy import FILE, load_policy


def problems_of(**policy):
    problems = Problems()
    load_policy({FILE: json.dumps(policy).encode()}, problems)
    return problems


BOUNDED = {f.name: f.metadata["bounds"] for f in fields(RegionPolicy) if f.metadata["bounds"]}


@pytest.mark.parametrize("field", BOUNDED)
def test_a_value_above_the_bound_of_its_field_is_refused(field):
    most = BOUNDED[field].get("le", BOUNDED[field].get("lt"))
    assert problems_of(**{field: most * 2}).found[0].field == field
    assert not problems_of(**{field: most / 2}).found


def test_the_error_says_what_the_field_is():
    said = [
        problems_of(**{field: 1e15}).found[0].message
        for field in ("buffer_cost", "affinity_tolerance", "shared_buffer_share", "rebuild_after_s")
    ]
    assert said == [
        "is a cost and must be at most 1e+09",
        "is a share and must be at most 1",
        "is a share and must be below 1",
        "is a time and must be at most 2592000 seconds",
    ]
