"""The pages know the issuers that the API names, and the one address to which people come back."""

import httpx
import pytest
from starlette.testclient import TestClient

from libs.reconcile.clock import SystemClock
from services.pages.app import create_pages
from services.pages.issuers import KEPT_S, RETRY_S, Issuers
from services.pages.settings import CALLBACK, PagesSettings

HOST = "https://pages.example"
ATTEMPT, SESSION = "__Host-plimsoll-login", "__Host-plimsoll"


def test_the_api_is_asked_for_its_issuers_now_and_then() -> None:
    now, asked, answers = [0.0], [], [httpx.ConnectError("away"), 200, 500, 200]

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request.url.path)
        given = answers.pop(0)
        if isinstance(given, Exception):
            raise given
        item = {"name": "corp", "issuer": "https://i", "pages_client_id": "p", "scopes": [], "audience": "a"}
        return httpx.Response(given, json={"items": [{**item, "algorithms": ["RS256"]}]})

    http = httpx.Client(base_url="http://api", transport=httpx.MockTransport(answer))
    issuers = Issuers(http, HOST + CALLBACK, seconds=lambda: now[0])
    assert [issuers.names for _ in range(3)] == [[], [], []], "the API is away, and is not asked at each visit"
    assert len(asked) == 1
    now[0] += RETRY_S
    assert issuers.names == ["corp"]
    assert issuers.names == ["corp"]
    assert asked == ["/v1/issuers"] * 2
    now[0] += KEPT_S
    assert issuers.names == ["corp"], "it stays as it was"
    found = issuers.find("corp")
    assert found is not None
    assert found.scopes == ("openid",)
    assert len(asked) == 3


@pytest.mark.parametrize("answer", [{"json": {"items": [{"name": "corp", "issuer": "https://i"}]}}, {"text": "<html>"}])
def test_people_log_in_with_tokens_at_an_api_that_names_no_clients_for_the_pages(answer) -> None:
    http = httpx.Client(base_url="http://api", transport=httpx.MockTransport(lambda _: httpx.Response(200, **answer)))
    with TestClient(create_pages(http, SystemClock(), Issuers(http, HOST + CALLBACK)), base_url=HOST) as browser:
        shown = browser.get("/login")
    assert shown.status_code == 200
    assert "/login/with/" not in shown.text


@pytest.mark.parametrize(
    ("uri", "works"),
    [
        ("https://plimsoll.example.com/login/callback", True),
        ("http://127.0.0.1:8080/login/callback", True),
        ("", True),
        ("http://plimsoll.example.com/login/callback", False),
        ("https://plimsoll.example.com/login/callback?x=1", False),
        ("https://plimsoll.example.com/", False),
        ("https://Plimsoll.example.com/login/callback", False),
        ("https://user@plimsoll.example.com/login/callback", False),
        ("ftp://plimsoll.example.com/login/callback", False),
    ],
)
def test_the_redirect_uri_is_one_of_the_pages(uri: str, works: bool, monkeypatch) -> None:
    monkeypatch.setenv("PLIMSOLL_PAGES_REDIRECT_URI", uri)
    monkeypatch.setenv("PLIMSOLL_PAGES_CLIENT_SECRETS", '{"corp": "hidden"}')
    if works:
        settings = PagesSettings()
        assert settings.redirect_uri == (uri or None)
        assert "hidden" not in repr(settings)
        return
    with pytest.raises(ValueError, match=r"must begin with https://|must be the address of the pages"):
        PagesSettings()
