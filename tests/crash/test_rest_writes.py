"""Kill the API during a write, repeat the write with its key, and check that it took effect once."""

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

ROOT = Path(__file__).parents[2]
KEY = {"Idempotency-Key": "once"}
CREATE = {"region": "west", "name": "web", "owner": "web-team", "spec": {"count": 1, "hardware_types": ["hw-a"]}}


@pytest.mark.parametrize("point", sorted(f"{stem}.{side}" for stem in IN_REST for side in ("before", "after")))
def test_a_write_that_is_sent_again_is_done_once(point: str, database_url: str, tmp_path: Path) -> None:
    database = Database(database_url, pool_size=1)
    with database.write() as tx:
        ensure_admin_token(tx, tmp_path / "token", now=datetime.now(UTC))
        import_region(tx, region_image(), actor="test", now=datetime.now(UTC))
    headers = {"Authorization": f"Bearer {(tmp_path / 'token').read_text().strip()}", **KEY}
    with listen() as sock, httpx.Client(timeout=240, trust_env=False) as client:
        url = f"http://127.0.0.1:{sock.getsockname()[1]}"

        def send() -> httpx.Response:
            if point.startswith("web.write"):
                return client.post(f"{url}/v1/reservations", json=CREATE, headers=headers)
            files = {name.partition(".")[0]: (name, c) for name, c in dump_region(region_image("east")).items()}
            return client.post(f"{url}/v1/regions/east/import", files=files, headers=headers)

        with api(tmp_path, database_url, sock, PLIMSOLL_CRASH_AT=point) as process:
            with pytest.raises(httpx.TransportError):
                send()
            wait_until(lambda: process.exit_status() is not None, "the API is dead")
        with api(tmp_path, database_url, sock):
            answers = [send(), send()]
            listed = client.get(f"{url}/v1/capacity-requests", headers=headers).json()["items"]
            regions = client.get(f"{url}/v1/regions", headers=headers).json()["items"]
    database.close()
    assert answers[0].is_success, answers[0].text
    assert answers[0].json() == answers[1].json()
    assert ("idempotency-replayed" in answers[0].headers) is (point == "web.write.after")
    made = len(listed) if point.startswith("web.write") else len(regions) - 1
    assert made == 1
