"""Log in to the pages at an issuer on loopback: the whole way, and each check on it."""

import hashlib
import json
from base64 import urlsafe_b64encode
from urllib.parse import parse_qsl, urlencode, urlsplit

import pytest

from libs.identity.identity import Identity
from libs.identity.sealed import NotSealed, unseal
from services.pages.attempt import Attempt
from services.pages.settings import CALLBACK
from tests.builders.issuer import rsa, sign
from tests.libs.identity.conftest import RingOnDemand
from tests.services.pages.logins import (
    ATTEMPT,
    CORP,
    HOST,
    SESSION,
    api_of,
    begin,
    log_in,
    pages_of,
    refused,
    write_file,
)


def _encoded(**attempt: object) -> str:
    return urlsafe_b64encode(json.dumps(attempt).encode()).decode()


def unsigned(claims: dict[str, object]) -> str:
    return ".".join(_encoded(**part).rstrip("=") for part in ({"alg": "none"}, claims)) + "."


def test_a_whole_login(browser, issuer, database) -> None:
    form = browser.get("/login?next=/tokens").text
    assert 'href="/login/with/corp?next=%2Ftokens"' in form
    assert "Log in with lab" not in form, "the pages have no client there"
    begun = browser.get("/login/with/corp?next=%2Ftokens")
    parts = {part.strip().lower() for part in begun.headers["set-cookie"].split(";")[1:]}
    assert {"httponly", "path=/", "samesite=lax", "secure", "max-age=600"} <= parts
    where = urlsplit(begun.headers["location"])
    asked = dict(parse_qsl(where.query))
    assert f"{where.scheme}://{where.netloc}{where.path}" == f"{issuer.url}/authorize"
    assert asked["redirect_uri"] == HOST + CORP
    assert (asked["scope"], asked["audience"], asked["tenant"]) == ("openid groups", "plimsoll", "1")
    attempt = Attempt.read(browser.cookies[ATTEMPT])
    assert attempt is not None
    assert not {attempt.secret, attempt.verifier} & set(asked.values())
    assert len({attempt.secret, attempt.verifier, asked["state"], asked["nonce"], asked["code_challenge"]}) == 5

    ended = browser.get(issuer.let_in(begun.headers["location"]))
    assert (ended.status_code, ended.headers["location"]) == (303, "/tokens")
    assert browser.cookies[SESSION].startswith("plim_session_")
    assert ATTEMPT not in browser.cookies
    page = browser.get("/tokens")
    assert page.status_code == 200
    assert "corp|rita" in page.text
    assert "Your login ends on" in page.text
    assert issuer.asked("/token") == 1


def test_a_stolen_row_opens_nothing(browser, issuer, database) -> None:
    token = issuer.token(groups=issuer.groups)
    issuer.given = {"access_token": token}
    log_in(browser, issuer)
    with database.snapshot() as tx:
        row = tx.exec_driver_sql("SELECT * FROM sessions").mappings().one()
    kept = repr(dict(row))
    assert not any(part in kept for part in token.split("."))
    secret = browser.cookies[SESSION]
    assert secret not in kept
    assert unseal(row["sealed_bearer"], secret) == token
    for key in (row["secret_sha256"].hex(), row["sealed_bearer"]):
        with pytest.raises(NotSealed):
            unseal(row["sealed_bearer"], key)
    assert row["secret_sha256"] == hashlib.sha256(secret.encode()).digest()
    assert (row["person"], row["token_id"]) == ("corp|rita", None)


def test_a_login_of_another_browser_or_with_another_state_is_refused(browser, api, issuer) -> None:
    back = issuer.let_in(begin(browser))
    with pages_of(api) as other:
        assert "begun in another window or browser" in refused(other, other.get(back))
        begin(other)
        assert "begun in another window or browser" in refused(other, other.get(back))
    for state in ("", "x", "é\ud800"):
        begin(browser)
        query = urlencode({"code": "c", "state": state}, errors="replace")
        assert "Log in again" in refused(browser, browser.get(f"{CORP}?{query}"))
    assert issuer.asked("/token") == 0


def test_a_code_serves_once(browser, issuer) -> None:
    back = issuer.let_in(begin(browser))
    kept = browser.cookies[ATTEMPT]
    assert browser.get(back).status_code == 303
    browser.cookies.clear()
    assert "begun in another window or browser" in refused(browser, browser.get(back))
    assert "it was used already" in refused(browser, browser.get(back, headers={"Cookie": f"{ATTEMPT}={kept}"}))
    assert issuer.asked("/token") == 2


