import socket
from collections.abc import Callable, Iterator

import pytest

from services.standalone.probe import HttpReady

Eventually = Callable[[Callable[[], object]], None]


@pytest.fixture
def server() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(60)
        yield listening


def answer(server: socket.socket, status: str, body: str = "") -> str:
    """Answer the oldest request, and return it."""
    connection, _ = server.accept()
    with connection:
        asked = connection.recv(10_000).decode()
        connection.sendall(f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode())
    return asked


def test_a_question_is_asked_once_and_waited_for(server: socket.socket, eventually: Eventually) -> None:
    ready = HttpReady(*server.getsockname())
    assert not any(ready() for _ in range(1000))
    assert answer(server, "200 OK").startswith("GET /readyz HTTP/1.1\r\n")
    eventually(ready)
    server.setblocking(False)
    with pytest.raises(BlockingIOError):  # the thousand calls made one request
        server.accept()


def test_it_asks_again_after_no_and_after_a_broken_connection(server: socket.socket, eventually: Eventually) -> None:
    ready = HttpReady(*server.getsockname())
    assert not ready()
    answer(server, "503 Service Unavailable", "not migrated")
    eventually(lambda: ready() or ready.last)
    assert ready.last == "not migrated"
    eventually(lambda: ready() or ready._socket is not None)
    server.accept()[0].close()
    eventually(lambda: ready() or ready._socket is None)
    eventually(lambda: ready() or ready._socket is not None)
    answer(server, "200 OK")
    eventually(ready)
    assert ready.last == ""


def test_nothing_that_listens_is_not_ready() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        address = listening.getsockname()
    assert not HttpReady(*address)()
