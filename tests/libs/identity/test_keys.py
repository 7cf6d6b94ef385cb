"""Keys of an issuer on loopback that rotates, fails, floods and dawdles."""

import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from libs.identity import fetch
from libs.identity.fetch import FetchFailed, fetch_keys
from libs.identity.issuers import KeySource
from libs.identity.keys import REFRESH_S, RETRY_S, STALE_S_MAX, KeyRing, NoKeys, UnknownKey
from tests.builders.issuer import LoopbackIssuer, rsa


class Seconds:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def seconds() -> Seconds:
    return Seconds()


def ring(issuer: LoopbackIssuer, seconds: Callable[[], float]) -> KeyRing:
    return KeyRing("corp", KeySource(issuer=issuer.url), seconds=seconds)


def kids(ring: KeyRing, kid: str | None) -> list[str | None]:
    return [key.kid for key in ring.find(kid)]


def test_a_request_never_fetches(issuer: LoopbackIssuer, seconds: Seconds) -> None:
    keys = ring(issuer, seconds)
    with pytest.raises(NoKeys):
        keys.find("first")
    assert issuer.http.asked == []
    assert keys.refresh()
    for _ in range(3):
        assert kids(keys, "first") == kids(keys, None) == ["first"]
    assert issuer.asked("/keys") == 1


def test_an_unknown_key_causes_one_fetch_in_30_seconds(issuer: LoopbackIssuer, seconds: Seconds) -> None:
    fetches = threading.Semaphore(0)

    def fetching(source: KeySource) -> Any:
        found = fetch_keys(source)
        fetches.release()
        return found

    keys = KeyRing("corp", KeySource(issuer=issuer.url), fetch=fetching, seconds=seconds)
    keys.start()
    try:
        assert fetches.acquire(timeout=240)
        while keys._fetched is None:  # the thread keeps the keys a moment after it has them
            time.sleep(0.001)
        issuer.rotate("second")
        for _ in range(20):
            with pytest.raises(UnknownKey):
                keys.find("second")
        seconds.now += RETRY_S
        with pytest.raises(NoKeys):
            keys.find("second")
        with pytest.raises(UnknownKey):
            keys.find("third")
        assert fetches.acquire(timeout=240)
        assert issuer.asked("/keys") == 2
    finally:
        keys.stop()
    keys._thread.join(240)
    assert kids(keys, "second") == ["second"]
    assert kids(keys, "first") == ["first"], "tokens of before the rotation stay valid while the issuer lists their key"
    assert not keys._thread.is_alive()


def test_a_withdrawn_key_ends_with_the_next_fetch(issuer: LoopbackIssuer, seconds: Seconds) -> None:
    keys = ring(issuer, seconds)
    keys.refresh()
    issuer.keys = [rsa("second")]
    keys.refresh()
    with pytest.raises(UnknownKey):
        keys.find("first")


def test_a_token_without_kid_needs_a_set_of_one(issuer: LoopbackIssuer, seconds: Seconds) -> None:
    issuer.rotate("second")
    keys = ring(issuer, seconds)
    keys.refresh()
    with pytest.raises(UnknownKey):
        keys.find(None)


def test_keys_serve_for_a_day_while_the_issuer_is_dead(issuer: LoopbackIssuer, seconds: Seconds) -> None:
    keys = ring(issuer, seconds)
    keys.refresh()
    issuer.answer["/keys"] = lambda: (503, {})
    while seconds.now <= 1000.0 + STALE_S_MAX:
        assert kids(keys, "first") == ["first"]
        assert not keys.refresh() or seconds.now == 1000.0
        seconds.now += 100 * REFRESH_S
    with pytest.raises(NoKeys):
        keys.find("first")
    del issuer.answer["/keys"]
    assert keys.refresh()
    assert kids(keys, "first") == ["first"]


