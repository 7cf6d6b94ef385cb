"""Test `/v1/moves` over HTTP."""

from datetime import UTC, datetime

from fastapi.testclient import TestClient

from libs.domain.principal import Role
from libs.store.platform.database import Database
from libs.store.platform.tokens import create_token
from libs.web.app import create_app
from libs.web.auth import digest, new_secret
from services.mover.api.moves import router
from tests.builders.clock import ManualClock
from tests.builders.mover import SPECS, Mover
from tests.builders.region import region_image
from tests.builders.stored import stored


def client(database: Database, clock: ManualClock) -> TestClient:
    secret = new_secret()
    with database.write() as tx:
        create_token(tx, name="v", role=Role.VIEWER, secret_sha256=digest(secret), now=datetime.now(UTC))
    app = create_app(title="t", version="1", database=database, clock=clock, routers=[router])
    return TestClient(app, headers={"Authorization": f"Bearer {secret}"})


def test_moves_are_listed_and_told_with_their_history(database: Database, clock: ManualClock) -> None:
    stored(database, region_image(reservations=SPECS, target={"server-01": "web", "server-02": "db"}))
    mover = Mover(database, clock)
    mover.settle()
    http = client(database, clock)
    page = http.get("/v1/moves", params={"region": "west", "limit": 1}).json()
    assert [move["server"] for move in page["items"]] == ["server-01"]
    rest = http.get("/v1/moves", params={"region": "west", "cursor": page["next_cursor"]}).json()
    assert [(move["server"], move["status"]) for move in rest["items"]] == [("server-02", "done")]
    assert rest["next_cursor"] is None
    move = http.get(f"/v1/moves/{rest['items'][0]['move_id']}").json()
    assert [(record["step"], record["outcome"]) for record in move["history"]] == [
        ("host_profile", "done"),
        ("join", "done"),
    ]
    assert http.get("/v1/moves", params={"status": "running"}).json()["items"] == []
    assert http.get("/v1/moves", params={"server": "server-01"}).json()["items"][0]["to_reservation"] == "web"
    assert http.get("/v1/moves/999").status_code == 404
    assert http.get("/v1/moves", params={"region": "nowhere"}).status_code == 404
