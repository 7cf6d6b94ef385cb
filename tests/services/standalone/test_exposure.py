"""Check an operator's exposure: trusted addresses, tokens in clear text, and a password that survives a power cut."""

import os
from pathlib import Path

import pytest
import uvicorn
from typer.testing import CliRunner

from libs.reconcile.clock import SystemClock
from services.cli.main import app
from services.standalone import platform, postgres_cluster
from services.standalone.postgres_cluster import create_cluster
from services.standalone.settings import StandaloneSettings


def _parsed(trusted: str | None) -> dict[str, object]:
    """Return uvicorn's reading of the API's arguments."""
    arguments = [*platform._proxy_headers(trusted), "services.standalone.api:make_app"]
    found: dict[str, object] = uvicorn.main.make_context("uvicorn", arguments).params
    return found


def test_no_client_chooses_its_address_unless_a_proxy_is_named() -> None:
    assert _parsed(None)["proxy_headers"] is False
    named = _parsed("10.0.0.7")
    assert (named["proxy_headers"], named["forwarded_allow_ips"]) == (True, "10.0.0.7")


@pytest.mark.parametrize(("host", "warned"), [("0.0.0.0", True), ("127.0.0.1", False)])
def test_tokens_in_the_clear_are_warned_of(
    host: str, warned: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def no_platform(*_: object, **__: object) -> None:
        raise OSError("not today")

    monkeypatch.setenv("PLIMSOLL_STATE_DIR", str(tmp_path))
    monkeypatch.setattr(platform, "running_platform", no_platform)
    said = CliRunner().invoke(app, ["up", "--host", host]).output
    assert ("plain HTTP" in said) == warned, said


def test_the_password_is_on_the_disk_before_the_database_is_there(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Otherwise a power cut might leave a database without a way in."""
    done: list[tuple[str, bool]] = []
    data, sync = tmp_path / "postgres" / "data", os.fsync

    def noted(descriptor: int) -> None:
        done.append((Path(os.readlink(f"/proc/self/fd/{descriptor}")).name, data.exists()))
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", noted)
    monkeypatch.setattr(postgres_cluster, "find_binaries", lambda _: tmp_path)
    monkeypatch.setattr(postgres_cluster, "give_to_server", lambda *_: None)
    monkeypatch.setattr(postgres_cluster, "hand_over", lambda _: None)
    monkeypatch.setattr(postgres_cluster, "_run", lambda *_, **__: None)
    (tmp_path / "secrets").mkdir()
    create_cluster(data, tmp_path / "secrets" / "password", durable=True)
    assert done[0] == ("password", False)
    assert set(done[1:]) == {("secrets", True), ("postgres", True)}


def test_what_tells_of_all_owners_is_the_users_alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Check logs, bundles and messages, even in folders of an earlier version, and under any umask."""

    def no_port(*_: object) -> None:
        raise OSError("not today")

    monkeypatch.setattr(platform, "listen", no_port)
    (tmp_path / "bundles").mkdir(mode=0o755)
    before = os.umask(0)
    try:
        with (
            pytest.raises(OSError, match="not today"),
            platform.running_platform(StandaloneSettings(PLIMSOLL_STATE_DIR=tmp_path), clock=SystemClock()),
        ):
            pass
    finally:
        os.umask(before)
    modes = {name: (tmp_path / name).stat().st_mode & 0o777 for name in ("logs", "bundles", "queue")}
    assert modes == dict.fromkeys(modes, 0o700)
