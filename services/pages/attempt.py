"""A login at an issuer that has begun, as the browser's cookie keeps it. All of its values come from one secret."""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import asdict, dataclass

TEXT_LENGTH_MAX = 4000


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """A login that has begun.

    secret   256 random bits, as a text; only this browser has them
    issuer   the issuer's name in the issuers' file
    back     the path to go to afterwards, to be checked again
    """

    secret: str
    issuer: str
    back: str

    @classmethod
    def begin(cls, issuer: str, back: str) -> Attempt:
        """Return a new attempt."""
        return cls(secret=secrets.token_urlsafe(32), issuer=issuer, back=back)

    @classmethod
    def read(cls, text: str | None) -> Attempt | None:
        """Return the attempt of a cookie; None if there is none in it."""
        if text is None or len(text) > TEXT_LENGTH_MAX:
            return None
        try:
            found = json.loads(urlsafe_b64decode(text.encode("ascii")))
            attempt = cls(**found)
        except (ValueError, TypeError, RecursionError):
            return None
        return attempt if all(isinstance(value, str) for value in asdict(attempt).values()) else None

    def text(self) -> str:
        """Return the value of the cookie."""
        return urlsafe_b64encode(json.dumps(asdict(self)).encode()).decode()

    @property
    def state(self) -> str:
        """The value that the issuer sends back, and that no other browser knows."""
        return self._derived("state")

    @property
    def nonce(self) -> str:
        """The value that the ID token must have."""
        return self._derived("nonce")

    @property
    def verifier(self) -> str:
        """The value that the pages alone send with the code (RFC 7636)."""
        return self._derived("verifier")

    @property
    def challenge(self) -> str:
        """The digest of the verifier, which the issuer learns first."""
        return _text(hashlib.sha256(self.verifier.encode()).digest())

    def has_state(self, given: str) -> bool:
        """Return whether the issuer answers this attempt."""
        return hmac.compare_digest(given.encode("utf-8", "replace"), self.state.encode())

    def _derived(self, name: str) -> str:
        return _text(hmac.digest(self.secret.encode("utf-8", "replace"), name.encode(), "sha256"))


def _text(content: bytes) -> str:
    return urlsafe_b64encode(content).decode().rstrip("=")
