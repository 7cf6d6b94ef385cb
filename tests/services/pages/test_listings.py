"""Plain tables: filters and parts of lists in the URL, names instead of ids, and the form about one row."""

import csv
import io
import re
from datetime import datetime, timedelta
from unittest.mock import Mock

import pytest

from services.pages.parts.table import ROWS_MAX, Column, Table
from services.pages.views.reservations import RESERVATIONS
from tests.services.pages.test_pages import text_of


@pytest.fixture
def api(world):
    with world.client(world.admin) as client:
        yield client


def rows_of(answer) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(answer.text)))


def test_the_audit_trail_names_its_subjects_and_what_changed(log_in, world) -> None:
    rows = rows_of(log_in(world.admin).get("/audit?format=csv&action=set_quota"))
    rows = [row for row in rows if row["Reason"] == "budget of 2027"]  # other tests set quotas too
    assert [(row["Actor"], row["Name"]) for row in rows] == [("first-admin", "west")] * 2
    assert [row["What changed"] for row in rows] == ["Limit cost units: 400", "Limit cost units: 600"]
    page = log_in(world.admin).get("/audit").text
    assert 'href="/regions/west"' in page
    assert "plimsoll get audit-entries --where latest_first=true" in page


def test_the_audit_trail_keeps_its_time_range_in_the_url(log_in, world, api) -> None:
    browser = log_in(world.admin)
    page = browser.get("/audit?until=2026-01-01T00:00")
    assert (page.status_code, 'value="2026-01-01T00:00"' in page.text) == (200, True)
    assert "No row passes these filters." in page.text
    assert "until=2026-01-01T00:00:00+00:00" in page.text, "the command has it too"
    (paused,) = api.get("/v1/audit-entries", params={"action": "pause_mover", "actor": "first-admin"}).json()["items"]
    minute = datetime.fromisoformat(paused["at"]).replace(second=0, microsecond=0)
    since, until = (moment.strftime("%Y-%m-%dT%H:%M") for moment in (minute, minute + timedelta(minutes=1)))
    rows = rows_of(browser.get(f"/audit?since={since}&until={until}&format=csv"))
    assert ("pause_mover", "east") in {(row["Action"], row["Name"]) for row in rows}
    assert all(row["Time"].startswith(since) for row in rows)
    assert browser.get("/audit?since=lately").status_code == 422
    missing = browser.get("/regions/west/servers?rack=rack-x&unavailability=none")
    assert (missing.status_code, "Rack: no rack is called rack-x" in text_of(missing.text)) == (422, True)
    assert '<option value="none" selected>' in missing.text, "the filters can be changed"
    assert browser.get("/regions/west/servers?rack=rack-x&format=csv").status_code == 422


def test_tokens_are_for_admins_who_read_why(log_in, world) -> None:
    refused = log_in(world.operator).get("/tokens")
    assert (refused.status_code, "admin" in text_of(refused.text)) == (403, True)
    rows = rows_of(log_in(world.admin).get("/tokens?format=csv"))
    by_name = {row["Token"]: row for row in rows}
    assert (by_name["ann"]["Role"], by_name["ann"]["Owners"]) == ("requester", "ads, search")
    revoked = rows_of(log_in(world.admin).get("/tokens?format=csv&revoked=true"))
    assert "ci" in [row["Token"] for row in revoked]
    assert "ann" not in [row["Token"] for row in revoked]


def test_an_admin_revokes_a_token_and_not_the_one_in_use(log_in, world, api) -> None:
    token = api.post("/v1/tokens", json={"name": "lent", "role": "viewer"}).json()
    browser = log_in(world.admin)
    address = f"/tokens?open={token['token_id']}"
    assert "Revoke it" in browser.get(address).text
    sent = browser.post(address, data={"act": "revoke", "generation": token["generation"]})
    assert (sent.status_code, sent.headers["location"]) == (303, f"{address}&done=revoke")
    after = browser.get(sent.headers["location"]).text
    assert "It is revoked: it opens nothing any more." in after
    assert "It is revoked already." in after
    assert api.get(f"/v1/tokens/{token['token_id']}").json()["revoked_at"] is not None
    mine = api.get("/v1/whoami").json()["token_id"]
    assert "You are using it." in browser.get(f"/tokens?open={mine}").text
    refused = browser.post(f"/tokens?open={mine}", data={"act": "revoke", "generation": "1"})
    assert refused.status_code == 409, "the API decides"
    assert 'role="alert"' in refused.text
    assert browser.get("/tokens?open=99999").status_code == 404


