import pytest

from libs.actuators.signature import SIGNATURE, Call, is_signed
from libs.carriers.calls import CallLimits
from libs.carriers.portal import PortalCarrier, Portals
from libs.carriers.simulated import SimulatedCarrier, SimulatedCarrierSettings
from libs.carriers.unset import NoCarrier
from libs.carriers.webhook import TrafficWebhook, TrafficWebhookSettings
from libs.domain.action_outcome import ActionRequest, Outcome
from libs.domain.execution_plan import Action, Phase
from libs.domain.service_reservation import ServiceReservation
from tests.builders.clock import ManualClock
from tests.builders.http_system import HttpSystem

SECRET = "0123456789abcdef"
RESIZE = Action(
    action="upsize/web/east/hw", phase=Phase.UPSIZE, service="web", region="east", hardware_type="hw", before=5, after=8
)
SHIFT = Action(action="shift/shop/a/b", phase=Phase.SHIFT, product="shop", region="a", to_region="b", after=0.2)
ROW = ServiceReservation(
    service="web", hardware_type="hw", region=None, reservation="web", rru_per_unit=2.0, headroom=0.25
)


def request(action, fraction=1.0, attempt=1, **changes):
    size = changes.get("size", action.after)
    return ActionRequest(
        key=f"1/{action.action}/{attempt}", action=action, fraction=fraction, size=size, requested_s=0.0
    )


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (200, Outcome.DONE),
        (202, Outcome.RUNNING),
        (400, Outcome.FAILED),
        (409, Outcome.FAILED),
        (401, Outcome.UNKNOWN),
        (429, Outcome.UNKNOWN),
        (500, Outcome.UNKNOWN),
        (302, Outcome.UNKNOWN),
    ],
)
def test_the_receiver_of_traffic_is_told_a_share_and_heard(status, expected):
    with HttpSystem(lambda asked: (status, {"message": "well"})) as system:
        settings = {"PLIMSOLL_TRAFFIC_URL": system.url + "/t", "PLIMSOLL_TRAFFIC_SECRET": SECRET}
        carrier = TrafficWebhook(TrafficWebhookSettings.model_validate(settings))
        (answer,) = carrier.perform([request(SHIFT, fraction=0.25, attempt=3)])
    (asked,) = system.asked
    assert answer.outcome is expected
    assert asked.json()["share"] == pytest.approx(0.05)
    call = Call(method="POST", target="/t", key="1/shift/shop/a/b/3", body=asked.body)
    at_s = int(asked.headers[SIGNATURE].split(",")[0].removeprefix("t="))
    assert is_signed(asked.headers[SIGNATURE], call, [SECRET.encode()], now_s=at_s)
    assert asked.headers["Idempotency-Key"] == call.key


def test_an_unreachable_system_says_nothing():
    settings = {"PLIMSOLL_TRAFFIC_URL": "http://127.0.0.1:9/t", "PLIMSOLL_TRAFFIC_SECRET": SECRET}
    (answer,) = TrafficWebhook(TrafficWebhookSettings.model_validate(settings)).perform([request(SHIFT)])
    assert answer.outcome is Outcome.UNKNOWN


class Portal:
    """A portal with one reservation. It repeats the answer to a key."""

    def __init__(self):
        self.rru, self.ready, self.phase, self.fails = 10.0, False, "granted", []
        self.requests: dict[str, dict] = {}

    def __call__(self, asked):
        if self.fails:
            return self.fails.pop(0)
        if asked.method == "POST":
            key = asked.headers["Idempotency-Key"]
            known = key in self.requests
            self.requests.setdefault(key, asked.json())
            if not known and self.phase == "granted":
                self.rru = asked.json()["spec"]["capacity_rru"]
            return 201, {"capacity_request_id": 7, "status": {"phase": "submitted", "message": None}}
        if asked.path.startswith("/v1/capacity-requests/7"):
            return 200, {"capacity_request_id": 7, "status": {"phase": self.phase, "message": "because"}}
        ready = {"type": "Ready", "status": "True" if self.ready else "False", "message": "3 servers to come"}
        return 200, {"items": [{"spec": {"capacity_rru": self.rru}, "status": {"conditions": [ready]}}]}