def _weak(issuer: LoopbackIssuer) -> object:
    return {"keys": [{**rsa("first").as_dict(private=False), "use": "enc"}, {"kty": "oct", "k": "AAAA"}, 7, {}]}


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (lambda _: (200, []), "no JSON object"),
        (lambda _: (200, {}), "no list of keys"),
        (lambda _: (200, {"keys": []}), "no list of keys"),
        (lambda issuer: (200, _weak(issuer)), "no public key for signatures"),
        (lambda _: (200, {"keys": [{"kty": "RSA", "n": "AQAB", "e": "AQAB", "kid": "x"}]}), "no public key"),
        (lambda _: (200, {"keys": [{"kty": "RSA", "n": "A" * 9000, "e": "AQAB", "kid": "x"}]}), "no public key"),
        (lambda _: (200, {"keys": [{"kty": "EC", "crv": [], "x": 1, "y": None}]}), "no public key"),
        (lambda _: (200, {"keys": [{}] * 101}), "101 keys"),
        (lambda _: (200, {"keys": "x" * (1 << 20)}), "more than 1,048,576 bytes"),
        (lambda _: (302, {}), "status 302"),
        (lambda _: (404, {}), "status 404"),
    ],
)
def test_answers_that_give_no_keys(issuer: LoopbackIssuer, answer: Callable[..., Any], said: str) -> None:
    issuer.answer["/keys"] = lambda: answer(issuer)
    with pytest.raises(FetchFailed, match=said):
        fetch_keys(KeySource(issuer=issuer.url))


def test_discovery_of_another_issuer(issuer: LoopbackIssuer) -> None:
    path = "/.well-known/openid-configuration"
    for document, said in (
        ({"issuer": "https://evil", "jwks_uri": f"{issuer.url}/keys"}, "of another issuer"),
        ({"issuer": issuer.url}, "no jwks_uri"),
        ({"issuer": issuer.url, "jwks_uri": "file:///etc/passwd"}, "no jwks_uri"),
        ({"issuer": issuer.url, "jwks_uri": "http://192.0.2.1/keys"}, "ValueError"),
    ):
        issuer.answer[path] = lambda document=document: (200, document)  # type: ignore[misc]
        with pytest.raises(FetchFailed, match=said):
            fetch_keys(KeySource(issuer=issuer.url))


def test_a_slow_issuer_is_given_up(issuer: LoopbackIssuer, monkeypatch: pytest.MonkeyPatch) -> None:
    go_on = threading.Event()
    issuer.answer["/keys"] = lambda: (200, {"keys": []}) if go_on.wait(240) else (500, {})
    monkeypatch.setattr(fetch, "_SILENCE_S_MAX", 0.05)
    try:
        with pytest.raises(FetchFailed, match="ReadTimeout"):
            fetch_keys(KeySource(issuer=issuer.url))
    finally:
        go_on.set()


def test_an_answer_that_takes_too_long_in_all_is_given_up(
    issuer: LoopbackIssuer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetch, "FETCH_S_MAX", -1.0)
    with pytest.raises(FetchFailed, match="took more than"):
        fetch_keys(KeySource(issuer=issuer.url))


def test_a_dead_issuer() -> None:
    with pytest.raises(FetchFailed, match="ConnectError"):
        fetch_keys(KeySource(issuer="http://127.0.0.1:1"))


def test_a_cluster_of_kubernetes_wants_a_token_and_has_no_discovery(issuer: LoopbackIssuer, tmp_path: Any) -> None:
    token = tmp_path / "token"
    token.write_text("of-the-pod\n")
    source = KeySource(issuer="https://cluster.local", jwks_url=f"{issuer.url}/keys", token_file=token)
    assert [key.kid for key in fetch_keys(source)] == ["first"]
    [asked] = issuer.http.asked
    assert (asked.path, asked.headers["Authorization"]) == ("/keys", "Bearer of-the-pod")
    token.unlink()
    with pytest.raises(FetchFailed, match="FileNotFoundError"):
        fetch_keys(source)
