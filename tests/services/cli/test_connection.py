"""Errors in the platform's address or token are reported before any request, and without the secret."""

from pathlib import Path

import pytest

from services.cli.connection import find_connection
from services.cli.failure import CliFailure


@pytest.fixture
def env(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> pytest.MonkeyPatch:
    for name in ("PLIMSOLL_TOKEN", "PLIMSOLL_TOKEN_FILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PLIMSOLL_STATE_DIR", str(tmp_path))
    monkeypatch.setenv("PLIMSOLL_URL", "http://127.0.0.1:1")
    return monkeypatch


def test_an_address_needs_its_scheme(env: pytest.MonkeyPatch) -> None:
    env.setenv("PLIMSOLL_TOKEN", "plim_x")
    assert find_connection() == ("http://127.0.0.1:1", "plim_x")
    env.setenv("PLIMSOLL_URL", "127.0.0.1:1")
    with pytest.raises(CliFailure, match="write http:// or https:// before it"):
        find_connection()


@pytest.mark.parametrize("text", ["", "BEGIN PRIVATE KEY\nabc\n", "pl\u00efm", "x" * 16_385, "\udcff"])
def test_a_file_that_holds_something_else_is_refused_and_not_shown(
    env: pytest.MonkeyPatch, tmp_path: Path, text: str
) -> None:
    file = tmp_path / "token"
    file.write_bytes(text.encode("utf-8", "surrogateescape"))
    env.setenv("PLIMSOLL_TOKEN_FILE", str(file))
    with pytest.raises(CliFailure, match=f"the token file {file} holds no token") as refused:
        find_connection()
    assert not text or text not in str(refused.value)
    file.write_text("plim_x\n")
    assert find_connection()[1] == "plim_x"
