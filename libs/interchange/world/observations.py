"""Write usage and traffic, the measurements of a world, from the arrays that models are fitted to."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from libs.domain.arrays import Floats, Ints, Names
from libs.domain.world import Observations, Vocabulary

_GROUP_ROWS = 1_000_000
"""Number of cells in a Parquet row group. It bounds the memory in addition to the arrays and the file."""


def dump_observations(words: Vocabulary, seen: Observations) -> dict[str, bytes]:
    """Return usage.parquet and traffic.parquet. A value that was not reported has no row."""
    service, kind = words.services[words.placement_service], words.hardware_types[words.placement_type]
    return {
        "usage.parquet": _table(
            "used", {"service": service, "hardware_type": kind}, words.regions, seen.minute, seen.usage
        ),
        "traffic.parquet": _table(
            "requests_per_s", {"product": words.products}, words.regions, seen.minute, seen.traffic
        ),
    }


def _table(value: str, of: dict[str, Names], regions: Names, minute: Ints, cube: Floats) -> bytes:
    """Return a table with a row for each cell of (A, R, M) that is not nan; `of` has the names of the first axis."""
    names = pa.dictionary(pa.int32(), pa.string())
    schema = pa.schema([("minute", pa.float64()), *((n, names) for n in of), ("region", names), (value, pa.float64())])
    sink = pa.BufferOutputStream()
    each = max(1, _GROUP_ROWS // max(1, cube[0].size)) if len(cube) else 1
    with pq.ParquetWriter(sink, schema, compression="zstd") as writer:
        for first in range(0, len(cube), each):
            part = cube[first : first + each]
            a, r, m = np.nonzero(~np.isnan(part))
            columns = {
                "minute": minute[m].astype(np.float64),
                **{name: _dictionary(labels, a + first) for name, labels in of.items()},
                "region": _dictionary(regions, r),
                value: part[a, r, m],
            }
            writer.write_table(pa.table(columns, schema))
    content: bytes = sink.getvalue().to_pybytes()
    return content


def _dictionary(names: Names, rows: np.ndarray[tuple[int], np.dtype[np.intp]]) -> pa.Array:
    distinct, code = np.unique([str(name) for name in names], return_inverse=True)
    return pa.DictionaryArray.from_arrays(pa.array(code[rows].astype(np.int32)), pa.array(distinct.tolist()))
