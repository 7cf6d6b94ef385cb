"""usage and traffic as files: measurements of a world, from the arrays that models are fitted to."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from libs.domain.fleet import Floats, Names
from libs.domain.world import Observations, Vocabulary


def dump_observations(words: Vocabulary, seen: Observations) -> dict[str, bytes]:
    """usage.parquet and traffic.parquet; what was not reported has no row."""
    k = words.placement_service, words.placement_type
    used = _where(seen.usage)
    asked = _where(seen.traffic)
    return {
        "usage.parquet": _parquet(
            minute=seen.minute[used[2]].astype(np.float64),
            service=_names(words.services, k[0][used[0]]),
            region=_names(words.regions, used[1]),
            hardware_type=_names(words.hardware_types, k[1][used[0]]),
            used=seen.usage[used],
        ),
        "traffic.parquet": _parquet(
            minute=seen.minute[asked[2]].astype(np.float64),
            product=_names(words.products, asked[0]),
            region=_names(words.regions, asked[1]),
            requests_per_s=seen.traffic[asked],
        ),
    }


def _where(values: Floats) -> tuple[np.ndarray[tuple[int], np.dtype[np.intp]], ...]:
    return np.nonzero(~np.isnan(values))


def _names(names: Names, rows: np.ndarray[tuple[int], np.dtype[np.integer]]) -> pa.Array:
    return pa.DictionaryArray.from_arrays(pa.array(rows.astype(np.int32)), pa.array([str(name) for name in names]))


def _parquet(**columns: object) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table(columns), sink, compression="zstd")
    content: bytes = sink.getvalue().to_pybytes()
    return content
