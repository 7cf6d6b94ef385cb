"""An import into a region applies exactly its proposal, all or nothing."""

import io
import itertools
from collections.abc import Callable, Mapping

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from libs.domain.domain_kind import KINDS_MAX
from libs.domain.inventory import Inventory
from libs.domain.inventory_diff import ImportMode, KnownServers, diff_inventory, domain_names, find_conflicts
from libs.domain.region_import import Import, ImportStatus, describe_item
from libs.domain.reservation import ReservationSpec
from libs.domain.retirement import RetirementStatus
from libs.domain.unavailability import Unavailability, UnavailabilityScope
from libs.interchange.inventory.inventory import region_of
from libs.interchange.inventory.servers_csv import load_csv
from libs.store.fleet.hardware_types import list_hardware_types
from libs.store.fleet.import_confirm import confirm_import
from libs.store.fleet.imports import (
    StaleImport,
    discard_import,
    list_import_items,
    list_imports,
    load_import,
    propose_import,
)
from libs.store.fleet.inventory_snapshot import load_known_servers
from libs.store.fleet.retirements import list_retirements
from libs.store.fleet.servers import InUse, ServerFilter, list_servers, set_in_use
from libs.store.fleet.unavailability_events import list_events, open_event
from libs.store.platform.database import Database
from libs.store.regions.region_import import import_region
from tests.builders.race import race
from tests.builders.region import region_image
from tests.builders.stored import NOW, read, stored

Row = tuple[str, str, str, str]
WEB = ReservationSpec(capacity_rru=1, rru={"hw-a": 1.0})
WEST = {f"server-{i:02d}": (f"msb-{i // 4:02d}", f"rack-{i // 4:02d}", "hw-a", "none") for i in range(8)}
"""The servers of region_image(): name -> MSB, rack, type, unavailability."""


def listing(rows: Mapping[str, Row], **sizes: float) -> Inventory:
    lines = ["server,datacenter,msb,rack,hardware_type,unavailability,vcpu"]
    lines += [f"{name},dc-00,{','.join(row)},{sizes.get(row[2].replace('-', '_'), '')}" for name, row in rows.items()]
    return load_csv(io.BytesIO("\n".join(lines).encode()), "list.csv")


def known(database: Database, region: str = "west") -> KnownServers:
    with database.snapshot() as tx:
        return load_known_servers(tx, region)


def propose(
    database: Database,
    rows: Mapping[str, Row],
    mode: ImportMode = ImportMode.MERGE,
    region: str = "west",
    **sizes: float,
) -> Import:
    there, inventory = known(database, region), listing(rows, **sizes)
    assert find_conflicts(there.topology, inventory.topology) == []
    items = diff_inventory(there, inventory, mode)
    with database.write() as tx:
        return propose_import(tx, region, there, inventory, items, mode=mode, proposed_by="olga", now=NOW)


def confirm(database: Database, found: Import) -> Import:
    with database.write() as tx:
        return confirm_import(tx, found.region, found.import_id, actor="olga", now=NOW)


def done(counts: Mapping[str, int]) -> dict[str, int]:
    return {action: number for action, number in counts.items() if number}


def as_rows(there: KnownServers) -> dict[str, Row]:
    t = there.topology
    return {
        str(name): (str(t.msbs[t.rack_msb[rack]]), str(t.racks[rack]), str(kind), str(state))
        for name, rack, kind, state in zip(
            there.name, there.rack, there.hardware_type, there.unavailability, strict=True
        )
    }


def says(database: Database, found: Import, action: str) -> dict[str, str]:
    with database.snapshot() as tx:
        page = list_import_items(tx, "west", found.import_id, limit=1000)
    return {item.server: describe_item(item) for item in page.items if item.action == action}


def test_new_racks_servers_and_types_come_in_free(database: Database) -> None:
    stored(database, region_image())
    rows = WEST | {"new-1": ("msb-09", "rack-90", "hw-z", "none"), "new-2": ("msb-00", "rack-91", "hw-z", "planned")}
    found = propose(database, rows, hw_z=96)
    assert (found.status, done(found.counts)) == (ImportStatus.PROPOSED, {"add": 2})
    assert as_rows(known(database)) == WEST
    assert says(database, found, "add")["new-1"] == "new in rack-90, msb-09, dc-00: hw-z"
    assert confirm(database, found).status is ImportStatus.CONFIRMED
    assert as_rows(known(database)) == rows
    assert confirm(database, found).status is ImportStatus.CONFIRMED  # again: nothing
    assert as_rows(known(database)) == rows
    assert done(propose(database, rows).counts) == {}
    with database.snapshot() as tx:
        types = {found.name: found.attributes for found in list_hardware_types(tx).items}
        assert [found.import_id for found in list_imports(tx, "west").items] == [2, 1]
    assert types == {"hw-a": {}, "hw-z": {"vcpu": 96}}


