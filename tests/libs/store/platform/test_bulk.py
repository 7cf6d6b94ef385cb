"""Columns that are read whole."""

import numpy as np
import pytest

from libs.store.platform.bulk import load_columns
from libs.store.platform.database import Database

KINDS = {"n": "i8", "small": "i4", "share": "f8", "even": "?", "name": "O"}
ROWS = """
    SELECT n, n::int AS small, n / 4.0::float8 AS share, mod(n, 2) = 0 AS even,
        CASE n WHEN 2 THEN NULL ELSE 'a,"b' || n END AS name
    FROM generate_series(-1, %(last)s::bigint) AS n ORDER BY n DESC"""


def test_columns_keep_their_order_values_and_types(database: Database) -> None:
    with database.snapshot() as tx:
        found = load_columns(tx, ROWS, {"last": 2}, KINDS)
    assert list(found) == list(KINDS)
    assert found["n"].tolist() == found["small"].tolist() == [2, 1, 0, -1]
    assert found["share"].tolist() == [0.5, 0.25, 0.0, -0.25]
    assert found["even"].tolist() == [True, False, True, False]
    assert found["name"].tolist() == [None, 'a,"b1', 'a,"b0', 'a,"b-1']
    assert all(column.flags.writeable and column.dtype == np.dtype(KINDS[name]) for name, column in found.items())


@pytest.mark.parametrize("name", KINDS)
def test_a_query_without_rows_has_empty_columns(name: str, database: Database) -> None:
    with database.snapshot() as tx:
        found = load_columns(tx, ROWS, {"last": -2}, KINDS)
    assert (found[name].shape, found[name].dtype) == ((0,), np.dtype(KINDS[name]))
