"""`plimsoll login` against an issuer and an API on loopback: the device flow, the saved file, and its renewal."""

import json
import stat
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import uvicorn

from libs.identity.identity import Identity
from libs.reconcile.clock import SystemClock
from libs.store.platform.database import Database
from libs.web.app import create_app
from services.cli import device_flow
from services.cli.client import Client
from services.cli.connection import find_connection
from services.cli.failure import CliFailure
from services.cli.login import login, logout, whoami
from services.cli.output import Output
from services.cli.saved_logins import EARLY_S, login_token
from tests.builders.issuer import LoopbackIssuer
from tests.libs.identity.conftest import RingOnDemand, file_of
from tests.libs.web.conftest import Dock, ships


@pytest.fixture
def issuer() -> Iterator[LoopbackIssuer]:
    with LoopbackIssuer() as issuer:
        yield issuer


@pytest.fixture
def url(issuer: LoopbackIssuer, database_url: str, tmp_path: Path) -> Iterator[str]:
    """Serve an API whose issuers' file names the issuer."""
    path, database = tmp_path / "issuers.yaml", Database(database_url)
    path.write_text(file_of(issuer.url, more="    login: {client_id: cli, scopes: [openid, groups]}\n"))
    app = create_app(
        title="Ships",
        version="1",
        database=database,
        clock=SystemClock(),
        routers=[ships(Dock())],
        identity=Identity(path, make_ring=RingOnDemand),
    )
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_config=None, ws="none", lifespan="off"))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        assert thread.is_alive()
        time.sleep(0.01)
    yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    server.should_exit = True
    thread.join()
    database.close()


