"""The proxy in a process of its own, because every query passes it and other threads would hold the GIL.

Commands are lines of JSON on standard input. Each is answered by a line, and the end of the input ends the process.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from soak.proxy import DatabaseProxy


class ProxyProcess:
    """A DatabaseProxy in another process, with the same methods. Only one thread may use it."""

    def __init__(self, folder: Path) -> None:
        self._process = subprocess.Popen(  # noqa: S603  # our own program
            [sys.executable, "-m", "soak.proxy_process", str(folder)],
            cwd=Path(__file__).parents[1],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.database_url = ""
        """URL of the database itself, not through the proxy; known after `route` was called."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._process.communicate()

    def route(self, database_url: str) -> str:
        """Return a URL that leads through the proxy, like DatabaseProxy.route."""
        self.database_url = database_url
        return str(self._ask("route", database_url))

    def cut(self, share: float, chance: random.Random) -> int:
        """Break a share of the connections, like DatabaseProxy.cut. `chance` gives the seed of the choice."""
        return int(self._ask("cut", share, chance.getrandbits(32)))

    def stall(self, duration_s: float) -> None:
        """Delay everything, like DatabaseProxy.stall."""
        self._ask("stall", duration_s)

    def _ask(self, *command: Any) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(command) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())


class Proxies:
    """A proxy for each server of a database, with the methods of one. Only one thread may use it."""

    def __init__(self, proxies: Sequence[ProxyProcess]) -> None:
        self._proxies = proxies

    def cut(self, share: float, chance: random.Random) -> int:
        """Break a share of the connections, like DatabaseProxy.cut."""
        return sum(proxy.cut(share, chance) for proxy in self._proxies)

    def stall(self, duration_s: float) -> None:
        """Delay everything, like DatabaseProxy.stall."""
        for proxy in self._proxies:
            proxy.stall(duration_s)


def main() -> None:
    """Run the proxy. Usage: python -m soak.proxy_process FOLDER."""
    with DatabaseProxy(Path(sys.argv[1])) as proxy:
        for line in sys.stdin:
            name, *given = json.loads(line)
            if name == "cut":
                given[1] = random.Random(given[1])
            sys.stdout.write(json.dumps(getattr(proxy, name)(*given)) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
