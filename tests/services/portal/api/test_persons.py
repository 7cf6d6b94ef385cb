"""Four eyes compare persons: a login, and the tokens that belong to it, are one."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from libs.domain.principal import Role
from libs.identity.identity import Identity
from libs.reconcile.clock import SystemClock
from libs.store.platform.audit import list_entries
from libs.store.platform.database import Database
from libs.web.app import create_app
from services.portal.api import ROUTERS
from tests.builders.issuer import LoopbackIssuer
from tests.libs.identity.conftest import RingOnDemand, file_of
from tests.libs.web.conftest import bearer
from tests.services.portal.api.test_approvals import decide, set_limits, waiting
from tests.services.portal.conftest import create
from tests.services.portal.reconcilers.test_assess_capacity_request import ask, assess


@pytest.fixture
def issuer() -> Iterator[LoopbackIssuer]:
    with LoopbackIssuer() as issuer:
        yield issuer


@pytest.fixture
def app(issuer: LoopbackIssuer, database: Database, tmp_path: Path):
    path = tmp_path / "issuers.yaml"
    path.write_text(file_of(issuer.url))
    return create_app(
        title="Portal",
        version="1",
        database=database,
        clock=SystemClock(),
        routers=ROUTERS,
        identity=Identity(path, make_ring=RingOnDemand),
    )


@pytest.fixture
def rita(app, issuer: LoopbackIssuer) -> Iterator[TestClient]:
    headers = {"Authorization": f"Bearer {issuer.token('rita', groups=['plimsoll-admins'])}"}
    with TestClient(app, headers=headers) as client:
        yield client


def with_token(client: TestClient, secret: str) -> TestClient:
    return TestClient(client.app, headers={"Authorization": f"Bearer {secret}"})


def make(client: TestClient, name: str, **more: object) -> dict[str, object]:
    answer = client.post("/v1/tokens", json={"name": name, "role": "operator", **more})
    assert answer.status_code == 201, answer.text
    return answer.json()


def test_nobody_approves_with_a_token_what_they_asked_for_by_login(rita, admin, database: Database) -> None:
    set_limits(admin, size_cost_units=5, four_eyes=True)
    request_id = ask(rita)
    assess(database, request_id)
    assert waiting(admin)["asked_by"] == ["corp|rita"]
    own = make(rita, "ritas-script")
    assert own["person"] == "corp|rita"
    for client in (rita, with_token(rita, str(own["secret"]))):
        answer = decide(client, waiting(admin), "approve")
        assert (answer.status_code, answer.json()["code"]) == (403, "four_eyes")
        assert "corp|rita asked for this" in answer.json()["detail"]
    approved = decide(
        with_token(rita, str(make(rita, "ottos", person="corp|otto")["secret"])), waiting(admin), "approve"
    )
    assert approved.status_code == 200
    with database.snapshot() as tx:
        [entry] = list_entries(tx, subject_kind="approval", actor="ottos").items
        made = list_entries(tx, subject_kind="token", person="corp|rita").items
    assert (entry.action, entry.person) == ("approve", "corp|otto")
    assert [one.actor for one in made] == ["corp|rita"] * 2


def test_a_token_that_is_given_to_a_person_is_that_person(rita, admin, database: Database) -> None:
    set_limits(admin, size_cost_units=5, four_eyes=True)
    shared = make(admin, "shared")
    assert shared["person"] is None
    script = with_token(rita, str(shared["secret"]))
    assess(database, ask(script))
    url, match = f"/v1/tokens/{shared['token_id']}", {"If-Match": f'"{shared["generation"]}"'}
    assert admin.patch(url, json={}, headers=match).status_code == 422
    assert admin.patch(url, json={"owners": [], "person": "corp|rita"}, headers=match).status_code == 422
    given = admin.patch(url, json={"person": "corp|rita"}, headers=match)
    assert (given.status_code, given.json()["person"]) == (200, "corp|rita")
    assert decide(rita, waiting(admin), "approve").json()["code"] == "four_eyes"
    assert script.get("/v1/whoami").json()["person"] == "corp|rita"
    with database.snapshot() as tx:
        *_, entry = list_entries(tx, subject_kind="token").items
    assert (entry.action, entry.after and entry.after["person"]) == ("set_person", "corp|rita")


def test_a_token_of_a_person_makes_tokens_of_that_person(rita) -> None:
    first = make(rita, "first", role="admin")
    assert make(with_token(rita, str(first["secret"])), "second")["person"] == "corp|rita"


def test_a_login_acts_for_its_owners_alone(app, issuer: LoopbackIssuer) -> None:
    headers = {"Authorization": f"Bearer {issuer.token('ina', groups=['capacity-one'])}"}
    with TestClient(app, headers=headers) as ina:
        assert ina.post("/v1/capacity-requests?dry_run=true", json=create(owner="one")).status_code == 200
        answer = ina.post("/v1/capacity-requests", json=create(owner="two"))
    assert (answer.status_code, answer.json()["code"]) == (403, "not_an_owner")
    assert "the rules of the issuers' file decide that" in answer.json()["detail"]


def test_a_session_is_of_a_login_or_of_a_token(rita) -> None:
    who = with_token(rita, rita.post("/v1/sessions").json()["secret"]).get("/v1/whoami").json()
    assert (who["person"], who["token_id"], who["session"] is None) == ("corp|rita", None, False)
    own = with_token(rita, str(make(rita, "ritas-browser")["secret"]))
    who = with_token(rita, own.post("/v1/sessions").json()["secret"]).get("/v1/whoami").json()
    assert (who["person"], who["session"] is None) == ("corp|rita", False)


def test_a_login_cannot_take_the_name_of_a_token(rita, database: Database) -> None:
    """Names of tokens have no |, so no admin can make a token that acts under the name of a login."""
    assert rita.post("/v1/tokens", json={"name": "corp|otto", "role": "viewer"}).status_code == 422
    assert bearer(database, Role.VIEWER, "corp-otto")