@pytest.fixture
def portal(tmp_path):
    (tmp_path / "token").write_text("secret\n")
    portal = Portal()
    with HttpSystem(portal) as system:
        address = {"url": system.url, "token_file": tmp_path / "token"}
        portals = Portals.model_validate({"regions": {"east": address}})
        portal.system, portal.portals = system, portals
        portal.carrier = PortalCarrier(portals, [ROW], CallLimits(timeout_s=5.0))
        yield portal


def ask(portal, attempt=1, action=RESIZE, **changes):
    return portal.carrier.perform([request(action, attempt=attempt, **changes)])[0]


def test_a_reservation_is_resized_once_and_waited_for(portal):
    assert ask(portal).outcome is Outcome.RUNNING
    assert portal.rru == 8 * 2.0 * 1.25
    assert (ask(portal).outcome, ask(portal).message) == (Outcome.RUNNING, "3 servers to come")
    portal.ready = True
    assert ask(portal).outcome is Outcome.DONE
    assert list(portal.requests) == ["1/upsize/web/east/hw/1"]
    assert {asked.headers["Authorization"] for asked in portal.system.asked} == {"Bearer secret"}


def test_an_undecided_request_is_asked_for_again_under_the_same_key(portal):
    portal.phase = "awaiting_approval"
    for _ in range(3):
        answer = ask(portal)
        assert (answer.outcome, answer.message) == (Outcome.RUNNING, "request 7 is awaiting_approval: because")
    assert len(portal.requests) == 1
    portal.phase = "rejected"
    assert (ask(portal).outcome, ask(portal).message) == (Outcome.FAILED, "request 7 is rejected: because")
    ask(portal, attempt=2)
    assert len(portal.requests) == 2


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ((500, {}), Outcome.UNKNOWN),
        ((503, {"detail": "later"}), Outcome.UNKNOWN),
        ((401, {}), Outcome.UNKNOWN),
        ((409, {"code": "stale_generation"}), Outcome.UNKNOWN),
        ((409, {"code": "quota_exceeded", "detail": "no"}), Outcome.FAILED),
        ((422, {}), Outcome.FAILED),
    ],
)
def test_other_answers_of_the_portal(portal, reply, expected):
    for passed in range(2):  # the first call of a request, and the second
        portal.fails = [(200, {"items": [{"spec": {"capacity_rru": 1.0}, "status": {"conditions": []}}]})] * passed
        portal.fails.append(reply)
        assert ask(portal).outcome is expected
    assert ask(portal).outcome is Outcome.RUNNING


def test_what_the_portal_cannot_know_is_said(portal):
    other = Action(action="x", phase=Phase.UPSIZE, service="web", region="west", hardware_type="hw", after=1.0)
    assert "PLIMSOLL_PORTALS" in ask(portal, action=other).message
    unknown = Action(action="x", phase=Phase.UPSIZE, service="db", region="east", hardware_type="hw", after=1.0)
    assert "service_reservations has no row" in ask(portal, action=unknown).message
    assert ask(portal, size=0.0).outcome is Outcome.FAILED
    shared = ServiceReservation(
        service="db", hardware_type="hw", region=None, reservation="web", rru_per_unit=1.0, headroom=0.0
    )
    portal.carrier = PortalCarrier(portal.portals, [ROW, shared], CallLimits())
    assert "several services" in ask(portal).message
    portal.carrier = PortalCarrier(portal.portals, [ROW], CallLimits())
    portal.fails = [(200, {"items": []})]
    assert ask(portal).outcome is Outcome.FAILED


def test_the_simulated_carrier_takes_its_time():
    clock = ManualClock()
    settings = SimulatedCarrierSettings.model_validate({"PLIMSOLL_SIMULATED_ACTION_S": 30})
    carrier = SimulatedCarrier(clock, settings)
    one = ActionRequest(key="k", action=SHIFT, fraction=1.0, size=0.0, requested_s=clock.now().timestamp())
    assert carrier.perform([one])[0].outcome is Outcome.RUNNING
    clock.sleep(30)
    assert carrier.perform([one])[0].outcome is Outcome.DONE


def test_without_a_carrier_it_says_what_to_set():
    assert "PLIMSOLL_X" in NoCarrier("PLIMSOLL_X").perform([request(SHIFT)])[0].message
