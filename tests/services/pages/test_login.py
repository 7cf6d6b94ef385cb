"""Log in and out: cookies, limits, ways back, and requests of other sites."""

import re

import pytest
from fastapi.testclient import TestClient

from libs.store.platform import sessions
from services.pages.cookie import way_back

COOKIE = "__Host-plimsoll"


def test_a_page_without_a_session_leads_to_the_login_and_back(anyone, world) -> None:
    answer = anyone.get("/regions/west?show=free")
    assert answer.status_code == 303
    assert answer.headers["location"] == "/login?next=/regions/west%3Fshow%3Dfree"
    form = anyone.get(answer.headers["location"])
    assert 'name="next" value="/regions/west?show=free"' in form.text
    entered = anyone.post("/login", data={"token": world.viewer, "next": "/regions/west?show=free"})
    assert (entered.status_code, entered.headers["location"]) == (303, "/regions/west?show=free")
    assert anyone.get("/regions/west?show=free").status_code == 200
    assert anyone.get("/login?next=/regions").headers["location"] == "/regions"


def test_the_cookie_is_for_this_host_alone_and_out_of_reach_of_scripts(anyone, world) -> None:
    cookie = anyone.post("/login", data={"token": world.viewer}).headers["set-cookie"]
    secret = re.match(rf"{COOKIE}=(plim_session_[\w-]{{43}});", cookie)
    assert secret, cookie
    parts = {part.strip().lower() for part in cookie.split(";")[1:]}
    assert {"httponly", "path=/", "samesite=lax", "secure"} <= parts
    assert not any(part.startswith("domain") for part in parts)
    assert world.viewer not in cookie


def test_over_plain_http_the_cookie_works_without_secure(anyone, world) -> None:
    cookie = anyone.post("http://pages.example/login", data={"token": world.viewer}).headers["set-cookie"]
    assert cookie.startswith("plimsoll=plim_session_")
    assert "secure" not in cookie.lower()


def test_each_login_is_another_session(anyone, world) -> None:
    def cookie() -> str:
        return anyone.post("/login", data={"token": world.viewer}).headers["set-cookie"].partition(";")[0]

    assert cookie() != cookie()


@pytest.mark.parametrize("token", ["plim_wrong", "", "two words", "x" * 4001, "é"])
def test_a_wrong_token_is_refused_and_not_shown(token: str, anyone) -> None:
    answer = anyone.post("/login", data={"token": token})
    assert answer.status_code in (401, 422)
    assert "set-cookie" not in answer.headers
    assert 'role="alert"' in answer.text
    assert not token or token not in answer.text


def test_after_many_attempts_an_address_waits(anyone) -> None:
    answers = [anyone.post("/login", data={"token": "plim_wrong"}).status_code for _ in range(12)]
    assert answers[0] == 401
    assert answers[-1] == 429


def test_addresses_of_one_ipv6_network_share_their_attempts(anyone) -> None:
    def attempt(address: str) -> int:
        browser = TestClient(anyone.app, base_url=anyone.base_url, headers=anyone.headers, client=(address, 5))
        return browser.post("/login", data={"token": "plim_wrong"}).status_code

    answers = [attempt(f"2001:db8:0:1::{at:x}") for at in range(12)]
    assert (answers[0], answers[-1]) == (401, 429)
    assert attempt("2001:db8:0:2::1") == 401


def test_log_out_ends_the_session_for_everybody_who_has_its_secret(log_in, world, http) -> None:
    browser = log_in(world.viewer)
    secret = browser.cookies[COOKIE]
    bearer = {"Authorization": f"Bearer {secret}"}
    assert http.get("/v1/whoami", headers=bearer).json()["name"] == "vic"
    gone = browser.post("/logout")
    assert (gone.status_code, gone.headers["location"]) == (303, "/login")
    assert COOKIE not in browser.cookies
    assert http.get("/v1/whoami", headers=bearer).status_code == 401
    browser.cookies.set(COOKIE, secret)
    assert browser.get("/regions").headers["location"] == "/login?next=/regions&ended=1"
    assert "has ended" in browser.get("/login?next=/regions&ended=1").text


def test_a_poll_of_an_ended_session_leads_the_browser_to_the_login(anyone) -> None:
    answer = anyone.get("/regions/west", headers={"HX-Request": "true"})
    assert (answer.status_code, answer.headers["HX-Redirect"]) == (204, "/login?next=/regions/west")


@pytest.mark.parametrize(
    "headers",
    [
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "none"},
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "https://pages.example.evil.example"},
        {},
    ],
)
@pytest.mark.parametrize("path", ["/login", "/logout"])
def test_a_write_of_another_site_is_refused(headers: dict[str, str], path: str, log_in, world) -> None:
    browser = log_in(world.viewer)
    del browser.headers["Sec-Fetch-Site"]
    answer = browser.post(path, data={"token": world.viewer}, headers=headers)
    assert answer.status_code == 403
    assert "set-cookie" not in answer.headers
    assert browser.get("/regions").status_code == 200, "the session goes on"


