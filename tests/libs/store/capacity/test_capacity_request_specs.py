"""Specs of capacity requests as JSON objects."""

import pytest

from libs.domain.domain_limits import DomainLimit
from libs.domain.reservation import ReservationSpec
from libs.store.capacity.capacity_requests import spec_json, spec_of_json

LATEST = {"resources", "affinity_follows", "gbit_per_rru"}


@pytest.mark.parametrize(
    ("said", "written"),
    [
        ({}, set()),
        ({"resources": {"cores": 2.0}}, {"resources"}),
        ({"affinity_follows": "storage"}, {"affinity_follows"}),
        ({"gbit_per_rru": 2.5}, {"gbit_per_rru"}),
    ],
)
def test_the_process_of_the_version_before_reads_what_asks_for_nothing_new(said: dict, written: set[str]) -> None:
    spec = ReservationSpec(capacity_rru=2, rru={"hw-a": 1.0}, **said)
    saved = spec_json(spec)
    assert saved.keys() & LATEST == written
    assert spec_of_json(saved) == spec


def test_a_limit_of_domains_says_only_what_is_given() -> None:
    limits = (DomainLimit(kind="msb", servers_max=2), DomainLimit(kind="network_block", domains_preferred=1))
    spec = ReservationSpec(capacity_rru=2, rru={"hw-a": 1.0}, domain_limits=limits)
    saved = spec_json(spec)
    assert saved["domain_limits"] == [
        {"kind": "msb", "servers_max": 2},
        {"kind": "network_block", "domains_preferred": 1},
    ]
    assert spec_of_json(saved) == spec
