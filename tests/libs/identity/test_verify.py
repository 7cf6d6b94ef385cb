"""Tokens of a real issuer on loopback, valid and not."""

import hashlib
import json
from base64 import urlsafe_b64encode
from collections.abc import Callable
from typing import Any

import pytest
from joserfc.jwk import ECKey, OctKey, RSAKey

from libs.domain.principal import Role
from libs.identity.identity import Identity, Unverifiable
from libs.identity.verify import LEEWAY_S, Refused
from tests.builders.issuer import LoopbackIssuer, rsa, sign
from tests.libs.identity.conftest import file_of

NOW = 1_800_000_000
TIMES = {"iat": NOW, "nbf": NOW, "exp": NOW + 600}


@pytest.fixture
def identity(identity_of: Callable[..., Identity], issuer: LoopbackIssuer) -> Identity:
    return identity_of(file_of(issuer.url), seconds=lambda: NOW)


def test_a_valid_token_gives_a_person_and_a_role(identity: Identity, issuer: LoopbackIssuer) -> None:
    found = identity.identify(issuer.token("248289", groups=["capacity-ads"], **TIMES))
    assert (found.person, found.access.role, found.access.owners) == ("corp|248289", Role.REQUESTER, {"ads", "shared"})
    assert identity.identify(issuer.token(aud=["other", "plimsoll"], **TIMES)).access.role is None


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"exp": NOW - LEEWAY_S}, "it has expired"),
    ({"exp": None}, "it never expires"),
    ({"exp": True}, "its exp is no time"),
    ({"exp": 10**400}, "its exp is no time"),
    ({"exp": "2100"}, "its exp is no time"),
    ({"exp": float("nan")}, "its exp is no time"),
    ({"nbf": NOW + LEEWAY_S + 1}, "it is not valid yet"),
    ({"iat": NOW + LEEWAY_S + 1}, "it is not valid yet"),
    ({"aud": "grafana"}, "it is meant for another audience than plimsoll"),
    ({"aud": [["plimsoll"], None]}, "another audience"),
    ({"aud": None}, "another audience"),
    ({"iss": "https://evil.example.org"}, "no issuer that made it"),
    ({"iss": None}, "no issuer that made it"),
    ({"iss": ["a"]}, "no issuer that made it"),
    ({"sub": None}, "no usable claim sub"),
    ({"sub": ""}, "no usable claim sub"),
    ({"sub": 7}, "no usable claim sub"),
    ({"sub": "x" * 256}, "no usable claim sub"),
    ({"sub": "a\nb"}, "no usable claim sub"),
]


@pytest.mark.parametrize(("claims", "said"), REFUSED)
def test_claims_that_are_refused(identity: Identity, issuer: LoopbackIssuer, claims: dict[str, Any], said: str) -> None:
    token = issuer.token(**{"sub": "rita", **TIMES, **claims})
    with pytest.raises(Refused, match=said):
        identity.identify(token)


def test_a_minute_of_difference_between_clocks_is_tolerated(identity: Identity, issuer: LoopbackIssuer) -> None:
    identity.identify(issuer.token(**{**TIMES, "exp": NOW - LEEWAY_S + 1}))
    identity.identify(issuer.token(**{**TIMES, "nbf": NOW + LEEWAY_S, "iat": NOW + LEEWAY_S}))


@pytest.mark.parametrize(
    ("header", "said"),
    [
        ({"alg": "none"}, "allows only RS256"),
        ({"alg": "HS256"}, "allows only RS256"),
        ({"typ": "dpop+jwt"}, "another type"),
        ({"crit": ["b64"], "b64": False}, "demands extensions"),
        ({"kid": 7}, "header is wrong"),
    ],
)
def test_headers_that_are_refused(
    identity: Identity, issuer: LoopbackIssuer, header: dict[str, Any], said: str
) -> None:
    _, claims, signature = issuer.token(**TIMES).split(".")
    changed = _encoded({"alg": "RS256", "kid": "first", **header})
    with pytest.raises(Refused, match=said):
        identity.identify(f"{changed}.{claims}.{signature}")


def _encoded(part: object) -> str:
    return urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=")


def test_a_token_without_a_signature(identity: Identity, issuer: LoopbackIssuer) -> None:
    for header in ({"alg": "none"}, {"alg": "none", "kid": "first"}):
        head, claims = (_encoded(part) for part in (header, issuer.claims(**TIMES)))
        with pytest.raises(Refused, match="allows only"):
            identity.identify(f"{head}.{claims}.")
    head, claims, _ = issuer.token(**TIMES).split(".")
    with pytest.raises(Refused, match="signature"):
        identity.identify(f"{head}.{claims}.")