def test_a_list_is_partial_unless_it_is_said_to_be_whole(database: Database) -> None:
    stored(database, region_image(reservations={"web": WEB}, current={"server-00": "web"}))
    two = {"server-01": WEST["server-01"], "server-02": ("msb-00", "rack-00", "hw-b", "none")}
    assert done(propose(database, two, ImportMode.ONLY_ADD).counts) == {}
    assert done(propose(database, two).counts) == {"change": 1, "keep": 6}
    whole = propose(database, two, ImportMode.PRUNE)
    assert done(whole.counts) == {"change": 1, "retire": 6}
    assert says(database, whole, "retire")["server-00"] == (
        "not in the list: it leaves the fleet once web is covered without it"
    )
    confirm(database, whole)
    left = as_rows(known(database))
    assert left == two | {"server-00": WEST["server-00"]}  # bound, so it is announced and not removed
    with database.snapshot() as tx:
        waiting = list_retirements(tx, "west", status=RetirementStatus.ANNOUNCED).items
        gone = list_servers(tx, "west", ServerFilter(decommissioned=True)).items
    assert [(found.scope_name, found.held) for found in waiting] == [("server-00", {"web": 1})]
    assert len(gone) == 5
    assert done(propose(database, two, ImportMode.PRUNE).counts) == {"keep": 1}  # it is leaving already
    back = propose(database, two | {"server-05": WEST["server-05"]}, ImportMode.ONLY_ADD)
    confirm(database, back)
    assert as_rows(known(database))["server-05"] == WEST["server-05"]  # another server of that name


def test_a_bound_server_changes_only_what_no_guarantee_rests_on(database: Database) -> None:
    image = region_image(racks_per_msb=2, servers_per_rack=2, reservations={"web": WEB}, current={"server-00": "web"})
    stored(database, image)
    rows = as_rows(known(database))
    other_type = propose(database, rows | {"server-00": ("msb-00", "rack-00", "hw-b", "none")})
    assert done(other_type.counts) == {"refuse": 1}
    assert says(database, other_type, "refuse")["server-00"] == (
        "type hw-a to hw-b: refused, because web relies on the server as it is. "
        "`plimsoll decommission server server-00 --region REGION --at WHEN` empties it; then import again"
    )
    confirm(database, other_type)
    assert as_rows(known(database)) == rows
    other_msb = propose(database, rows | {"server-00": ("msb-01", "rack-02", "hw-a", "none")})
    assert done(other_msb.counts) == {"refuse": 1}
    other_rack = propose(database, rows | {"server-00": ("msb-00", "rack-01", "hw-a", "unplanned")})
    assert (
        says(database, other_rack, "change")["server-00"] == "rack rack-00 to rack-01, unavailability none to unplanned"
    )
    confirm(database, other_rack)
    assert as_rows(known(database))["server-00"] == ("msb-00", "rack-01", "hw-a", "unplanned")


def test_imports_end_their_own_events_only(database: Database) -> None:
    stored(database, region_image(down={"server-00"}))
    with database.write() as tx:
        open_event(
            tx,
            "west",
            scope=UnavailabilityScope.SERVER,
            scope_name="server-01",
            kind=Unavailability.UNPLANNED,
            reason="disk",
            starts_at=NOW,
            ends_at=None,
            actor="health",
            now=NOW,
        )
    sick = WEST | {name: (*WEST[name][:3], "unplanned") for name in ("server-00", "server-01")}
    assert done(propose(database, sick).counts) == {}  # a known state needs no second report
    moved = sick | {"server-01": ("msb-00", "rack-09", "hw-a", "unplanned")}
    confirm(database, propose(database, moved))
    with database.snapshot() as tx:
        assert [event.reason for event in list_events(tx, "west", is_open=True).items] == ["imported", "disk"]
    confirm(database, propose(database, WEST))
    assert as_rows(known(database))["server-00"][3] == "none"
    assert as_rows(known(database))["server-01"][3] == "unplanned"
    confirm(database, propose(database, WEST | {"server-02": (*WEST["server-02"][:3], "planned")}))
    assert as_rows(known(database))["server-02"][3] == "planned"
    with database.snapshot() as tx:
        reasons = [event.reason for event in list_events(tx, "west", is_open=True).items]
    assert reasons == ["disk", "imported"]