@pytest.fixture
def file(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of logins, in an environment that names the platform and no token."""
    for name in ("PLIMSOLL_TOKEN", "PLIMSOLL_TOKEN_FILE"):
        monkeypatch.delenv(name, raising=False)
    file = tmp_path / "of user" / "logins.json"
    monkeypatch.setenv("PLIMSOLL_LOGIN_FILE", str(file))
    monkeypatch.setenv("PLIMSOLL_URL", url)
    monkeypatch.setattr(device_flow, "pause", lambda _: None)
    return file


PENDING, SLOW = (400, {"error": "authorization_pending"}), (400, {"error": "slow_down"})


def given(issuer: LoopbackIssuer, expires_in: float = 600, refresh: str | None = "r1", **claims: object):
    token = issuer.token("rita", groups=["capacity-ads"], **claims)
    return {"access_token": token, "refresh_token": refresh, "expires_in": expires_in, "token_type": "Bearer"}


def test_login_waits_for_the_person_and_keeps_the_token_private(
    issuer: LoopbackIssuer, file: Path, url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(CliFailure, match="run `plimsoll login`"):
        find_connection()
    issuer.device = [PENDING, SLOW, PENDING, (200, given(issuer))]
    login()
    told = capsys.readouterr()
    assert f"Open {issuer.url}/activate and enter the code WDJB-MJHT" in told.err.replace("\n", " ")
    assert "corp|rita, requester for ads, shared" in told.out.replace("\n", " ")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    [asked] = [one for one in issuer.http.asked if one.path == "/device"]
    assert b"client_id=cli&scope=openid+groups&audience=plimsoll" in asked.body
    assert json.loads(file.read_text())[url]["client_id"] == "cli"
    whoami()
    told = capsys.readouterr()
    assert "claim groups: capacity-ads" in told.out
    assert "groups=capacity-{owner}" in told.out
    whoami(output=Output.JSON)
    lines = capsys.readouterr().out.splitlines()
    own = "\n".join(line for line in lines if not line.startswith('{"'))  # without the log of the API in this process
    assert json.loads(own)["person"] == "corp|rita"
    assert issuer.http.asked[-1].path == "/token", "the platform asks the issuer nothing"
    logout()
    assert json.loads(file.read_text()) == {}
    with pytest.raises(CliFailure, match="run `plimsoll login`"):
        find_connection()


def test_a_token_of_the_environment_comes_before_a_login(
    issuer: LoopbackIssuer, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    issuer.device = [(200, given(issuer))]
    login()
    monkeypatch.setenv("PLIMSOLL_TOKEN", "plim_x")
    assert find_connection()[1] == "plim_x"


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ((400, {"error": "access_denied"}), "the login was denied"),
        ((400, {"error": "expired_token"}), "no longer valid"),
        ((400, {"error": "invalid_client"}), "no longer valid"),
        ((200, {"access_token": "opaque"}), "no JSON web token"),
        ((500, {}), "answered 500"),
        ((200, [1]), "no JSON object"),
    ],
)
def test_logins_that_fail(issuer: LoopbackIssuer, file: Path, answer: tuple[int, object], said: str) -> None:
    issuer.device = [answer]  # type: ignore[list-item]
    with pytest.raises(CliFailure, match=said):
        login()
    assert not file.exists()


def test_an_issuer_without_the_device_flow_or_of_another_name(issuer: LoopbackIssuer, file: Path) -> None:
    path = "/.well-known/openid-configuration"
    for document, said in (
        ({"issuer": issuer.url}, "names no device_authorization_endpoint"),
        ({"issuer": "https://evil"}, "describes another issuer"),
        ({"issuer": issuer.url, "device_authorization_endpoint": "http://192.0.2.1/"}, "PLIMSOLL_LOGIN_HTTP_ALLOWED"),
    ):
        issuer.answer[path] = lambda document=document: (200, document)  # type: ignore[misc]
        with pytest.raises(CliFailure, match=said):
            login()
    with pytest.raises(CliFailure, match="has no issuer other: it has corp"):
        login(issuer="other")


def test_the_terminal_obeys_nothing_of_the_issuer(
    issuer: LoopbackIssuer, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hostile = {"device_code": "d", "user_code": "A\x1b[2JB", "verification_uri": "https://x/\x07", "interval": 0}
    issuer.answer["/device"] = lambda: (200, hostile)
    issuer.device = [(200, given(issuer))]
    login()
    told = capsys.readouterr().err
    assert "A[2JB" in told
    assert "\x07" not in told


def test_a_login_is_renewed_before_it_ends(issuer: LoopbackIssuer, file: Path, url: str) -> None:
    issuer.device = [(200, given(issuer, expires_in=EARLY_S - 1))]
    issuer.refreshed = {"r1": given(issuer, EARLY_S - 1, "r2", jti="2"), "r2": given(issuer, 600, None, jti="3")}
    login()
    first = login_token(url)
    second = login_token(url)
    assert len({first, second, login_token(url)}) == 2, "the third lasts, so it is not renewed"
    assert issuer.refreshed == {}, "each refresh token is used once"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_commands_at_once_renew_once(issuer: LoopbackIssuer, file: Path, url: str) -> None:
    issuer.device = [(200, given(issuer, expires_in=0))]
    issuer.refreshed = {"r1": given(issuer, 600, "r2", jti="2")}
    login()
    found: list[str] = []
    threads = [threading.Thread(target=lambda: found.append(login_token(url))) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 5
    assert len(set(found)) == 1


def test_a_long_command_renews_while_it_runs(issuer: LoopbackIssuer, file: Path) -> None:
    issuer.device = [(200, given(issuer, expires_in=0))]
    issuer.refreshed = {"r1": given(issuer, 0, "r2", jti="2"), "r2": given(issuer, 600, "r3", jti="3")}
    login()
    client = Client.connect()
    for _ in range(3):
        assert client.get("/v1/whoami")["role"] == "requester"
    client.close()
    assert issuer.refreshed == {}


def test_a_login_that_the_issuer_ended(issuer: LoopbackIssuer, file: Path, url: str) -> None:
    issuer.device = [(200, given(issuer, expires_in=0))]
    login()
    with pytest.raises(CliFailure, match="has ended: run `plimsoll login`"):
        login_token(url)
    issuer.device = [(200, given(issuer, expires_in=0, refresh=None))]
    login()
    with pytest.raises(CliFailure, match="has ended: run `plimsoll login`"):
        login_token(url)


def test_while_the_issuer_is_away_a_token_serves_until_its_end(issuer: LoopbackIssuer, file: Path, url: str) -> None:
    token = given(issuer, expires_in=EARLY_S - 1)
    issuer.device = [(200, token)]
    login()
    issuer.answer["/token"] = lambda: (502, {})
    assert login_token(url) == token["access_token"]


def test_a_file_that_cannot_be_read(file: Path) -> None:
    file.parent.mkdir()
    for content in ("{", "[]"):
        file.write_text(content)
        with pytest.raises(CliFailure, match="cannot read the logins in"):
            find_connection()
