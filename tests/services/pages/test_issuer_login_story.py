"""A person logs in at an issuer, by mouse, in a real browser."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from libs.domain.principal import Role
from libs.store.platform.database import Database
from tests.libs.web.conftest import bearer
from tests.services.pages.browser import SIZE, Visitor, serious
from tests.services.pages.logins import login_platform


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    database = Database(database_url, pool_size=4)
    yield database
    database.close()


def test_a_person_logs_in_by_mouse_and_out_and_in_again(browser, database: Database, tmp_path: Path) -> None:
    with login_platform(database, tmp_path) as (issuer, url):
        context = browser.new_context(viewport=SIZE)
        person = Visitor(context, url)
        page = person.window()
        page.goto(f"{url}/tokens")
        expect(page.get_by_role("heading", level=1)).to_have_text("Log in")
        assert serious(page) == []
        page.get_by_role("link", name="Log in with corp").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Loopback")
        page.get_by_role("link", name="I am rita").click()
        page.wait_for_url(f"{url}/tokens")
        expect(page.get_by_text("corp|rita admin")).to_be_visible()
        expect(page.get_by_text("Your login ends on")).to_be_visible()
        cookies = {cookie["name"]: cookie for cookie in context.cookies(url)}
        assert cookies.keys() == {"plimsoll"}
        assert (cookies["plimsoll"]["httpOnly"], cookies["plimsoll"]["sameSite"]) == (True, "Lax")

        page.get_by_role("button", name="Log out").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Log in")
        issuer.groups = ["lunch"]
        page.get_by_role("link", name="Log in with corp").click()
        page.get_by_role("link", name="I am rita").click()
        expect(page.get_by_role("alert")).to_contain_text("none of its rules in the issuers' file gives you a role")
        assert serious(page) == []
        issuer.groups = ["everybody"]
        page.get_by_role("link", name="Log in with corp").click()
        page.get_by_role("link", name="I am rita").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Regions")
        expect(page.get_by_text("corp|rita viewer")).to_be_visible()
        context.close()
        assert {wrong for wrong in person.wrongs if issuer.url not in wrong and "403" not in wrong} == set()


def test_a_form_outlives_the_session_in_which_it_was_opened(browser, database: Database, tmp_path: Path) -> None:
    bearer(database, Role.VIEWER, "leaver")
    with login_platform(database, tmp_path) as (_, url):
        context = browser.new_context(viewport=SIZE)
        page = context.new_page()
        page.goto(f"{url}/login?next=/tokens%3Fopen%3D1")
        page.get_by_role("link", name="Log in with corp").click()
        page.get_by_role("link", name="I am rita").click()
        with database.write() as tx:
            tx.exec_driver_sql("UPDATE sessions SET bearer_ends_at = now()")
        page.get_by_role("button", name="Revoke it").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Your session has ended")
        assert serious(page) == []
        with context.expect_page() as opened:
            page.get_by_role("link", name="Log in in another window").click()
        opened.value.get_by_role("link", name="Log in with corp").click()
        opened.value.get_by_role("link", name="I am rita").click()
        expect(opened.value.get_by_role("heading", level=1)).to_have_text("Regions")
        page.reload()
        expect(page.get_by_role("row", name="leaver")).to_contain_text("Revoked")
        context.close()