def bind(database: Database) -> None:
    """Report that server-00 runs containers, which raises its generation."""
    snapshot = read(database)
    with database.write() as tx:
        change = InUse(
            server_id=int(snapshot.servers.id[0]), in_use=True, generation=int(snapshot.servers.generation[0])
        )
        set_in_use(tx, [change], actor="allocator", now=NOW)


def elsewhere(database: Database) -> None:
    """Put rack-90 into another MSB by another import."""
    confirm(database, propose(database, {"other": ("msb-01", "rack-90", "hw-a", "none")}))


def same_name(database: Database) -> None:
    confirm(database, propose(database, {"new": ("msb-00", "rack-00", "hw-a", "none")}))


@pytest.mark.parametrize(
    ("rows", "meanwhile", "says"),
    [
        ({"server-00": ("msb-00", "rack-00", "hw-a", "planned")}, bind, "server server-00 has changed since"),
        ({"new": ("msb-00", "rack-90", "hw-a", "none")}, elsewhere, "a rack or an MSB in it has another parent"),
        ({"new": ("msb-00", "rack-00", "hw-b", "none")}, same_name, "there is a server new by now"),
    ],
)
def test_a_region_that_moved_on_is_left_alone(
    database: Database, rows: dict[str, Row], meanwhile: Callable[[Database], None], says: str
) -> None:
    stored(database, region_image(reservations={"web": WEB}, current={"server-00": "web"}))
    found = propose(database, rows | {"also-new": ("msb-00", "rack-00", "hw-c", "none")})
    meanwhile(database)
    before = as_rows(known(database))
    with pytest.raises(StaleImport, match=says):
        confirm(database, found)
    assert as_rows(known(database)) == before
    with database.snapshot() as tx:
        assert load_import(tx, "west", found.import_id).status is ImportStatus.PROPOSED


def test_of_two_at_once_one_finds_its_name_taken(database: Database) -> None:
    stored(database, region_image())
    both = [propose(database, {"new": ("msb-00", "rack-00", kind, "none")}) for kind in ("hw-a", "hw-b")]
    results = race(
        database,
        *(lambda tx, found=found: confirm_import(tx, "west", found.import_id, actor="olga", now=NOW) for found in both),
    )
    assert sorted(type(result).__name__ for result in results) == ["Import", "StaleImport"]


def test_a_decision_is_made_once(database: Database) -> None:
    stored(database, region_image())
    found = propose(database, {"new": WEST["server-00"]})
    with database.write() as tx:
        for _ in range(2):
            decided = discard_import(tx, "west", found.import_id, actor="olga", now=NOW)
            assert (decided.status, decided.decided_by) == (ImportStatus.DISCARDED, "olga")
        assert list_import_items(tx, "west", found.import_id).items == ()
    with pytest.raises(StaleImport, match="discarded"):
        confirm(database, found)
    other = propose(database, {"new": WEST["server-00"]})
    confirm(database, other)
    with database.write() as tx, pytest.raises(StaleImport, match="confirmed"):
        discard_import(tx, "west", other.import_id, actor="olga", now=NOW)


places = st.sampled_from([("msb-00", "rack-00"), ("msb-00", "rack-01"), ("msb-01", "rack-10"), ("msb-02", "rack-20")])
rows = st.tuples(places, st.sampled_from(["hw-a", "hw-b"]), st.sampled_from(["none", "planned", "unplanned"])).map(
    lambda row: (*row[0], *row[1:])
)
lists = st.dictionaries(st.sampled_from([f"s-{i}" for i in range(7)]), rows, min_size=1)
_numbers = itertools.count()


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(first=lists, then=lists, mode=st.sampled_from(list(ImportMode)))
def test_any_list_applied_is_what_it_said_and_twice_is_once(
    database: Database, first: dict[str, Row], then: dict[str, Row], mode: ImportMode
) -> None:
    region = f"r-{next(_numbers)}"
    # A new region knows only up and down: planned maintenance comes from events and lists.
    first = {name: (*row[:3], "none" if row[3] == "planned" else row[3]) for name, row in first.items()}
    with database.write() as tx:
        import_region(tx, region_of(listing(first), region), actor="olga", now=NOW)
    assert as_rows(known(database, region)) == first
    confirm(database, propose(database, then, mode, region))
    expected = {
        ImportMode.PRUNE: then,
        ImportMode.MERGE: first | then,
        ImportMode.ONLY_ADD: then | first,
    }[mode]
    assert as_rows(known(database, region)) == expected
    again = propose(database, then, mode, region)
    assert set(done(again.counts)) <= {"keep"}


