"""The region north: 72 servers of four types in six MSBs, of which two owners have reserved some."""

from __future__ import annotations

from typing import TYPE_CHECKING

from libs.domain.policy import RegionPolicy
from libs.interchange.region.write import dump_region
from tests.builders.region import region_image

if TYPE_CHECKING:
    from tests.questions.ask import Ask

TYPES = ("hw-01", "hw-04", "hw-05", "hw-06")
CACHE = {"hw-04": 1.0, "hw-05": 1.2}
DB = {"hw-04": 1.0}
QUOTA = 24
WEB = {"hw-01": 1.0, "hw-06": 1.5}
"""The class web of the catalogue."""


def add_north(ask: Ask) -> None:
    """Import the region, and let its reservations get their servers."""
    image = region_image(
        "north", datacenters=2, msbs=6, racks_per_msb=4, servers_per_rack=3, hardware_types=TYPES, policy=RegionPolicy()
    )
    files = {file.partition(".")[0]: (file, content) for file, content in dump_region(image).items()}
    answer = ask._http.post("/v1/regions/north/import", files=files)
    assert answer.is_success, answer.text
    for name, owner, capacity, rru, survives in (
        ("cache", "shop", 8, CACHE, True),
        ("db", "bank", 6, DB, False),
    ):
        spec = {"capacity_rru": capacity, "rru": rru, "survives_msb_loss": survives}
        ask.write("POST", "/v1/reservations", {"region": "north", "name": name, "owner": owner, "spec": spec})
    ask.world.live(4)
    ask.write("PUT", "/v1/quotas/north/shop", {"limit_cost_units": QUOTA, "reason": "budget"}, **{"If-Match": '"0"'})
    version = {"reference": "hw-01", "rru": WEB, "reason": "measured"}
    ask.write("PUT", "/v1/regions/north/rru-classes/web", version, **{"If-Match": '"0"'})
    [waiting] = ask.get("/v1/approvals", region="north", status="pending")["items"]
    path = f"/v1/approvals/{waiting['approval_id']}"
    generation = {"If-Match": f'"{waiting["generation"]}"'}
    ask.write("POST", f"{path}/approve", {"reason": "agreed"}, **generation)
    ask.world.live(6)
