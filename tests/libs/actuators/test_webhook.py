"""Test the webhook actuator against a real HTTP server on loopback, mostly a misbehaving one."""

import hashlib
import hmac
import json
import socket
import ssl
import subprocess
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import pytest

from libs.actuators.actuator import StepRequest, StepState
from libs.actuators.signature import Call, is_signed, sign
from libs.actuators.webhook import WebhookActuator, WebhookSettings
from libs.domain.move import MoveStep
from tests.libs.actuators.test_simulated import T0

SECRET, NEXT = "s" * 16, "n" * 16
Answer = Callable[[BaseHTTPRequestHandler], None]


class Receiver:
    """Keeps the requests it got; `answer` makes its answers."""

    def __init__(self) -> None:
        self.bodies: list[dict] = []
        self.headers: list[dict[str, str]] = []
        self.signed: list[bool] = []
        self.answer: Answer = status(200)
        self.over = threading.Event()
        self.at_a_time, self._now, self._lock = 0, 0, threading.Lock()
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                with receiver._lock:
                    receiver.bodies.append(json.loads(body))
                    receiver.headers.append(dict(self.headers))
                    signature = self.headers["Plimsoll-Signature"]
                    at_s = int(signature.split(",")[0].removeprefix("t="))
                    key = self.headers["Idempotency-Key"]
                    call = Call(method=self.command, target=self.path, key=key, body=body)
                    receiver.signed.append(is_signed(signature, call, [SECRET.encode()], now_s=at_s))
                    receiver._now += 1
                    receiver.at_a_time = max(receiver.at_a_time, receiver._now)
                try:
                    receiver.answer(self)
                except OSError:  # the caller has hung up
                    pass
                finally:
                    with receiver._lock:
                        receiver._now -= 1

            def log_message(self, *arguments: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/steps"
        self._thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02})
        self._thread.start()

    def close(self) -> None:
        self.over.set()
        self.server.shutdown()
        self.server.server_close()
        self._thread.join()


def status(code: int, body: bytes = b"", **headers: str) -> Answer:
    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(code)
        for name, value in headers.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    return answer


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    receiver = Receiver()
    yield receiver
    receiver.close()


def actuator(url: str, **settings: object) -> WebhookActuator:
    values = {"PLIMSOLL_WEBHOOK_URL": url, "PLIMSOLL_WEBHOOK_SECRET": SECRET, **settings}
    return WebhookActuator(WebhookSettings.model_validate(values))


def steps(number: int = 1) -> list[StepRequest]:
    return [
        StepRequest(
            move_id=i,
            step=MoveStep.CLEAN,
            attempt=2,
            started_at=T0,
            region="west",
            server=f"s{i}",
            from_reservation="web",
            to_reservation=None,
            from_host_profile="default",
            to_host_profile=None,
        )
        for i in range(1, number + 1)
    ]


def test_a_step_is_posted_signed_with_its_key(receiver: Receiver) -> None:
    (outcome,) = actuator(receiver.url).perform(steps())
    assert (outcome.state, outcome.call) == (StepState.DONE, "done")
    assert receiver.signed == [True]
    assert receiver.headers[0]["Idempotency-Key"] == "1/clean/2"
    assert receiver.bodies[0] == {
        "move_id": 1,
        "step": "clean",
        "attempt": 2,
        "region": "west",
        "server": "s1",
        "from_reservation": "web",
        "to_reservation": None,
        "from_host_profile": "default",
        "to_host_profile": None,
    }


def test_while_secrets_change_either_is_enough(receiver: Receiver) -> None:
    for present, following in ((SECRET, NEXT), (NEXT, SECRET)):
        both = {"PLIMSOLL_WEBHOOK_SECRET": present, "PLIMSOLL_WEBHOOK_SECRET_NEXT": following}
        actuator(receiver.url, **both).perform(steps())
    actuator(receiver.url, PLIMSOLL_WEBHOOK_SECRET=NEXT).perform(steps())
    assert receiver.signed == [True, True, False]


CALL = Call(method="POST", target="/steps?to=lab", key="1/clean/2", body=b"body")


def test_a_signature_is_of_this_call_this_secret_and_this_moment() -> None:
    secrets = [b"one", b"two"]
    header = sign(CALL, secrets, at_s=1000)
    assert is_signed(header, CALL, [b"two"], now_s=1299.0)
    assert not is_signed(header, CALL, [b"two"], now_s=1301.0)
    assert not is_signed(header, CALL, [b"two"], now_s=690.0)
    assert not is_signed(header, CALL, [b"three"], now_s=1000.0)
    assert not is_signed(header.replace("t=1000", "t=1001"), CALL, secrets, now_s=1000.0)
    for broken in ("", "t=1000", "v2=00", "t=,v2=", "t=1000,t=1000," + header, "t=9" * 9999, "v2=\u00e9,t=1000"):
        assert not is_signed(broken, CALL, secrets, now_s=1000.0)


