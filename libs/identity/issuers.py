"""An issuer of tokens, as the issuers' file describes it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from libs.domain.principal import Role

ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512")
"""Algorithms that a file may name. All are asymmetric: a key that verifies tokens cannot make one."""
TOKEN_TYPES = ("at+jwt", "JWT")
"""Types of tokens, as the header `typ` names them. A token without `typ` counts as JWT."""
OWNER = "{owner}"
"""The part of a text of a rule that stands for the name of an owner."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One rule from claims to a role.

    when     claims with the text that each must have; OWNER in it stands for any name. Empty: every token matches
    role     the role if the rule decides
    owners   owners besides those that OWNER stands for
    line     the rule's line in the file
    """

    when: tuple[tuple[str, str], ...]
    role: Role
    owners: tuple[str, ...]
    line: int


@dataclass(frozen=True, slots=True, kw_only=True)
class KeySource:
    """The place of an issuer's keys.

    issuer       the issuer's identifier, which is the URL of its discovery document's folder
    jwks_url     URL of the keys; None: the discovery document names it
    ca           PEM file of the authorities that may certify the issuer; None: the usual ones
    token_file   file of a token to send, as a cluster of Kubernetes demands; None: none
    http         whether http to another host is allowed
    """

    issuer: str
    jwks_url: str | None = None
    ca: Path | None = None
    token_file: Path | None = None
    http: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Login:
    """The values that `plimsoll login` and the pages send.

    pages_client_id   the client of the pages; None: they do not offer this issuer
    """

    client_id: str
    scopes: tuple[str, ...]
    pages_client_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Issuer:
    """An issuer whose tokens the platform takes.

    name           its name in persons; never changed and never used for another issuer
    audiences      a token must name one of these in `aud`
    algorithms     of ALGORITHMS
    token_types    of TOKEN_TYPES
    person_claim   the claim that tells persons apart
    login          None: no person logs in here
    """

    name: str
    source: KeySource
    audiences: tuple[str, ...]
    algorithms: tuple[str, ...]
    token_types: tuple[str, ...]
    person_claim: str
    login: Login | None
    rules: tuple[Rule, ...]
