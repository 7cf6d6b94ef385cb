"""Tell who sent a token of an issuer, and what the rules give them. The issuers' file is read again when it changes."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from structlog import get_logger

from libs.identity.issuers import Issuer, KeySource
from libs.identity.issuers_file import read_issuers
from libs.identity.keys import KeyRing, NoKeys, UnknownKey
from libs.identity.rules import Access, evaluate
from libs.identity.verify import Refused, person_of, unverified, verify
from libs.identity.yaml_places import FileError

REREAD_S = 10.0
"""Seconds between two looks at the issuers' file."""
log = get_logger(__name__)


class Unverifiable(Exception):
    """The issuer's keys are not known now, so nothing can be said about a token. The message is for people."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Identified:
    """A verified token: its issuer, its person, its claims, and what the rules give."""

    issuer: Issuer
    person: str
    claims: Mapping[str, Any]
    access: Access


@dataclass(frozen=True, slots=True)
class _Known:
    """An issuer with its keys."""

    issuer: Issuer
    keys: KeyRing


class Identity:
    """The issuers of a file, with their keys. Threads may share it.

    http      whether http to another host is allowed
    seconds   real time, in seconds since 1970

    Raises FileError and OSError if the file cannot be used.
    """

    def __init__(
        self,
        path: Path,
        *,
        http: bool = False,
        seconds: Callable[[], float] = time.time,
        make_ring: Callable[[str, KeySource], KeyRing] = KeyRing,
    ) -> None:
        self._path, self._http, self._seconds, self._make_ring = path, http, seconds, make_ring
        self._known: Mapping[str, _Known] = {}
        self._stopped = threading.Event()
        self._content = path.read_bytes()
        self._take(read_issuers(path, http=http))
        self._thread = threading.Thread(target=self._run, name="issuers-file", daemon=True)

    def start(self) -> None:
        """Begin to look at the file for changes."""
        self._thread.start()

    def stop(self) -> None:
        """End all threads."""
        self._stopped.set()
        for known in self._known.values():
            known.keys.stop()

    @property
    def issuers(self) -> tuple[Issuer, ...]:
        """The issuers, as in the file."""
        return tuple(known.issuer for known in self._known.values())

    def identify(self, token: str) -> Identified:
        """Return what a token says, after verifying it. Raises Refused and Unverifiable."""
        header, unsafe = unverified(token)
        said = unsafe.get("iss")
        known = self._known.get(said) if isinstance(said, str) else None
        if known is None:
            raise Refused("the issuers' file has no issuer that made it")
        kid = header.get("kid")
        if kid is not None and not isinstance(kid, str):
            raise Refused("its header is wrong")
        try:
            keys = known.keys.find(kid)
        except UnknownKey as error:
            raise Refused("its key is not one of the issuer's; these are fetched again after 30 s") from error
        except NoKeys as error:
            raise Unverifiable(f"The keys of issuer {known.issuer.name} are being fetched") from error
        claims = verify(token, header, known.issuer, keys, now_s=self._seconds())
        if claims.get("iss") != known.issuer.source.issuer:
            raise Refused("the issuers' file has no issuer that made it")
        person = person_of(known.issuer, claims)
        return Identified(issuer=known.issuer, person=person, claims=claims, access=evaluate(known.issuer, claims))

    def reread(self) -> None:
        """Take the file if it has changed. A file with an error changes nothing, and is logged once."""
        try:
            content = self._path.read_bytes()
            if content == self._content:
                return
            self._content = content
            self._take(read_issuers(self._path, http=self._http))
        except (FileError, OSError) as error:
            log.error("identity.file_not_taken", reason=str(error), hint="the issuers stay as they were")
        else:
            log.info("identity.file_taken", issuers=[one.name for one in self.issuers])

    def _take(self, issuers: tuple[Issuer, ...]) -> None:
        """Use these issuers from now on. Keep the keys of those whose source is the same."""
        before = {(one.keys.name, one.keys.source): one.keys for one in self._known.values()}
        known: dict[str, _Known] = {}
        for issuer in issuers:
            ring = before.pop((issuer.name, issuer.source), None)
            if ring is None:
                ring = self._make_ring(issuer.name, issuer.source)
                ring.start()
            known[issuer.source.issuer] = _Known(issuer, ring)
        self._known = known
        for ring in before.values():
            ring.stop()

    def _run(self) -> None:
        while not self._stopped.wait(REREAD_S):
            self.reread()