def with_blocks(rows: Mapping[str, Row], blocks: Mapping[str, str]) -> Inventory:
    lines = ["server,datacenter,msb,rack,hardware_type,unavailability,domain:block"]
    lines += [f"{name},dc-00,{','.join(row)},{blocks.get(name, '')}" for name, row in rows.items()]
    return load_csv(io.BytesIO("\n".join(lines).encode()), "list.csv")


def propose_list(database: Database, inventory: Inventory) -> Import:
    there = known(database)
    items = diff_inventory(there, inventory, ImportMode.MERGE)
    with database.write() as tx:
        return propose_import(tx, "west", there, inventory, items, mode=ImportMode.MERGE, proposed_by="olga", now=NOW)


def blocks_of(database: Database) -> dict[str, str]:
    there = known(database)
    found = domain_names(there.topology, there.domain, "block")
    return {str(name): str(block) for name, block in zip(there.name, found, strict=True) if block is not None}


def test_a_list_gives_servers_their_domains_and_corrects_them(database: Database) -> None:
    stored(database, region_image(reservations={"web": WEB}, current={"server-00": "web"}))
    rows = WEST | {"new": ("msb-00", "rack-00", "hw-a", "none")}
    first = {"server-00": "b1", "server-01": "b1", "server-02": "b2", "new": "b2"}
    found = propose_list(database, with_blocks(rows, first))
    assert done(found.counts) == {"add": 1, "change": 3}
    assert says(database, found, "change")["server-00"] == "block none to b1"  # a bound server too
    assert says(database, found, "add")["new"] == "new in rack-00, msb-00, dc-00, block b2: hw-a"
    assert blocks_of(database) == {}
    with database.snapshot() as tx:
        before = {server.name: server.generation for server in list_servers(tx, "west", ServerFilter()).items}
    confirm(database, found)
    assert blocks_of(database) == first
    with database.snapshot() as tx:
        after = {server.name: server.generation for server in list_servers(tx, "west", ServerFilter()).items}
    raised = {name for name, generation in before.items() if after[name] > generation}
    assert raised == {"server-00", "server-01", "server-02"}, "a plan of before leaves them alone"
    second = {"server-00": "b1", "server-01": "b3", "new": "b2"}
    found = propose_list(database, with_blocks(rows, second))
    assert done(found.counts) == {"change": 2}
    assert says(database, found, "change") == {"server-01": "block b1 to b3", "server-02": "block b2 to none"}
    confirm(database, found)
    assert blocks_of(database) == second
    assert done(propose(database, rows).counts) == {}, "a list without the kind says nothing about it"
    assert done(propose_list(database, with_blocks(rows, second)).counts) == {}


def test_a_region_has_at_most_eight_kinds_of_domain(database: Database) -> None:
    stored(database, region_image())

    def of_kinds(first: int, end: int) -> Inventory:
        kinds = [f"domain:k{number}" for number in range(first, end)]
        lines = [",".join(["server,datacenter,msb,rack,hardware_type", *kinds])]
        lines += [",".join([name, "dc-00", *row[:3], *(["x"] * len(kinds))]) for name, row in WEST.items()]
        return load_csv(io.BytesIO("\n".join(lines).encode()), "list.csv")

    wide, other = propose_list(database, of_kinds(0, KINDS_MAX)), propose_list(database, of_kinds(8, 9))
    confirm(database, wide)
    [(field, message)] = find_conflicts(known(database).topology, of_kinds(8, 9).topology)
    assert (field, message) == (
        "domain:k8",
        "with k8 the region has 9 kinds of domain; at most 8 are allowed",
    )
    with pytest.raises(StaleImport):
        confirm(database, other)
    assert len(known(database).topology.kinds) == KINDS_MAX


def test_an_import_with_too_many_kinds_meets_another_that_changed_no_server(database: Database) -> None:
    stored(database, region_image())
    one = ("server-00", "server-01")
    wide = ["server,datacenter,msb,rack,hardware_type," + ",".join(f"domain:k{n}" for n in range(KINDS_MAX))]
    wide += [f"{one[0]},dc-00,{','.join(WEST[one[0]][:3])}" + ",x" * KINDS_MAX]
    more = ["server,datacenter,msb,rack,hardware_type,domain:k9", f"{one[1]},dc-00,{','.join(WEST[one[1]][:3])},x"]
    first, second = (propose_list(database, load_csv(io.BytesIO("\n".join(t).encode()), "l.csv")) for t in (wide, more))
    confirm(database, first)
    with pytest.raises(StaleImport, match="too many kinds of domain"):
        confirm(database, second)
    assert len(known(database).topology.kinds) == KINDS_MAX