def test_an_operator_sets_and_removes_a_quota_of_the_version_that_they_read(log_in, world, api) -> None:
    browser = log_in(world.operator)
    address = "/regions/east/quotas?open=team/a"
    page = browser.get(address)
    assert "There is no limit to remove." in page.text
    form = {"act": "set", "generation": "0", "limit_cost_units": "many", "reason": "a try"}
    wrong = browser.post(address, data=form)
    assert (wrong.status_code, "must be a number, not many" in wrong.text) == (422, True)
    assert 'value="many"' in wrong.text, "the form keeps what was filled in"
    negative = browser.post(address, data=form | {"limit_cost_units": "-1"})
    assert (negative.status_code, 'aria-describedby="wrong-limit_cost_units"' in negative.text) == (422, True)
    done = browser.post(address, data=form | {"limit_cost_units": "12.5"})
    assert done.status_code == 303, done.text
    assert "The limit is set." in browser.get(done.headers["location"]).text
    quota = api.get("/v1/quotas/east/team/a").json()
    assert quota["limit_cost_units"] == 12.5
    stale = browser.post(address, data=form | {"limit_cost_units": "13"})
    assert (stale.status_code, "It changed after you read it." in stale.text) == (409, True)
    assert [row["Owner"] for row in rows_of(browser.get("/regions/east/quotas?format=csv"))] == ["team/a"]
    removed = browser.post(address, data=form | {"act": "remove", "generation": str(quota["generation"])})
    assert removed.status_code == 303
    reasons = api.get("/v1/audit-entries", params={"action": "set_quota", "latest_first": "true", "limit": 1}).json()
    assert reasons["items"][0]["reason"] == "a try"
    assert "No owner has a limit here." in browser.get("/regions/east/quotas").text


def test_a_mover_is_paused_and_resumed_with_a_reason(log_in, world, api) -> None:
    browser = log_in(world.operator)
    page = browser.get("/movers").text
    assert "power work until Monday" in text_of(page)
    address = "/movers?open=west"
    form = {"act": "pause", "generation": "1", "reason": " "}
    assert browser.post(address, data=form).status_code == 422
    assert browser.post(address, data=form | {"reason": "a test"}).headers["location"] == f"{address}&done=pause"
    assert api.get("/v1/movers/west").json()["paused_reason"] == "a test"
    after = browser.get(f"{address}&done=pause").text
    assert ("Resume" in after, "It is paused." in after) == (True, True)
    assert browser.post(address, data=form | {"act": "resume", "reason": "over"}).status_code == 303
    assert api.get("/v1/movers/west").json()["paused_at"] is None


def test_an_operator_sets_cost_units(log_in, world, api) -> None:
    browser = log_in(world.operator)
    address = "/hardware-types?open=m5.metal"
    generation = str(api.get("/v1/hardware-types/m5.metal").json()["generation"])
    form = {"act": "set", "generation": generation, "cost_units": "", "reason": "prices"}
    assert "is required" in browser.post(address, data=form).text
    assert browser.post(address, data=form | {"cost_units": "1.5"}).status_code == 303
    rows = {row["Hardware type"]: row for row in rows_of(browser.get("/hardware-types?format=csv"))}
    assert rows["m5.metal"]["Cost units"] == "1.5"
    assert "vcpu 96" in rows["c5.metal"]["Attributes"]
    form |= {"act": "default", "generation": str(api.get("/v1/hardware-types/m5.metal").json()["generation"])}
    assert browser.post(address, data=form).status_code == 303
    assert api.get("/v1/hardware-types/m5.metal").json()["cost_units"] is None


@pytest.mark.parametrize(
    "path", ["/movers?open=west", "/hardware-types?open=c5.metal", "/regions/west/quotas?open=ads"]
)
def test_a_viewer_reads_why_they_cannot_act_and_the_api_refuses(log_in, world, path) -> None:
    browser = log_in(world.viewer)
    page = browser.get(path).text
    assert "You have another role." in page
    buttons = re.findall(r"<button name=\"act\"[^>]*>", page)
    assert buttons
    assert all(" disabled" in one for one in buttons)
    act = re.search(r'name="act" value="(\w+)"', page)
    sent = browser.post(
        path, data={"act": act[1], "generation": "1", "reason": "x", "cost_units": "1", "limit_cost_units": "1"}
    )
    assert (sent.status_code, 'role="alert"' in sent.text) == (403, True)
    assert browser.post(path, data={"act": "none", "generation": "1"}).status_code == 422
    assert browser.post(path, data={"act": act[1], "generation": "x"}).status_code == 422