@pytest.mark.parametrize("changed", [{"method": "PUT"}, {"target": "/steps"}, {"key": "1/clean/99"}, {"body": b"bodY"}])
def test_a_captured_call_cannot_be_sent_as_another(changed: dict) -> None:
    """The receiver acts by the key, so the key must be signed too."""
    header = sign(CALL, [b"one"], at_s=1000)
    assert not is_signed(header, replace(CALL, **changed), [b"one"], now_s=1000.0)


def test_receivers_from_before_find_the_signature_that_they_know() -> None:
    old = hmac.new(b"one", b"1000.body", hashlib.sha256).hexdigest()
    header = sign(CALL, [b"one"], at_s=1000)
    assert f"v1={old}" in header.split(",")
    assert not is_signed(f"t=1000,v1={old}", CALL, [b"one"], now_s=1000.0), "it is not enough any more"


@pytest.mark.parametrize("url", ["http://10.0.0.1/steps", "http://receiver/steps", "http://localhost.example/"])
def test_http_to_another_host_must_be_allowed(url: str) -> None:
    with pytest.raises(ValueError, match="PLIMSOLL_WEBHOOK_HTTP_ALLOWED=true"):
        actuator(url)
    actuator(url, PLIMSOLL_WEBHOOK_HTTP_ALLOWED=True)


@pytest.mark.parametrize("url", ["https://10.0.0.1/steps", "http://127.0.0.9:1/", "http://[::1]/", "http://localhost/"])
def test_https_and_loopback_need_no_permission(url: str) -> None:
    actuator(url)


def test_a_private_authority_may_vouch_for_the_receiver(receiver: Receiver, tmp_path: Path) -> None:
    ca = authority(tmp_path)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(ca, tmp_path / "key.pem")
    receiver.server.socket = tls.wrap_socket(receiver.server.socket, server_side=True)
    url = receiver.url.replace("http:", "https:")
    (stranger,) = actuator(url).perform(steps())
    assert (stranger.state, stranger.call) == (StepState.UNKNOWN, "unreachable")
    (known,) = actuator(url, PLIMSOLL_WEBHOOK_CA=ca).perform(steps())
    assert known.state is StepState.DONE
    with pytest.raises(ValueError, match="not a readable file of PEM"):
        actuator(url, PLIMSOLL_WEBHOOK_CA=tmp_path / "missing.pem")


def authority(folder: Path) -> Path:
    """Return a self-signed certificate for 127.0.0.1."""
    ca = folder / "ca.pem"
    subject = ["-subj", "/CN=receiver", "-addext", "subjectAltName=IP:127.0.0.1"]
    key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", folder / "key.pem"]
    subprocess.run(
        ["openssl", "req", "-x509", "-days", "2", *key, "-out", ca, *subject], check=True, capture_output=True
    )
    return ca


@pytest.mark.parametrize(
    ("answer", "state", "call", "message", "again_s"),
    [
        (status(204), StepState.DONE, "done", None, None),
        (status(202), StepState.RUNNING, "accepted", None, None),
        (status(202, Retry_After="40"), StepState.RUNNING, "accepted", None, 40.0),
        (status(202, Retry_After="999999"), StepState.RUNNING, "accepted", None, 3600.0),
        (status(202, Retry_After="soon"), StepState.RUNNING, "accepted", None, None),
        (status(202, Retry_After="Thu, 01 Jan 1970 00:00:00 GMT"), StepState.RUNNING, "accepted", None, 0.0),
        (status(422, b'{"message": "disk is\\nbroken"}'), StepState.FAILED, "failed", "HTTP 422: disk is broken", None),
        (status(409, b"busy"), StepState.FAILED, "failed", "HTTP 409: busy", None),
        (status(400, b"[1]"), StepState.FAILED, "failed", "HTTP 400: [1]", None),
        (status(401), StepState.UNKNOWN, "refused", "HTTP 401", None),
        (status(404, b"no such route"), StepState.UNKNOWN, "refused", "HTTP 404: no such route", None),
        (status(429, Retry_After="7"), StepState.UNKNOWN, "refused", "HTTP 429", 7.0),
        (status(500, b'{"detail": "oops"}'), StepState.UNKNOWN, "server_error", "HTTP 500: oops", None),
        (status(503, Retry_After="9"), StepState.UNKNOWN, "server_error", "HTTP 503", 9.0),
    ],
)
def test_what_each_answer_means(
    receiver: Receiver, answer: Answer, state: StepState, call: str, message: str | None, again_s: float | None
) -> None:
    receiver.answer = answer
    (outcome,) = actuator(receiver.url).perform(steps())
    assert (outcome.state, outcome.call, outcome.message, outcome.ask_again_s) == (state, call, message, again_s)
    assert outcome.poll_s == (15.0 if call == "accepted" else None)


def test_a_redirect_is_not_followed(receiver: Receiver) -> None:
    receiver.answer = status(307, Location=receiver.url + "/elsewhere")
    (outcome,) = actuator(receiver.url).perform(steps())
    assert (outcome.state, outcome.call) == (StepState.UNKNOWN, "redirect")
    assert len(receiver.bodies) == 1