def test_the_public_key_is_no_secret_to_sign_with(identity: Identity, issuer: LoopbackIssuer) -> None:
    key = issuer.keys[0]
    assert isinstance(key, RSAKey)
    secret = OctKey.import_key(hashlib.sha256(key.as_pem(private=False)).digest(), {"kid": "first"})
    for header in ({"alg": "HS256", "kid": "first"}, {"alg": "HS256"}):
        with pytest.raises(Refused, match="allows only"):
            identity.identify(sign(header, issuer.claims(**TIMES), secret))


def test_a_symmetric_key_in_the_set_is_not_used(identity_of: Callable[..., Identity], issuer: LoopbackIssuer) -> None:
    secret = OctKey.import_key(b"x" * 32, {"kid": "shared"})
    issuer.answer["/keys"] = lambda: (
        200,
        {"keys": [issuer.keys[0].as_dict(private=False), secret.as_dict(private=True)]},
    )
    identity = identity_of(file_of(issuer.url), seconds=lambda: NOW)
    with pytest.raises(Refused, match="its key is not one of the issuer's"):
        identity.identify(issuer.token(**TIMES, header={"kid": "shared"}))


def test_a_key_of_somebody_else(identity: Identity, issuer: LoopbackIssuer) -> None:
    other = RSAKey.generate_key(2048, {"kid": "first"})
    with pytest.raises(Refused, match="its signature is not one of the issuer's"):
        identity.identify(issuer.token(**TIMES, key=other))
    public = other.as_dict(private=False)
    with pytest.raises(Refused, match="its signature"):  # a key that the token brings is not used
        identity.identify(issuer.token(**TIMES, key=other, header={"jwk": public, "jku": "http://127.0.0.1:1/k"}))


def test_an_algorithm_of_another_kind_of_key(identity_of: Callable[..., Identity], issuer: LoopbackIssuer) -> None:
    issuer.keys = [ECKey.generate_key("P-256", {"kid": "first"})]
    identity = identity_of(file_of(issuer.url, more="    algorithms: [RS256, ES256]\n"), seconds=lambda: NOW)
    identity.identify(issuer.token(**TIMES))
    with pytest.raises(Refused, match="its signature"):
        identity.identify(issuer.token(**TIMES, key=rsa("first")))


@pytest.mark.parametrize(
    "token",
    ["abc", "a.b", "a.b.c.d", "..", "e30.e30.e30", "é.b.c", "\udcff.a.b", "[.[.[", "W10.W10.W10", "Z" * 16_385],
)
def test_what_is_no_token(identity: Identity, token: str) -> None:
    with pytest.raises(Refused):
        identity.identify(token)


def test_a_token_that_nests_deeply_or_is_too_long(identity: Identity, issuer: LoopbackIssuer) -> None:
    deep = urlsafe_b64encode(b'{"iss":' + b"[" * 5000 + b"]" * 5000 + b"}").decode().rstrip("=")
    with pytest.raises(Refused, match="neither"):
        identity.identify(f"{issuer.token().split('.')[0]}.{deep}.AAAA")
    with pytest.raises(Refused, match="more than 16,384 characters"):
        identity.identify(issuer.token(groups=["g" * 100] * 200, **TIMES))


def test_a_refusal_holds_no_value_of_the_token(identity: Identity, issuer: LoopbackIssuer) -> None:
    for claims in (claims for claims, _ in REFUSED):
        more = {"sub": "hidden-sub", **TIMES, "email": "rita@example.org", "aud": "hidden-aud", **claims}
        with pytest.raises(Refused) as refused:
            identity.identify(issuer.token(**more))
        assert not any(word in str(refused.value) for word in ("rita@", "hidden", "evil", "grafana"))


def test_without_keys_nothing_can_be_said(identity_of: Callable[..., Identity], issuer: LoopbackIssuer) -> None:
    issuer.answer["/keys"] = lambda: (500, {})
    with pytest.raises(Unverifiable, match="keys of issuer corp are being fetched"):
        identity_of(file_of(issuer.url), seconds=lambda: NOW).identify(issuer.token(**TIMES))


def test_the_file_is_read_again_when_it_changes(
    identity_of: Callable[..., Identity], issuer: LoopbackIssuer, tmp_path: Any
) -> None:
    identity = identity_of(file_of(issuer.url), seconds=lambda: NOW)
    token, path = issuer.token(groups=["everybody"], **TIMES), tmp_path / "issuers.yaml"
    assert identity.identify(token).access.role is Role.VIEWER
    path.write_text(file_of(issuer.url, "\n      - {when: {groups: everybody}, role: operator}\n"))
    identity.reread()
    assert identity.identify(token).access.role is Role.OPERATOR
    assert issuer.asked("/keys") == 1, "the keys of an issuer that stays are kept"
    path.write_text("issuers: 7")
    identity.reread()
    path.unlink()
    identity.reread()
    assert identity.identify(token).access.role is Role.OPERATOR
    path.write_text("issuers: []")
    identity.reread()
    with pytest.raises(Refused):
        identity.identify(token)
