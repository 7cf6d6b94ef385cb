"""Ask a platform by command line and by REST, and read the ground truth from its tables."""

from __future__ import annotations

import io
import json
import os
import zipfile
from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import sqlalchemy as sa

from libs.domain.fleet import FleetSnapshot
from libs.domain.reservation import ReservationSpec
from libs.domain.what_if import with_reservation
from libs.interchange.region.read import load_region
from libs.ras.single_reservation import with_servers
from libs.ras.solve import plan_target_bindings
from tests.builders.command_line import Plimsoll
from tests.builders.pages_world import PagesWorld

Row = dict[str, Any]


class Ask:
    """A platform to ask, as its admin."""

    def __init__(self, world: PagesWorld, home: Path) -> None:
        self.world = world
        kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG", "TMPDIR") if name in os.environ}
        env = {"PLIMSOLL_URL": world.platform.url, "PLIMSOLL_TOKEN": world.admin, "COLUMNS": "200"}
        self._plimsoll = Plimsoll({**kept, **env, "PLIMSOLL_STATE_DIR": str(home)})
        self._http = world.client(world.admin)

    def close(self) -> None:
        self._plimsoll.close()
        self._http.close()

    def cli(self, *arguments: object, status: int = 0) -> Any:
        """Run a command, and return its JSON."""
        return json.loads(self.text(*arguments, "--output", "json", status=status))

    def text(self, *arguments: object, status: int = 0) -> str:
        """Run a command, and return what a person reads."""
        done = self._plimsoll(*arguments)
        assert done.returncode == status, done.stdout + done.stderr
        return done.stdout

    def get(self, path: str, **query: object) -> Any:
        answer = self._http.get(path, params={name: value for name, value in query.items() if value is not None})
        assert answer.is_success, answer.text
        return answer.json()

    def write(self, method: str, path: str, body: object = None, **headers: str) -> Any:
        answer = self._http.request(method, path, json=body, headers=headers)
        assert answer.is_success, answer.text
        return answer.json() if answer.content else None

    def simulate(self, *arguments: object) -> Row:
        """Run `plimsoll simulate` without waiting, let the platform work, and return the simulation."""
        asked = self.cli("simulate", *arguments, "--wait", 0)
        self.world.platform.tick()
        found: Row = self.cli("get", "simulations", asked["simulation_id"])
        assert found["status"] == "done", found
        return found

    def rows(self, query: str, **values: object) -> list[Row]:
        """Return rows of the tables."""
        with self.world.platform.database.snapshot() as tx:
            return [dict(row) for row in tx.execute(sa.text(query), values).mappings()]

    def change(self, statement: str, **values: object) -> None:
        """Change the tables, where no request could."""
        with self.world.platform.database.write() as tx:
            tx.execute(sa.text(statement), values)

    def servers(self, region: str) -> list[Row]:
        """Return the servers of a region: name, msb, rack, type, current, target (None: free), in_use, up."""
        return self.rows(
            """
            SELECT s.server_id, s.name, msbs.name AS msb, racks.name AS rack, t.name AS type, c.name AS current,
                   w.name AS target, s.in_use, s.unavailability <> 'unplanned' AS up,
                   s.unavailability = 'none' AS well
            FROM servers s JOIN racks USING (rack_id) JOIN msbs USING (msb_id)
            JOIN hardware_types t ON t.hardware_type_id = s.hardware_type_id
            JOIN regions ON regions.region_id = s.region_id
            LEFT JOIN reservations c ON c.reservation_id = s.current_reservation_id
            LEFT JOIN reservations w ON w.reservation_id = s.target_reservation_id
            WHERE regions.name = :region AND s.decommissioned_at IS NULL ORDER BY s.server_id""",
            region=region,
        )

    def exported(self, region: str) -> FleetSnapshot:
        """Return a region as `plimsoll export` gives it."""
        answer = self._http.get(f"/v1/regions/{region}/export")
        files = zipfile.ZipFile(io.BytesIO(answer.content))
        return load_region({name: files.read(name) for name in files.namelist()}, name=region).snapshot


def surviving_rru(servers: list[Row], rru: Mapping[str, float], *, survives: bool = True) -> float:
    """Return the RRU of servers, without the MSB that has most of it if the loss of an MSB must be survived."""
    by_msb: dict[str, float] = {}
    for one in servers:
        by_msb[one["msb"]] = by_msb.get(one["msb"], 0.0) + rru.get(one["type"], 0.0)
    return sum(by_msb.values()) - (max(by_msb.values(), default=0.0) if survives else 0.0)


def solved_with_free(snapshot: FleetSnapshot, name: str, spec: ReservationSpec) -> list[Row]:
    """Solve a region for one reservation that may use free servers only, and return the servers that it gets."""
    free = np.flatnonzero((snapshot.servers.target < 0) & snapshot.servers.available).astype(np.int32)
    asked, row = with_reservation(with_servers(snapshot, free), name, spec)
    alone = replace(
        asked,
        reservations=asked.reservations.__class__(
            **{
                field.name: getattr(asked.reservations, field.name)[row : row + 1]
                for field in fields(asked.reservations)
            }
        ),
    )
    target = plan_target_bindings(alone).plan.target
    msb, kind = alone.topology.msbs[alone.server_msb], alone.hardware_types[alone.servers.hardware_type]
    return [{"msb": msb[s], "type": kind[s]} for s in np.flatnonzero(target == 0)]
