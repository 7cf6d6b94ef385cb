"""Write assignment.parquet: the reservation that a solve gives to each server."""

from __future__ import annotations

import io
import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from libs.domain.arrays import Indices, Names
from libs.domain.fleet import FleetSnapshot
from libs.interchange.files.atomic import replacing


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
