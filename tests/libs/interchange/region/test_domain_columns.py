"""Further kinds of domain in the files of a region."""

import io

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from libs.domain.domain_kind import KINDS_MAX, UNPLACED
from libs.interchange.files.errors import InterchangeError
from libs.interchange.region.domain_limits import limits_column
from libs.interchange.region.read import load_region
from libs.interchange.region.write import dump_region
from tests.libs.interchange.region.test_read import files

BLOCK = ("servers.parquet", "domain:network_block", pa.array(["b1", "b0", None, "b1"], pa.string()))
ROW = ("servers.parquet", "domain:power_row", ["p0", "p0", "p0", "p1"])


def survives(*texts):
    return ("reservations.parquet", "survives_loss_of", pa.array(texts, pa.string()))


def test_columns_of_servers_name_the_kinds_and_a_reservation_names_those_it_survives():
    image = load_region(files([ROW, BLOCK, survives('["power_row", "network_block"]', None)]))
    snapshot = image.snapshot
    assert [kind.name for kind in snapshot.topology.kinds] == ["network_block", "power_row"]
    assert snapshot.topology.kinds[0].domains.tolist() == ["b0", "b1"]
    assert snapshot.servers.domain.tolist() == [[1, 0], [0, 0], [UNPLACED, 0], [1, 1]]
    assert snapshot.reservations.survives_loss_of.tolist() == [[True, True], [False, False]]
    again = load_region(dump_region(image)).snapshot
    assert [(kind.name, kind.domains.tolist()) for kind in again.topology.kinds] == [
        (kind.name, kind.domains.tolist()) for kind in snapshot.topology.kinds
    ]
    assert np.array_equal(again.servers.domain, snapshot.servers.domain)
    assert np.array_equal(again.reservations.survives_loss_of, snapshot.reservations.survives_loss_of)


def test_limits_per_kind_of_domain_come_back_from_their_column():
    given = '{"msb": {"servers_max": 2, "share_max": 0.5}, "network_block": {"domains_max": 3, "domains_preferred": 1}}'
    image = load_region(files([BLOCK, ("reservations.parquet", "domain_limits", pa.array([None, given], pa.string()))]))
    q = image.snapshot.reservations
    inf = np.inf
    assert q.domain_limits.tolist() == [[[inf] * 4] * 3, [[inf] * 4, [inf, 2, 0.5, inf], [3, inf, inf, 1]]]
    assert q.msb_limit_rru.tolist() == [inf, 0.5 * q.capacity_rru[1]]
    assert np.array_equal(load_region(dump_region(image)).snapshot.reservations.domain_limits, q.domain_limits)
    written = pq.read_schema(io.BytesIO(dump_region(load_region(files()))["reservations.parquet"])).names
    assert "domain_limits" not in written


@pytest.mark.parametrize(
    "text",
    [
        '{"power_row": {"domains_max": 1}}',
        '{"msb": {}}',
        "{}",
        '["msb"]',
        '{"msb": {"servers_max": 0}}',
        '{"msb": {"servers_max": 1.5}}',
        '{"msb": {"servers_max": true}}',
        '{"msb": {"share_max": 1.01}}',
        '{"msb": {"share_max": NaN}}',
        '{"msb": {"domains_preferred": 0}}',
        '{"msb": {"most": 1}}',
        "msb",
    ],
)
def test_wrong_limits_are_refused_with_their_column(text):
    with pytest.raises(InterchangeError) as refused:
        load_region(files([BLOCK, ("reservations.parquet", "domain_limits", pa.array([text, None], pa.string()))]))
    assert refused.value.problems[0].field == "domain_limits"


@pytest.mark.parametrize(
    ("column", "text", "said"),
    [
        (
            "domain_limits",
            '{"netwrk_block": {"domains_max": 1}}',
            "netwrk_block', which is unknown: did you mean net",
        ),
        (
            "domain_limits",
            '{"hall": {"domains_max": 1}}',
            "'hall', which is unknown: known are datacenter, msb, netw",
        ),
        (
            "domain_limits",
            '{"msb": {"server_max": 1}}',
            "the limit 'server_max', which is unknown: did you mean serv",
        ),
        ("survives_loss_of", '["netwrk_block"]', "'netwrk_block', which is unknown: did you mean network_block?"),
        ("datacenters", '["dc-x"]', "the datacenter 'dc-x', which is unknown: did you mean dc"),
        ("domain_limits", '{"{msb}": {"domains_max": 1}}', "'{msb}', which is unknown: did you mean msb?"),
        (
            "domain_limits",
            '{"network_block": {"domains_max": 1, "domains_preferred": 3}}',
            "domains_preferred of network_block is 3, above the hard limit domains_max 1: give at most 1, or leave it",
        ),
        ("domain_limits", '{"msb": {"servers_max": 9}, "msb": {"servers_max": 1}}', "the key 'msb' twice"),
    ],
)
def test_an_error_names_what_is_unknown_or_means_nothing(column, text, said):
    with pytest.raises(InterchangeError) as refused:
        load_region(files([BLOCK, ("reservations.parquet", column, pa.array([text, None], pa.string()))]))
    (problem,) = refused.value.problems
    assert (problem.field, problem.row) == (column, 0)
    assert said in problem.message


def test_no_file_has_a_preference_beyond_its_hard_limit():
    """Reservations of earlier versions may have one. The folder of their region stays readable, without it."""
    table = np.full((2, 3, 4), np.inf)
    table[0, 2] = [1, np.inf, np.inf, 3]
    (kind,) = load_region(files([BLOCK])).snapshot.topology.kinds
    assert limits_column(table, (kind,)).to_pylist() == ['{"network_block": {"domains_max": 1}}', None]


def test_files_without_further_kinds_read_as_before():
    snapshot = load_region(files()).snapshot
    assert snapshot.topology.kinds == ()
    assert snapshot.servers.domain.shape == (4, 0)
    assert [loss.kind for loss in snapshot.losses] == ["MSB"]
    written = pq.read_schema(io.BytesIO(dump_region(load_region(files()))["servers.parquet"])).names
    assert not any(name.startswith("domain:") for name in written)


@pytest.mark.parametrize(
    ("changes", "place"),
    [
        ([("servers.parquet", "domain:rack", ["a"] * 4)], "domain:rack"),
        ([("servers.parquet", "domain:Power Row", ["a"] * 4)], "domain:Power Row"),
        ([("servers.parquet", f"domain:k{j}", ["a"] * 4) for j in range(KINDS_MAX + 1)], f"domain:k{KINDS_MAX}"),
        ([("servers.parquet", "domain:row", [1, 2, 3, 4])], "domain:row"),
        ([BLOCK, survives('["power_row"]', None)], "survives_loss_of"),
        ([BLOCK, survives("network_block", None)], "survives_loss_of"),
        ([BLOCK, survives('["network_block", 5]', None)], "survives_loss_of"),
        ([BLOCK, survives('["network_block", ["power_row"]]', None)], "survives_loss_of"),
        ([survives('["network_block"]', None)], "survives_loss_of"),
    ],
)
def test_errors_name_the_column(changes, place):
    with pytest.raises(InterchangeError) as refused:
        load_region(files(changes))
    assert refused.value.problems[0].field == place
