"""Kill the API during writes, repeat each write with its key, and check that it took effect once."""

from datetime import UTC, datetime
from pathlib import Path

import httpx
import pytest

from libs.interchange.region.write import dump_region
from libs.store.platform.database import Database
from libs.store.regions.region_import import import_region
from services.portal.admin_token import ensure_admin_token
from services.standalone.supervisor import listen
from tests.builders.region import region_image
from tests.crash.harness import api, wait_until
from tests.crash.test_crash_points import IN_REST

POINTS = sorted(f"{stem}.{side}" for stem in IN_REST for side in ("before", "after"))
SPEC = {"count": 1, "hardware_types": ["hw-a"]}


def test_a_write_that_is_sent_again_is_done_once(database_url: str, tmp_path: Path) -> None:
    """The API dies at each point, in a write of its own. Then it runs, and each write is sent twice more."""
    database = Database(database_url, pool_size=1)
    with database.write() as tx:
        ensure_admin_token(tx, tmp_path / "token", now=datetime.now(UTC))
        import_region(tx, region_image(), actor="test", now=datetime.now(UTC))
    headers = {"Authorization": f"Bearer {(tmp_path / 'token').read_text().strip()}"}
    with listen() as sock, httpx.Client(timeout=240, trust_env=False, headers=headers) as client:
        url = f"http://127.0.0.1:{sock.getsockname()[1]}/v1"

        def send(point: str) -> httpx.Response:
            key = {"Idempotency-Key": point}
            if point.startswith("web.write"):
                body = {"region": "west", "name": point, "owner": "web-team", "spec": SPEC}
                return client.post(f"{url}/reservations", json=body, headers=key)
            files = {name.partition(".")[0]: (name, c) for name, c in dump_region(region_image(point)).items()}
            return client.post(f"{url}/regions/{point}/import", files=files, headers=key)

        for point in POINTS:
            with api(tmp_path, database_url, sock, PLIMSOLL_CRASH_AT=point) as process:
                with pytest.raises(httpx.TransportError):
                    send(point)
                wait_until(lambda process=process: process.exit_status() is not None, f"the API is dead at {point}")
        with api(tmp_path, database_url, sock):
            answers = {point: [send(point), send(point)] for point in POINTS}
            requests = client.get(f"{url}/capacity-requests").json()["items"]
            regions = client.get(f"{url}/regions").json()["items"]
    database.close()
    for point, (first, second) in answers.items():
        assert first.is_success, first.text
        assert first.json() == second.json()
        assert ("idempotency-replayed" in first.headers) is (point == "web.write.after")
    made = [*(one["reservation"] for one in requests), *(one["name"] for one in regions if one["name"] != "west")]
    assert sorted(made) == POINTS