@pytest.mark.parametrize(("size", "order"), [("ROWS_MAX", ""), ("ITEMS_MAX", "?sort=-name")])
def test_a_list_longer_than_a_part_goes_on_by_links(log_in, world, monkeypatch, size, order) -> None:
    monkeypatch.setattr(f"services.pages.views.listing.{size}", 50)
    browser = log_in(world.viewer)
    seen: list[str] = []
    address = f"/regions/west/servers{order}"
    for _ in range(10):
        page = browser.get(address).text
        assert "so this is a part of it" in page
        seen += re.findall(r'<th scope="row"[^>]*><a [^>]+>([^<]+)<', page)
        following = re.search(r'<a href="([^"]+)">Next rows</a>', page)
        if following is None:
            break
        address = following[1].replace("&amp;", "&")
        assert order.removeprefix("?") in address
    assert len(seen) == len(set(seen)) == 240
    assert f'href="/regions/west/servers{order}">First rows</a>' in page


@pytest.mark.parametrize("sort", [f"{sign}{key}" for key in RESERVATIONS.orders for sign in ("", "-")])
def test_reservations_come_in_the_order_of_the_api_part_by_part(log_in, world, monkeypatch, sort) -> None:
    browser = log_in(world.viewer)
    listed = "/regions/west/reservations?format=csv"
    titles = {column.key: column.title for column in RESERVATIONS.columns(Mock())}
    assert RESERVATIONS.orders.keys() == titles.keys(), "the API has an order for every column"
    rows = rows_of(browser.get(f"{listed}&sort={sort}"))
    assert len(rows) > 3
    key = sort.removeprefix("-")
    number = key in ("promised", "target", "held", "after", "short")
    values = [float(row[titles[key]]) if number else row[titles[key]] for row in rows]
    assert values == sorted(values, reverse=sort.startswith("-"))

    monkeypatch.setattr("services.pages.views.listing.ROWS_MAX", 2)
    seen: list[str] = []
    address = f"/regions/west/reservations?sort={sort}"
    while True:
        page = browser.get(address).text
        seen += re.findall(r'<th scope="row"[^>]*><a [^>]+>([^<]+)<', page)
        assert f"--order={'-' if sort.startswith('-') else ''}{RESERVATIONS.orders[key]}" in page
        following = re.search(r'<a href="([^"]+)">Next rows</a>', page)
        if following is None:
            break
        assert "Search takes up to" in page
        address = following[1].replace("&amp;", "&")
    assert seen == [row["Reservation"] for row in rows]
    turned = re.findall(r'<th scope="col"[^>]*>\s*<a href="([^"]+)"', page)
    assert len(turned) == len(titles)
    assert not any("after=" in one for one in turned), "a cursor belongs to one order"


def table(rows: int, next_cursor: str | None = None, **query: str) -> Table:
    columns = [Column("n", "N", lambda n: n, number=True)]
    return Table(
        name="t",
        caption="T",
        columns=columns,
        rows=range(rows),
        path="/t",
        query=query,
        empty="Nothing.",
        next_cursor=next_cursor,
    )


def test_pages_of_a_part_come_before_the_next_part() -> None:
    rows = 2 * ROWS_MAX + 3
    assert table(ROWS_MAX).pager is None
    first = table(rows, "c2").pager
    assert (first.first, first.last, first.first_url, first.next_url) == (1, ROWS_MAX, "", "/t?page=2")
    last = table(rows, "c2", page="3")
    assert last.shown == [rows - 3, rows - 2, rows - 1]
    assert (last.pager.first_url, last.pager.next_url) == ("/t", "/t?after=c2")
    end = table(rows, None, page="3", after="c2").pager
    assert (end.first_url, end.next_url) == ("/t", "")
    assert table(rows, page="99").shown == last.shown
    for odd in ("0", "-1", "x", "9" * 50, "²"):
        assert table(rows, page=odd).shown[-1] < rows
    assert table(0, page="2").shown == []
    assert table(rows, page="2", after="c").sort_url(table(1).columns[0]) == "/t?after=c&sort=-n"
