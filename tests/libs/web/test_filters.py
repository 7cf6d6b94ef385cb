"""A filter by a misspelt name is refused with near names, without a look at all names."""

import pytest

from libs.store.fleet.filtered_names import names_near
from libs.store.platform.database import Database
from libs.web.filters import require_known
from libs.web.names import COMPARED_MAX, slips
from libs.web.problems import Problem
from tests.builders.region import region_image
from tests.builders.stored import stored

SERVERS = 4000


@pytest.fixture
def database(database: Database) -> Database:
    stored(database, region_image(msbs=4, racks_per_msb=10, servers_per_rack=100))
    return database


@pytest.mark.parametrize(
    ("name", "near"),
    [("server-20000", "server-2000"), ("xerver-2000", "server-2000"), ("sevrer-2000", "server-2000")],
)
@pytest.mark.parametrize("region", ["west", None])
def test_a_misspelt_server_is_answered_with_near_names(
    database: Database, name: str, near: str, region: str | None
) -> None:
    with database.snapshot() as tx, pytest.raises(Problem) as refused:
        require_known(tx, [], region, server=name)
    (error,) = refused.value.errors
    assert f"no server is called {name}: did you mean " in error.message
    assert near in error.message


def test_a_name_unlike_all_others_is_answered_with_the_number_of_names(database: Database) -> None:
    with database.snapshot() as tx, pytest.raises(Problem) as refused:
        require_known(tx, [], "west", server="zzz")
    (error,) = refused.value.errors
    assert error.message.endswith(f" and {SERVERS - 10} more")


@pytest.mark.parametrize("name", ["server-2000x", "a", "zzz"])
def test_only_names_near_it_are_read(database: Database, name: str) -> None:
    with database.snapshot() as tx:
        near, total = names_near(tx, "server", name, None, others=slips(name), most=COMPARED_MAX // 4)
    assert total == SERVERS
    assert len(near) <= COMPARED_MAX // 2 + 10
