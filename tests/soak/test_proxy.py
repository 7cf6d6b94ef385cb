"""The proxy between the platform and its database passes all data, cuts connections, and delays data."""

import random
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from soak.proxy_process import ProxyProcess

SOCKET = ".s.PGSQL.5432"


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Path]:
    """A server that repeats its input."""
    folder = tmp_path / "db"
    folder.mkdir()
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listening.bind(str(folder / SOCKET))
    listening.listen(8)

    def serve(one: socket.socket) -> None:
        with one:
            while content := one.recv(100):
                one.sendall(content)

    def accept() -> None:
        while True:
            try:
                one, _ = listening.accept()
            except OSError:
                return
            threading.Thread(target=serve, args=(one,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    yield folder
    listening.shutdown(socket.SHUT_RDWR)
    listening.close()


def connect(url: str) -> socket.socket:
    one = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    one.settimeout(30.0)
    one.connect(f"{parse_qs(urlsplit(url).query)['host'][0]}/{SOCKET}")
    return one


def test_it_passes_on_holds_back_and_cuts(database: Path, tmp_path: Path) -> None:
    (tmp_path / "proxy").mkdir()
    with ProxyProcess(tmp_path / "proxy") as proxy:
        given = f"postgresql://plimsoll@/plimsoll?host={database}"
        routed = proxy.route(given)
        assert proxy.database_url == given
        with connect(routed) as one:
            one.sendall(b"hello")
            assert one.recv(100) == b"hello"
            proxy.stall(3600.0)
            one.sendall(b"later")
            one.settimeout(0.5)
            with pytest.raises(TimeoutError):
                one.recv(100)
            one.settimeout(30.0)
            proxy.stall(0.0)
            assert one.recv(100) == b"later"
            assert proxy.cut(1.0, random.Random(1)) == 2
            assert one.recv(100) == b""