def test_without_fetch_metadata_the_origin_decides(anyone, world) -> None:
    del anyone.headers["Sec-Fetch-Site"]
    answer = anyone.post("/login", data={"token": world.viewer}, headers={"Origin": "https://pages.example"})
    assert answer.status_code == 303


@pytest.mark.parametrize(
    ("given", "path"),
    [
        ("/regions/west?show=free&q=a%20b", "/regions/west?show=free&q=a%20b"),
        ("//evil.example", "/"),
        ("/\\evil.example", "/"),
        ("\\\\evil.example", "/"),
        ("/\t/evil.example", "/"),
        ("https://evil.example/", "/"),
        ("javascript:alert(1)", "/"),
        ("regions", "/"),
        ("/a\r\nSet-Cookie: x=y", "/"),
        ("/" + "a" * 3000, "/"),
        ("", "/"),
        (None, "/"),
    ],
)
def test_the_way_back_stays_on_this_host(given: str | None, path: str) -> None:
    assert way_back(given) == path


def test_a_login_does_not_lead_elsewhere(anyone, world) -> None:
    answer = anyone.post("/login", data={"token": world.viewer, "next": "//evil.example"})
    assert answer.headers["location"] == "/"


def test_every_answer_has_the_policy(log_in, world) -> None:
    browser = log_in(world.viewer)
    css = re.search(r'href="(/static/[^"]+\.css)"', browser.get("/login?x").text or browser.get("/regions").text)
    paths = ["/regions", "/style", "/nowhere", "/healthz", "/regions/nowhere", "/json/v1/regions"]
    for path in [*paths, *([css[1]] if css else [])]:
        headers = browser.get(path).headers
        policy = headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert headers["X-Frame-Options"] == "DENY"
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Referrer-Policy"] == "same-origin"
        assert "Cache-Control" in headers


def test_a_large_form_is_refused(anyone) -> None:
    assert anyone.post("/login", content=b"x" * 200_000).status_code == 413


def test_sessions_end_by_their_limits(world, http, monkeypatch) -> None:
    def start() -> dict[str, str]:
        made = http.post("/v1/sessions", headers={"Authorization": f"Bearer {world.viewer}"})
        assert (made.status_code, made.headers["Cache-Control"]) == (201, "no-store")
        return {"Authorization": f"Bearer {made.json()['secret']}"}

    database = world.platform.database
    for column, seconds in (("seen_at", sessions.IDLE_S_MAX), ("created_at", sessions.LIFE_S_MAX)):
        session = start()
        assert http.get("/v1/whoami", headers=session).json()["session"]["idle_s_max"] == sessions.IDLE_S_MAX
        assert http.post("/v1/sessions", headers=session).json()["code"] == "in_session"
        with database.write() as tx:
            tx.exec_driver_sql(f"UPDATE sessions SET {column} = {column} - make_interval(secs => {seconds - 30})")
        assert http.get("/v1/whoami", headers=session).status_code == 200
        with database.write() as tx:
            tx.exec_driver_sql(f"UPDATE sessions SET {column} = {column} - make_interval(secs => {seconds})")
        ended = http.get("/v1/whoami", headers=session)
        assert (ended.status_code, ended.json()["code"]) == (401, "invalid_token")
        assert "log in again" in ended.json()["detail"]
    fresh = start()
    with database.write() as tx:
        assert sessions.forget_sessions(tx) >= 2
    assert http.get("/v1/whoami", headers=fresh).status_code == 200


def test_use_keeps_a_session_alive_with_few_writes(world, http) -> None:
    made = http.post("/v1/sessions", headers={"Authorization": f"Bearer {world.viewer}"}).json()["secret"]
    bearer = {"Authorization": f"Bearer {made}"}
    database = world.platform.database

    def seen_s() -> float:
        with database.snapshot() as tx:
            query = "SELECT extract(epoch FROM now() - seen_at) FROM sessions ORDER BY session_id DESC LIMIT 1"
            return float(tx.exec_driver_sql(query).scalar_one())

    back = "UPDATE sessions SET seen_at = seen_at - make_interval(secs => {})"
    with database.write() as tx:
        tx.exec_driver_sql(back.format(sessions.NOTED_EVERY_S / 2))
    http.get("/v1/whoami", headers=bearer)
    assert seen_s() > sessions.NOTED_EVERY_S / 4, "a use within a minute is not noted"
    with database.write() as tx:
        tx.exec_driver_sql(back.format(sessions.NOTED_EVERY_S * 10))
    http.get("/v1/whoami", headers=bearer)
    assert seen_s() < sessions.NOTED_EVERY_S * 5, "a later one is"


def test_a_revoked_token_ends_its_sessions(world, http) -> None:
    admin = {"Authorization": f"Bearer {world.admin}"}
    token = http.post("/v1/tokens", json={"name": "leaver", "role": "viewer"}, headers=admin).json()
    session = http.post("/v1/sessions", headers={"Authorization": f"Bearer {token['secret']}"}).json()["secret"]
    bearer = {"Authorization": f"Bearer {session}"}
    assert http.get("/v1/regions", headers=bearer).status_code == 200
    assert http.delete(f"/v1/tokens/{token['token_id']}", headers=admin).status_code == 200
    assert http.get("/v1/regions", headers=bearer).status_code == 401
