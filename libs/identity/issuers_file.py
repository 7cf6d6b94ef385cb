"""Read the issuers' file. Every error names the line and the field."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from libs.domain.principal import Role
from libs.identity.issuers import ALGORITHMS, OWNER, TOKEN_TYPES, Issuer, KeySource, Login, Rule
from libs.identity.yaml_places import FileError, Place, read_places
from libs.reconcile.outgoing import require_encrypted, trusted_by

FILE_BYTES_MAX = 1 << 20
ISSUERS_MAX, RULES_MAX, CONDITIONS_MAX, OWNERS_MAX, LIST_MAX = 20, 1000, 10, 1000, 20
HTTP_ALLOWED = "PLIMSOLL_ISSUERS_HTTP_ALLOWED"
"""The setting that allows http to another host."""
ANYONE = "anyone"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,39}")
_ISSUER = ("name", "issuer", "audience", "algorithms", "token_types", "person_claim", "keys", "login", "rules")


def read_issuers(path: Path, *, http: bool = False) -> tuple[Issuer, ...]:
    """Return the issuers that the file names.

    http   whether http to another host is allowed

    Raises FileError with the path, and OSError.
    """
    content = path.read_bytes()
    try:
        if len(content) > FILE_BYTES_MAX:
            raise FileError(f"has more than {FILE_BYTES_MAX:,} bytes")
        return parse_issuers(content.decode(), http=http)
    except UnicodeDecodeError as error:
        raise FileError(f"{path}: line {content[: error.start].count(10) + 1}: is not UTF-8") from error
    except FileError as error:
        raise FileError(f"{path}: {error}") from error


def parse_issuers(content: str, *, http: bool = False) -> tuple[Issuer, ...]:
    """Return the issuers of a file's content. Raises FileError."""
    top = read_places(content).fields(["issuers"], ["issuers"])
    places = top["issuers"].items(most=ISSUERS_MAX)
    issuers = tuple(_issuer(place, http=http) for place in places)
    for field, values in (
        ("name", [one.name for one in issuers]),
        ("issuer", [one.source.issuer for one in issuers]),
    ):
        for row, value in enumerate(values):
            if value in values[:row]:
                place = places[row].entries()[field]
                raise place.fail(f"is that of issuers[{values.index(value)}] too: each {field} may occur once")
    return issuers


def _issuer(place: Place, *, http: bool) -> Issuer:
    given = place.fields(_ISSUER, ("name", "issuer", "audience", "rules"))
    name = given["name"].text(most=40)
    if not _NAME.fullmatch(name):
        raise given["name"].fail("may have letters, digits and . _ - , beginning with a letter or a digit")
    return Issuer(
        name=name,
        source=_source(_url(given["issuer"], http=http), given.get("keys"), http=http),
        audiences=_texts(given["audience"], most=LIST_MAX),
        algorithms=_choices(given.get("algorithms"), ALGORITHMS, default=("RS256",)),
        token_types=_choices(given.get("token_types"), TOKEN_TYPES, default=TOKEN_TYPES),
        person_claim=given["person_claim"].text() if "person_claim" in given else "sub",
        login=_login(given["login"]) if "login" in given else None,
        rules=tuple(_rule(rule) for rule in given["rules"].items(most=RULES_MAX)),
    )


def _source(issuer: str, keys: Place | None, *, http: bool) -> KeySource:
    if keys is None:
        return KeySource(issuer=issuer, http=http)
    given = keys.fields(("url", "ca_file", "token_file"))
    ca = Path(given["ca_file"].text(most=4096)) if "ca_file" in given else None
    try:
        trusted_by(ca)
    except ValueError as error:
        raise given["ca_file"].fail(f"cannot be used: {error}") from error
    return KeySource(
        issuer=issuer,
        jwks_url=_url(given["url"], http=http) if "url" in given else None,
        ca=ca,
        token_file=Path(given["token_file"].text(most=4096)) if "token_file" in given else None,
        http=http,
    )


def _login(place: Place) -> Login:
    given = place.fields(("client_id", "scopes", "pages_client_id"), ("client_id",))
    scopes = _texts(given["scopes"], most=LIST_MAX) if "scopes" in given else ("openid", "offline_access")
    pages = given["pages_client_id"].text() if "pages_client_id" in given else None
    return Login(client_id=given["client_id"].text(), scopes=scopes, pages_client_id=pages)


def _rule(place: Place) -> Rule:
    given = place.fields(("when", "role", "owners"), ("when", "role"))
    role = Role(given["role"].choice([*Role]))
    when = _when(given["when"])
    owners = tuple(one.text(most=200) for one in given["owners"].items(most=OWNERS_MAX)) if "owners" in given else ()
    names_owner = any(OWNER in wanted for _, wanted in when)
    if role is not Role.REQUESTER and (owners or names_owner):
        raise given["owners" if owners else "when"].fail(
            f"names owners; only a requester has owners, and this is {role}"
        )
    return Rule(when=when, role=role, owners=owners, line=place.line)


def _when(place: Place) -> tuple[tuple[str, str], ...]:
    """Return the conditions of a rule. `anyone` has none; an empty mapping is taken for a mistake."""
    try:
        if place.text() == ANYONE:
            return ()
    except FileError:
        pass
    given = place.entries()
    if not 1 <= len(given) <= CONDITIONS_MAX:
        raise place.fail(f"must name 1 to {CONDITIONS_MAX} claims, or be the word {ANYONE}")
    when = []
    for claim, wanted in given.items():
        text = str(wanted.flag()).lower() if _is_flag(wanted) else wanted.text()
        if text.count(OWNER) > 1:
            raise wanted.fail(f"has {OWNER} more than once")
        when.append((claim, text))
    return tuple(when)


def _is_flag(place: Place) -> bool:
    try:
        place.flag()
    except FileError:
        return False
    return True


def _url(place: Place, *, http: bool) -> str:
    url = place.text(most=500)
    if not url.startswith(("https://", "http://")):
        raise place.fail("must begin with https://")
    try:
        require_encrypted(url, plain_allowed=http, setting=HTTP_ALLOWED)
    except ValueError as error:
        raise place.fail(f"is wrong: {error}") from error
    return url


def _texts(place: Place, *, most: int) -> tuple[str, ...]:
    found = tuple(one.text() for one in place.items(most=most, one=True))
    if not found:
        raise place.fail("must name at least one")
    return found


def _choices(place: Place | None, known: Sequence[str], *, default: tuple[str, ...]) -> tuple[str, ...]:
    if place is None:
        return default
    found = tuple(one.choice(known) for one in place.items(most=LIST_MAX, one=True))
    if not found:
        raise place.fail(f"must name at least one of {', '.join(known)}")
    return found
