"""The keys of one issuer, fetched by a thread of their own. A request reads the last ones, and never waits."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from joserfc.jwk import Key
from structlog import get_logger

from libs.identity.fetch import FetchFailed, fetch_keys
from libs.identity.issuers import KeySource

REFRESH_S = 300.0
"""Seconds between two fetches. A key that the issuer withdraws serves this long."""
RETRY_S = 30.0
"""Shortest time between two fetches, after a failure or for an unknown key."""
STALE_S_MAX = 86_400.0
"""Seconds for which keys serve after the last fetch that succeeded."""
SAME_KID_MAX = 4
"""Largest number of keys that are tried for one signature."""
log = get_logger(__name__)


class NoKeys(Exception):
    """There are no keys now that a token could be verified with. Try again later."""


class UnknownKey(Exception):
    """The issuer's keys have none that the token names."""


@dataclass(frozen=True, slots=True)
class _Fetched:
    """The keys of one fetch, and the second in which it began."""

    keys: Sequence[Key]
    at_s: float


class KeyRing:
    """The keys of the issuer `name`. Threads may share it.

    seconds   a clock that never goes back
    """

    def __init__(
        self,
        name: str,
        source: KeySource,
        *,
        fetch: Callable[[KeySource], Sequence[Key]] = fetch_keys,
        seconds: Callable[[], float] = time.monotonic,
    ) -> None:
        self.name, self.source = name, source
        self._fetch, self._seconds = fetch, seconds
        self._fetched: _Fetched | None = None
        self._tried_s = float("-inf")
        self._lock = threading.Lock()
        self._wake, self._stopped = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"keys-{name}", daemon=True)

    def start(self) -> None:
        """Begin to fetch."""
        self._thread.start()

    def stop(self) -> None:
        """End the thread after the fetch that may be running."""
        self._stopped.set()
        self._wake.set()

    def find(self, kid: str | None) -> Sequence[Key]:
        """Return the keys that a token may be signed with. A token without `kid` may only be of a set of one key.

        Raises NoKeys, and UnknownKey, which causes a fetch unless the last one was less than RETRY_S ago.
        """
        fetched = self._fetched
        if fetched is None or self._seconds() - fetched.at_s > STALE_S_MAX:
            raise NoKeys
        if kid is None:
            found = [*fetched.keys] if len(fetched.keys) == 1 else []
        else:
            found = [key for key in fetched.keys if key.kid == kid][:SAME_KID_MAX]
        if found:
            return found
        if self._wants_fetch():
            self._wake.set()
            raise NoKeys
        raise UnknownKey

    def refresh(self) -> bool:
        """Fetch once. Return whether there are new keys; if not, the earlier ones stay."""
        with self._lock:
            began_s = self._tried_s = self._seconds()
        try:
            keys = self._fetch(self.source)
        except FetchFailed as error:
            log.warning("identity.keys_not_fetched", issuer=self.name, reason=str(error))
            return False
        except Exception:
            # The next fetch must come after any answer. The text of the error may hold what it sent.
            log.error("identity.keys_not_fetched", issuer=self.name, reason="unexpected answer")
            return False
        self._fetched = _Fetched(keys, began_s)
        return True

    def _wants_fetch(self) -> bool:
        """Return whether an unknown key may cause a fetch now, and count it as tried."""
        with self._lock:
            if self._seconds() - self._tried_s < RETRY_S:
                return False
            self._tried_s = self._seconds()
            return True

    def _run(self) -> None:
        while not self._stopped.is_set():
            done = self.refresh()
            self._wake.wait(REFRESH_S if done else RETRY_S)
            self._wake.clear()
