"""Keep a text so that only the holder of a secret can read it."""

from __future__ import annotations

import hmac

from joserfc import jwe
from joserfc.errors import JoseError
from joserfc.jwk import OctKey

_HEADER = {"alg": "dir", "enc": "A256GCM"}


class NotSealed(Exception):
    """The text was not sealed with this secret, or it was changed since."""


def seal(text: str, secret: str) -> str:
    """Return `text`, encrypted with a key that comes from `secret`. The secret must have 256 random bits."""
    return jwe.encrypt_compact(_HEADER, text.encode(), _key(secret))


def unseal(sealed: str, secret: str) -> str:
    """Return the text that `seal` was given with this secret. Raises NotSealed."""
    try:
        return (jwe.decrypt_compact(sealed, _key(secret)).plaintext or b"").decode()
    except (JoseError, ValueError) as error:
        raise NotSealed from error


def _key(secret: str) -> OctKey:
    """Return the key. Nothing of it follows from the SHA-256 of the secret, which lies beside the sealed text."""
    return OctKey.import_key(hmac.digest(secret.encode(), b"plimsoll: key of a sealed text", "sha256"))