def test_a_stolen_code_is_worthless_without_the_verifier(browser, issuer) -> None:
    """A thief begins a login of their own and sends the code of another person with it."""
    theirs = dict(parse_qsl(urlsplit(issuer.let_in(begin(browser))).query))
    own = dict(parse_qsl(urlsplit(issuer.let_in(begin(browser))).query))
    query = urlencode(own | {"code": theirs["code"]})
    assert "no longer takes this login" in refused(browser, browser.get(f"{CORP}?{query}"))


@pytest.mark.parametrize(
    ("claims", "said"),
    [
        ({"exp": 1}, "it has expired"),
        ({"aud": "plimsoll"}, "meant for another audience than pages"),
        ({"aud": ["pages", "other"], "azp": "other"}, "it was made for another client"),
        ({"nonce": "of another"}, "it is of another login"),
        ({"nonce": None}, "it is of another login"),
        ({"iss": "https://evil.example"}, "another issuer made it"),
    ],
)
def test_id_tokens_that_are_not_of_this_login(browser, issuer, claims, said) -> None:
    issuer.id_claims = claims
    assert said in refused(browser, log_in(browser, issuer))


@pytest.mark.parametrize(
    ("token", "said"),
    [
        (lambda issuer, claims: unsigned(claims), "allows only RS256"),
        (lambda issuer, claims: sign({"alg": "RS256", "kid": "first"}, claims, rsa("forged")), "signature"),
        (lambda issuer, claims: sign({"alg": "RS256", "kid": "other"}, claims, rsa("other")), "its key is not one"),
        (lambda issuer, claims: "no token", "neither a plim_ token nor a JSON web token"),
        (lambda issuer, claims: "x" * 20_000, "more than 16,384 characters"),
        (lambda issuer, claims: None, "gave no ID token"),
    ],
)
def test_id_tokens_that_the_issuer_did_not_sign(browser, issuer, token, said) -> None:
    back = issuer.let_in(begin(browser))
    nonce = Attempt.read(browser.cookies[ATTEMPT]).nonce
    issuer.given = {"id_token": token(issuer, issuer.claims(aud="pages", nonce=nonce))}
    assert said in refused(browser, browser.get(back))


@pytest.mark.parametrize(
    ("token", "said"),
    [
        (lambda issuer: issuer.token(aud="another"), "meant for another audience than plimsoll"),
        (lambda issuer: issuer.token(exp=1), "it has expired: log in again"),
        (lambda issuer: unsigned(issuer.claims()), "allows only RS256 for corp"),
        (lambda issuer: "opaque", "no JSON web token for this platform"),
        (lambda issuer: f"{'a' * 9000}.{'b' * 9000}.c", "no JSON web token for this platform"),
        (lambda issuer: issuer.token(groups=["lunch"]), "none of its rules in the issuers&#39; file gives you a role"),
        (lambda issuer: issuer.token(_claim_names={"groups": "a"}), "In Entra, an administrator mends it"),
    ],
)
def test_access_tokens_that_open_nothing(browser, issuer, token, said) -> None:
    issuer.given = {"access_token": token(issuer)}
    assert said in refused(browser, log_in(browser, issuer))


@pytest.mark.parametrize("back", ["//evil.example", "https://evil.example/", "/\\evil.example", "javascript:alert(1)"])
def test_no_login_leads_elsewhere(browser, issuer, back: str) -> None:
    assert log_in(browser, issuer, back).headers["location"] == "/"
    browser.cookies.clear()
    attempt = Attempt.begin("corp", back)  # the cookie is the browser's own, so it may say anything
    address = begin(browser)
    asked = dict(parse_qsl(urlsplit(address).query))
    asked |= {"state": attempt.state, "nonce": attempt.nonce, "code_challenge": attempt.challenge}
    came = issuer.let_in(f"{issuer.url}/authorize?{urlencode(asked)}")
    browser.cookies.clear()
    assert browser.get(came, headers={"Cookie": f"{ATTEMPT}={attempt.text()}"}).headers["location"] == "/"


@pytest.mark.parametrize("text", ["x", "e30=", "W10=", "A" * 5000, _encoded(secret=1, issuer="corp", back="/")])
def test_cookies_that_are_no_attempt(browser, text: str) -> None:
    answer = browser.get(f"{CORP}?state=x&code=y", headers={"Cookie": f"{ATTEMPT}={text}"})
    assert "Log in again" in refused(browser, answer)


def test_the_issuer_sends_people_back_to_the_address_of_the_setting_alone(browser, issuer) -> None:
    answer = browser.get("/login/with/corp", headers={"Host": "evil.example"})
    assert answer.status_code == 409
    assert "begins at https://pages.example, because it ends there" in answer.text
    assert browser.get("http://pages.example/login/with/corp").status_code == 409
    assert ATTEMPT not in browser.cookies


