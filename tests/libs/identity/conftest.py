"""Provide an issuer on loopback, a file that names it, and keys that are fetched when the test says so."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from libs.identity.identity import Identity
from libs.identity.keys import KeyRing
from tests.builders.issuer import LoopbackIssuer

RULES = """
      - {when: {groups: plimsoll-admins}, role: admin}
      - {when: {groups: 'capacity-{owner}'}, role: requester, owners: [shared]}
      - {when: {groups: everybody}, role: viewer}
"""


class RingOnDemand(KeyRing):
    """Keys that are fetched at the start, and then only when the test calls refresh."""

    def start(self) -> None:
        self.refresh()


def file_of(url: str, rules: str = RULES, more: str = "") -> str:
    return f"issuers:\n  - name: corp\n    issuer: {url}\n    audience: plimsoll\n{more}    rules:{rules}"


@pytest.fixture
def issuer() -> Iterator[LoopbackIssuer]:
    with LoopbackIssuer() as issuer:
        yield issuer


@pytest.fixture
def identity_of(tmp_path: Path) -> Iterator[Callable[..., Identity]]:
    """Return the issuers of a file with this content."""
    made: list[Identity] = []

    def make(content: str, **more: object) -> Identity:
        path = tmp_path / "issuers.yaml"
        path.write_text(content)
        made.append(Identity(path, make_ring=RingOnDemand, **more))
        return made[-1]

    yield make
    for one in made:
        one.stop()
