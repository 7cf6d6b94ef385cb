"""From claims to a role and owners, by the rules of an issuer in their order. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from libs.domain.principal import Role
from libs.identity.issuers import OWNER, Issuer, Rule

Claims = Mapping[str, Any]

VALUES_MAX = 5000
"""Largest number of values of one claim that rules look at."""
OWNER_LENGTH_MAX = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """A rule, and the owners that it gives these claims; None: it does not match."""

    rule: Rule
    owners: frozenset[str] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """The access that rules give.

    role       None: no rule matches
    matches    of every rule, in order
    left_out   claims that rules read, and that the issuer left out because they are too long
    """

    role: Role | None
    owners: frozenset[str]
    matches: tuple[Match, ...]
    left_out: tuple[str, ...]


def evaluate(issuer: Issuer, claims: Claims) -> Access:
    """Return the role of the first rule that matches, and the owners of all matching rules with that role."""
    values = {claim: values_of(claims, claim) for rule in issuer.rules for claim, _ in rule.when}
    matches = tuple(Match(rule=rule, owners=_owners(rule, values)) for rule in issuer.rules)
    role = next((one.rule.role for one in matches if one.owners is not None), None)
    given = (one.owners for one in matches if one.owners is not None and one.rule.role is role)
    owners = frozenset[str]().union(*given)
    return Access(role=role, owners=owners, matches=matches, left_out=_left_out(claims, values))


def values_of(claims: Claims, path: str) -> tuple[str, ...]:
    """Return the values of a claim as texts. A dot in `path` leads into a claim, unless a claim has the whole name.

    Anything but texts, whole numbers, true and false counts as absent.
    """
    found: Any = claims.get(path)
    if found is None and "." in path:
        found = claims
        for part in path.split("."):
            found = found.get(part) if isinstance(found, Mapping) else None
    listed = found[:VALUES_MAX] if isinstance(found, list) else [found]
    return tuple(_text(one) for one in listed if isinstance(one, str | bool | int))


def _text(value: str | bool | int) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _owners(rule: Rule, values: Mapping[str, tuple[str, ...]]) -> frozenset[str] | None:
    """Return the owners that a rule gives, or None if one of its conditions fails."""
    owners = set(rule.owners)
    for claim, wanted in rule.when:
        prefix, stands, suffix = wanted.partition(OWNER)
        if not stands:
            if wanted not in values[claim]:
                return None
            continue
        shortest = len(prefix) + len(suffix) + 1
        named = {
            value[len(prefix) : len(value) - len(suffix)]
            for value in values[claim]
            if shortest <= len(value) < shortest + OWNER_LENGTH_MAX
            and value.startswith(prefix)
            and value.endswith(suffix)
        }
        if not named:
            return None
        owners |= named
    return frozenset(owners)


def _left_out(claims: Claims, read: Mapping[str, object]) -> tuple[str, ...]:
    """Return the claims that the issuer left out. Entra names them in `_claim_names`, and sets `hasgroups` in tokens
    for browsers.
    """
    elsewhere = claims.get("_claim_names")
    names = set(elsewhere) if isinstance(elsewhere, Mapping) else set()
    if claims.get("hasgroups") in (True, "true"):
        names.add("groups")
    return tuple(sorted(name for name in read if name in names and name not in claims))