def test_an_answer_of_another_issuer_or_an_error_ends_the_attempt(browser, issuer) -> None:
    def said(**more: str) -> str:
        begin(browser)
        state = Attempt.read(browser.cookies[ATTEMPT]).state
        return refused(browser, browser.get(f"{CORP}?{urlencode({'state': state, **more})}"))

    assert "Another issuer has answered" in said(iss="https://evil.example", code="c")
    assert "did not let you in, or the login was cancelled" in said(error="access_denied")
    assert "corp has refused the login (server_error)" in said(error="server_error", error_description="x")
    assert "corp has refused the login. Try" in said(error="<script>")
    assert "no usable code" in said()
    assert issuer.asked("/token") == 0


def test_an_answer_at_the_address_of_another_issuer_is_refused(file, issuer, api) -> None:
    """The mix-up attack: a hostile issuer sends people on to an honest one, which names itself nowhere, and would get
    its code. Each answer comes to the address of the issuer that sent it, so it does not count for the other one.
    """
    write_file(file, issuer, lab=", pages_client_id: pages")
    issuer.redirect_uris = {f"{HOST}{CALLBACK}/{name}" for name in ("corp", "lab")}
    issuer.answer["/lab/.well-known/openid-configuration"] = lambda: (
        200,
        {"issuer": f"{issuer.url}/lab", "authorization_endpoint": f"{issuer.url}/lab/authorize"},
    )
    identity = Identity(file, make_ring=RingOnDemand)
    with pages_of(api_of(identity, api.state.context.database)) as browser:
        sent = browser.get("/login/with/lab")
        assert sent.status_code == 303, sent.text
        asked = dict(parse_qsl(urlsplit(sent.headers["location"]).query))
        assert asked["redirect_uri"] == f"{HOST}{CALLBACK}/lab"
        answer = urlencode({"state": asked["state"], "code": "honest"})
        kept = browser.cookies[ATTEMPT]
        assert "Another issuer has answered" in refused(browser, browser.get(f"{CORP}?{answer}"))
        assert issuer.asked("/token") == issuer.asked("/lab/token") == 0, "nobody gets the code"
        for path in (CALLBACK, f"{CALLBACK}/none", f"{CALLBACK}/corp/lab"):
            gone = browser.get(f"{path}?{answer}", headers={"Cookie": f"{ATTEMPT}={kept}"})
            assert gone.status_code in (303, 400, 404), path
            assert SESSION not in browser.cookies
        assert issuer.asked("/token") == issuer.asked("/lab/token") == 0
    identity.stop()


def test_each_step_counts_as_an_attempt_of_the_address(browser, issuer) -> None:
    answers = [browser.get("/login/with/corp").status_code for _ in range(12)]
    assert (answers[0], answers[-1]) == (303, 429)


def test_while_the_issuer_or_the_api_is_away(browser, issuer) -> None:
    back = issuer.let_in(begin(browser))
    issuer.answer["/token"] = lambda: (500, {})
    assert "corp gives no usable answer (the answer has status 500)" in refused(browser, browser.get(back))
    issuer.answer["/.well-known/openid-configuration"] = lambda: (200, {"issuer": "https://evil.example"})
    answer = browser.get("/login/with/corp")
    assert (answer.status_code, "of another issuer" in answer.text) == (502, True)
    issuer.answer["/.well-known/openid-configuration"] = lambda: (
        200,
        {"issuer": issuer.url, "authorization_endpoint": "http://192.0.2.1/authorize"},
    )
    assert browser.get("/login/with/corp").status_code == 502
    assert browser.get("/login/with/lab").status_code == 404


@pytest.mark.parametrize("ways", [None, ["client_secret_basic"], ["client_secret_post"]])
def test_a_client_with_a_secret(api, issuer, ways) -> None:
    issuer.clients = {"pages": "s3:cr/t é"}
    if ways is not None:
        document = {
            "issuer": issuer.url,
            "jwks_uri": f"{issuer.url}/keys",
            "authorization_endpoint": f"{issuer.url}/authorize",
            "token_endpoint": f"{issuer.url}/token",
            "token_endpoint_auth_methods_supported": ways,
        }
        issuer.answer["/.well-known/openid-configuration"] = lambda: (200, document)
    with pages_of(api) as browser:
        assert "does not take the pages for its client pages" in refused(browser, log_in(browser, issuer))
    with pages_of(api, corp="s3:cr/t é") as browser:
        assert log_in(browser, issuer).status_code == 303


def test_without_the_setting_people_log_in_with_tokens_alone(api) -> None:
    with pages_of(api, callback=None) as browser:
        form = browser.get("/login").text
        assert "Log in with corp" not in form
        assert "autofocus" in form
        assert browser.get("/login/with/corp").status_code == 404
