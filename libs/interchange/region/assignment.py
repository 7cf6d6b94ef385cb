"""Read and write assignment.parquet: the reservation that a solve gives to each server."""

from __future__ import annotations

import io
import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from libs.domain.arrays import Indices, Names
from libs.domain.fleet import FREE, FleetSnapshot
from libs.interchange.files.atomic import replacing
from libs.interchange.files.errors import Problems
from libs.interchange.files.tables import Content, Table

FILE = "assignment.parquet"


def dump_assignment(snapshot: FleetSnapshot, target: Indices) -> bytes:
    """Return the file: columns server and reservation (null: free), one row per server of the snapshot."""
    reservation: Names = np.full(len(target), None, object)
    bound = target >= 0
    reservation[bound] = snapshot.reservations.name[target[bound]]
    stream = io.BytesIO()
    table = pa.table(
        {"server": pa.array(snapshot.servers.name, pa.string()), "reservation": pa.array(reservation, pa.string())}
    )
    pq.write_table(table, stream, compression="zstd")
    return stream.getvalue()


def save_assignment(path: str | os.PathLike[str], snapshot: FleetSnapshot, target: Indices) -> None:
    """Write an assignment (S,) atomically."""
    with replacing(Path(path)) as stream:
        stream.write(dump_assignment(snapshot, target))


def load_assignment(content: Content, snapshot: FleetSnapshot) -> Indices:
    """Return the (S,) int index of each server's reservation, or FREE. A server without a row is free.

    Raises InterchangeError for unknown servers or reservations, and for a server that appears twice.
    """
    problems = Problems()
    table = Table({FILE: content}, FILE, problems, fields=("server", "reservation"))
    server = table.references("server", snapshot.servers.name, "server")
    reservation = table.references("reservation", snapshot.reservations.name, "reservation", nullable=True)
    table.unique("server", server.astype(np.int64), "this server")
    problems.raise_any()
    target = np.full(len(snapshot.servers), FREE, np.int32)
    target[server] = reservation
    return target
