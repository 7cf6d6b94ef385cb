"""Between the region folder of the interchange format and the image that the store takes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from libs.domain.fleet import DELETED, Bools, Names, RegionImage
from libs.interchange.errors import InterchangeError, Problem
from libs.interchange.region import Region, load_region
from libs.interchange.region_files import dump_region

ROWS_MAX = {
    "servers.parquet": 1_000_000,
    "reservations.parquet": 20_000,
    "rru.parquet": 1_000_000,
    "affinity.parquet": 200_000,
}
"""A small Parquet file can unfold into more than the memory there is: these are looked up before anything is read."""


def read_folder(files: Mapping[str, BinaryIO], region: str) -> RegionImage:
    """The image of a region from the content of its files by name.

    Columns that the format leaves out: host profiles are `default`, owners `unknown`, reservations guaranteed and
    counted in RRU. Raises InterchangeError.
    """
    for name, rows_max in ROWS_MAX.items():
        _require_rows(name, files[name], rows_max)
    found = load_region({**files}, name=region)
    snapshot = found.snapshot
    q = snapshot.reservations
    deleted = [a or b for a, b in zip(found.deleted_current, found.deleted_target, strict=True)]
    return RegionImage(
        snapshot=snapshot,
        server_host_profile=_filled(found.host_profile, len(snapshot.servers), "default"),
        server_deleted_binding=np.array(deleted, object),
        reservation_kind=_filled(found.kind, len(q), "guaranteed"),
        reservation_unit=np.full(len(q), "rru", object),
        reservation_owner=_filled(found.owner, len(q), "unknown"),
        reservation_host_profile=np.full(len(q), "default", object),
    )


def write_folder(image: RegionImage) -> dict[str, bytes]:
    """The content of each file of a region."""
    servers, deleted = image.snapshot.servers, image.server_deleted_binding
    return dump_region(
        Region(
            snapshot=image.snapshot,
            deleted_current=_only(deleted, servers.current == DELETED),
            deleted_target=_only(deleted, servers.target == DELETED),
            host_profile=image.server_host_profile,
            kind=image.reservation_kind,
            owner=image.reservation_owner,
        )
    )


def _require_rows(name: str, file: BinaryIO, rows_max: int) -> None:
    try:
        rows = pq.read_metadata(file).num_rows
    except (pa.ArrowException, OSError):
        return  # load_region says what is wrong with it
    finally:
        file.seek(0)
    if rows > rows_max:
        raise InterchangeError([Problem(name, None, None, f"has {rows} rows; at most {rows_max} are taken")])


def _filled(column: Names | None, length: int, absent: str) -> Names:
    if column is None:
        return np.full(length, absent, object)
    return np.array([absent if value is None else value for value in column], object)


def _only(names: Names, where: Bools) -> Names:
    kept = np.full(len(names), None, object)
    kept[where] = names[where]
    return kept