def test_messages_are_bounded_and_one_line(receiver: Receiver) -> None:
    receiver.answer = status(422, b"x\r\n\x00" * 100_000)
    (outcome,) = actuator(receiver.url).perform(steps())
    assert outcome.state is StepState.FAILED
    assert outcome.message is not None
    assert len(outcome.message) < 600
    assert outcome.message.isprintable()


def hang(receiver: Receiver) -> Answer:
    return lambda handler: (receiver.over.wait(60), None)[1]


def drip(receiver: Receiver) -> Answer:
    """Send a byte now and then: each read is quick, but the whole never ends."""

    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.wfile.write(b"HTTP/1.1 200 OK\r\nX-Slow: ")
        while not receiver.over.wait(0.05):
            handler.wfile.write(b"z")

    return answer


def garbage(receiver: Receiver) -> Answer:
    return lambda handler: (handler.wfile.write(b"\x00\xff not HTTP at all\r\n\r\n"), None)[1]


@pytest.mark.parametrize(
    ("misbehave", "timeout_s", "call"), [(hang, 0.3, "timeout"), (drip, 0.3, "timeout"), (garbage, 60, "unreadable")]
)
def test_what_hangs_drips_or_babbles_blames_no_server(
    receiver: Receiver, misbehave: Callable[[Receiver], Answer], timeout_s: float, call: str
) -> None:
    receiver.answer = misbehave(receiver)
    (outcome,) = actuator(receiver.url, PLIMSOLL_WEBHOOK_TIMEOUT_S=timeout_s).perform(steps())
    assert (outcome.state, outcome.call) == (StepState.UNKNOWN, call)
    assert outcome.message


def test_nobody_there(receiver: Receiver) -> None:
    with socket.socket() as taken:  # bound and not listening: a connection is refused
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/"
        (outcome,) = actuator(url).perform(steps())
    assert (outcome.state, outcome.call) == (StepState.UNKNOWN, "unreachable")


def test_a_dead_receiver_is_not_asked_for_every_step(receiver: Receiver) -> None:
    receiver.answer = hang(receiver)
    outcomes = actuator(
        receiver.url, PLIMSOLL_WEBHOOK_TIMEOUT_S=0.3, PLIMSOLL_WEBHOOK_PARALLEL=4, PLIMSOLL_WEBHOOK_TICK_S=60
    ).perform(steps(100))
    assert len(outcomes) == 100
    assert [outcome.call for outcome in outcomes[:4]] == ["timeout"] * 4
    assert all(outcome.state is StepState.NOT_ASKED for outcome in outcomes[8:])
    assert len(receiver.bodies) <= 8


def test_a_tick_ends_in_time_and_leaves_the_rest_for_the_next(receiver: Receiver) -> None:
    def slow(handler: BaseHTTPRequestHandler) -> None:
        receiver.over.wait(0.15)
        status(200)(handler)

    receiver.answer = slow
    outcomes = actuator(receiver.url, PLIMSOLL_WEBHOOK_PARALLEL=4, PLIMSOLL_WEBHOOK_TICK_S=0.5).perform(steps(200))
    states = [outcome.state for outcome in outcomes]
    done = states.count(StepState.DONE)
    assert 4 <= done < 200, "the sum of the answers' times would be 7.5 s"
    assert all(first is StepState.DONE or second is StepState.NOT_ASKED for first, second in pairwise(states))
    assert receiver.at_a_time <= 4


def test_one_bad_answer_does_not_stop_the_others(receiver: Receiver) -> None:
    def some(handler: BaseHTTPRequestHandler) -> None:
        status(500 if handler.headers["Idempotency-Key"].startswith("3/") else 200)(handler)

    receiver.answer = some
    outcomes = actuator(receiver.url).perform(steps(10))
    assert [o.state for o in outcomes].count(StepState.DONE) == 9
    assert outcomes[2].state is StepState.UNKNOWN


def test_the_receiver_in_the_docs_does_what_they_say(monkeypatch: pytest.MonkeyPatch) -> None:
    page = (Path(__file__).parents[3] / "docs" / "webhook.md").read_text()
    code = page.split("```python\n")[1].split("```")[0]
    program, _, last = code.rstrip().rpartition("\n")
    assert last.endswith(".serve_forever()")
    monkeypatch.setenv("SECRET", SECRET)
    jobs = {"1/clean/2": (True, ""), "2/clean/2": (False, "no disk"), "3/clean/2": (False, "")}

    def start_or_find(key: str, step: dict) -> SimpleNamespace:
        done, error = jobs[key]
        return SimpleNamespace(done=done, failed=bool(error), error=error)

    names: dict = {"start_or_find": start_or_find}
    exec(program, names)
    names["Receiver"].log_message = lambda *arguments: None
    with ThreadingHTTPServer(("127.0.0.1", 0), names["Receiver"]) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        url = f"http://127.0.0.1:{server.server_address[1]}/"
        outcomes = actuator(url).perform(steps(3))
        (refused,) = actuator(url, PLIMSOLL_WEBHOOK_SECRET=NEXT).perform(steps())
        server.shutdown()
        thread.join()
    assert [outcome.call for outcome in outcomes] == ["done", "failed", "accepted"]
    assert outcomes[1].message == "HTTP 422: no disk"
    assert refused.call == "refused"
