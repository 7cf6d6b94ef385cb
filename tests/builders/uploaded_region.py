"""Upload a small region to the broker, and read it back by requests."""

import dataclasses
from collections.abc import Iterator

import numpy as np
from fastapi.testclient import TestClient

from libs.domain.region_image import RegionImage
from libs.domain.reservation import ReservationSpec
from libs.domain.rru_catalogue import ClassVersion, RegionCatalogue
from tests.builders.region import region_image
from tests.builders.stored import NOW

WEB = ReservationSpec(capacity_rru=2, rru={"hw-a": 1.0}, affinity={"dc-01": 0.5})
SERVING = ClassVersion(
    workload_class="serving",
    version=1,
    reference="hw-a",
    rru={"hw-a": 1.0, "hw-z": 2.0},
    asked_by=("ann",),
    approved_by="olga",
    reason="measured",
    created_at=NOW,
)


def image() -> RegionImage:
    return region_image(
        datacenters=2,
        reservations={"web": WEB},
        current={"server-00": "web", "server-04": "gone"},
        target={"server-00": "web", "server-05": "web"},
        in_use={"server-00"},
        down={"server-07"},
    )


def classed() -> RegionImage:
    """Return the region with a catalogue, whose class web follows."""
    catalogue = RegionCatalogue(cost_units={"hw-z": 1.5}, versions=(SERVING,))
    return dataclasses.replace(image(), catalogue=catalogue, reservation_class=np.array(["serving"], object))


def upload(client: TestClient, folder: dict[str, bytes], region: str = "west", **headers: str):
    files = {name.split(".")[0]: (name, content) for name, content in folder.items()}
    return client.post(f"/v1/regions/{region}/import", files=files, headers=headers)


def pages(client: TestClient, path: str, **query: object) -> Iterator[dict[str, object]]:
    cursor: dict[str, object] = {}
    while True:
        answer = client.get(path, params={**query, **cursor})
        assert answer.status_code == 200, answer.text
        yield from answer.json()["items"]
        if answer.json()["next_cursor"] is None:
            return
        cursor = {"cursor": answer.json()["next_cursor"]}


def server(client: TestClient, name: str) -> dict[str, object]:
    [found] = client.get("/v1/servers", params={"name": name, "region": "west"}).json()["items"]
    return found
