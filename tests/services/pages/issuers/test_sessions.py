"""Sessions of people who logged in at an issuer: they end with their token, and rules count at each request."""

from starlette.testclient import TestClient

from libs.reconcile.clock import SystemClock
from libs.store.platform import sessions
from libs.web.app import create_app
from services.portal.api import ROUTERS as PORTAL
from tests.libs.identity.conftest import RULES
from tests.services.pages.logins import SESSION, log_in, refused, write_file


def test_a_session_ends_with_its_token(browser, issuer, database) -> None:
    issuer.given = {"access_token": issuer.token(groups=issuer.groups, exp=issuer.claims()["iat"] + 300)}
    answer = log_in(browser, issuer)
    [cookie] = [one for one in answer.headers.get_list("set-cookie") if one.startswith(f"{SESSION}=")]
    assert 200 < int(cookie.partition("Max-Age=")[2].partition(";")[0]) <= 300
    with database.write() as tx:
        assert sessions.forget_sessions(tx) == 0
        tx.exec_driver_sql("UPDATE sessions SET bearer_ends_at = now()")
    answer = browser.get("/tokens")
    assert (answer.status_code, answer.headers["location"]) == (303, "/login?next=/tokens&ended=1")
    with database.write() as tx:
        assert sessions.forget_sessions(tx) == 1


def test_a_token_in_its_last_minute_of_tolerance_starts_no_session(browser, issuer) -> None:
    now = issuer.claims()["iat"]
    issuer.given = {"access_token": issuer.token(groups=issuer.groups, exp=now - 20)}
    assert "it has expired" in refused(browser, log_in(browser, issuer))


def test_a_token_of_a_far_year_ends_with_the_day(browser, issuer) -> None:
    issuer.given = {"access_token": issuer.token(groups=issuer.groups, exp=10**12)}
    assert log_in(browser, issuer).status_code == 303


def test_rules_count_at_each_request_and_logout_works_without_a_role(browser, issuer, file, identity) -> None:
    log_in(browser, issuer)
    assert browser.get("/tokens").status_code == 200
    write_file(file, issuer, rules=RULES.replace("plimsoll-admins", "others"))
    identity.reread()
    answer = browser.get("/tokens")
    assert (answer.status_code, "gives you a role" in answer.text) == (403, True)
    answer = browser.post("/logout")
    assert (answer.status_code, SESSION in browser.cookies) == (303, False)


def test_logout_deletes_the_row(browser, issuer, database) -> None:
    log_in(browser, issuer)
    secret = browser.cookies[SESSION]
    browser.post("/logout")
    assert browser.get("/tokens", headers={"Cookie": f"{SESSION}={secret}"}).status_code == 303
    with database.snapshot() as tx:
        assert tx.exec_driver_sql("SELECT count(*) FROM sessions").scalar_one() == 0


def test_without_the_issuers_file_such_sessions_have_ended(browser, issuer, database) -> None:
    log_in(browser, issuer)
    api = create_app(title="t", version="1", database=database, clock=SystemClock(), routers=[*PORTAL])
    with TestClient(api, headers={"Authorization": f"Bearer {browser.cookies[SESSION]}"}) as client:
        answer = client.get("/v1/whoami")
    assert (answer.status_code, "session has ended" in answer.json()["detail"]) == (401, True)


def test_a_session_starts_no_other_and_a_person_has_few(browser, api, issuer, monkeypatch) -> None:
    monkeypatch.setattr(sessions, "SESSIONS_MAX", 2)
    with TestClient(api) as client:
        headers = {"Authorization": f"Bearer {issuer.token(groups=issuer.groups)}"}
        made = [client.post("/v1/sessions", headers=headers).json()["secret"] for _ in range(3)]
        bearers = [{"Authorization": f"Bearer {secret}"} for secret in made]
        assert [client.get("/v1/whoami", headers=one).status_code for one in bearers] == [401, 200, 200]
        assert client.post("/v1/sessions", headers=bearers[1]).json()["code"] == "in_session"
