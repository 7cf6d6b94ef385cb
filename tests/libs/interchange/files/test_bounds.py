"""Refuse small files that would unfold into more than the memory."""

import io
import random
import threading

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from libs.interchange.bundles.solve import bundle_of, load_bundle, save_bundle
from libs.interchange.files import bounds
from libs.interchange.files.errors import InterchangeError
from libs.interchange.region.read import load_region
from libs.interchange.region.write import dump_region, image_of
from tests.builders.random_region import random_region

S = "servers.parquet"


@pytest.fixture
def snapshot():
    return random_region(np.random.default_rng(0), 20, 3)


@pytest.fixture
def files(snapshot):
    return dump_region(image_of(snapshot))


def refusal(files):
    with pytest.raises(InterchangeError) as caught:
        load_region(files)
    return str(caught.value)


def with_column(content, name, values, **options):
    table, stream = pq.read_table(io.BytesIO(content)), io.BytesIO()
    position = table.column_names.index(name)
    pq.write_table(table.set_column(position, name, values), stream, **options)
    return stream.getvalue()


@pytest.mark.parametrize("file", [S, "reservations.parquet", "rru.parquet"])
def test_rows_are_bounded(files, file, monkeypatch):
    monkeypatch.setitem(bounds.ROWS_MAX, file, 2)
    assert "rows; at most 2 are allowed" in refusal(files)


def test_what_the_footer_says_of_the_size_is_looked_at_first(files, monkeypatch):
    monkeypatch.setattr(bounds, "FILE_BYTES_MAX", 100)
    assert f"{S}: holds 0 MiB once decompressed" in refusal(files)


def test_a_long_name_that_many_rows_share_is_never_unfolded(files):
    """A million rows share a name of a million characters: 50 kilobytes in the file, a terabyte unfolded."""
    rows = 1_000_000
    shared = pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows, np.int32)), pa.array(["x" * 1_000_000]))
    table, stream = pq.read_table(io.BytesIO(files[S])), io.BytesIO()
    columns = {name: pa.repeat(table.column(name)[0], rows) for name in table.column_names} | {"server": shared}
    pq.write_table(pa.table(columns), stream, store_schema=False, compression="zstd")
    assert len(stream.getvalue()) < 1_000_000
    assert "servers.parquet, server, row 0: is longer than 200 characters" in refusal(files | {S: stream.getvalue()})


def test_names_that_repeat_each_other_are_not_unfolded(files):
    names = pa.array(["x" * 100 + str(i) for i in range(20)])
    content = with_column(
        files[S], "server", names, use_dictionary=False, column_encoding={"server": "DELTA_BYTE_ARRAY"}
    )
    assert "is encoded as DELTA_BYTE_ARRAY" in refusal(files | {S: content})


def test_one_value_of_many_mib_is_never_decompressed(files):
    names = pa.array(["x" * (bounds.PAGE_BYTES_MAX + 1)] + ["y"] * 19)
    content = with_column(files[S], "server", names, use_dictionary=False, compression="zstd")
    assert len(content) < 1_000_000
    assert "has a page of 64 MiB; at most 64 are allowed" in refusal(files | {S: content})


def test_rows_that_point_behind_their_dictionary_are_damage():
    good = pa.DictionaryArray.from_arrays(pa.array([0, None, 1]), pa.array(["a", "b"]))
    bounds.with_indices_in_bounds(pa.table({"name": good, "number": [1, 2, 3]}))
    behind = pa.DictionaryArray.from_arrays(pa.array([0, None, 2]), pa.array(["a", "b"]), safe=False)
    with pytest.raises(pa.ArrowInvalid, match="points past the end"):
        bounds.with_indices_in_bounds(pa.table({"name": behind}))


def test_damaged_region_files_are_refused_in_words(files):
    """For any wrong byte in any file, the error is a refusal and never ours."""
    draw, refused = random.Random(0), 0
    for _ in range(1500):
        name = draw.choice([*files])
        content = bytearray(files[name])
        content[draw.randrange(len(content))] = draw.randrange(256)
        try:
            load_region(files | {name: bytes(content)})
        except InterchangeError:
            refused += 1
    assert refused > 500


def test_datacenters_and_hardware_types_are_bounded(files, snapshot, monkeypatch):
    monkeypatch.setattr("libs.interchange.region.server_columns.COLUMNS_MAX", 1)
    too_many = "different names; at most 1 are allowed"
    assert f"servers.parquet, datacenter: has {len(snapshot.topology.datacenters)} {too_many}" in refusal(files)
    in_one = with_column(files[S], "datacenter", pa.array(["dc"] * len(snapshot.servers)))
    assert f"rru.parquet, hardware_type: has {len(snapshot.hardware_types)} {too_many}" in refusal(files | {S: in_one})


def test_json_is_bounded(files):
    assert "policy.json: is longer than 1 MiB" in refusal(files | {"policy.json": b" " * (2 << 20)})


def test_the_files_of_a_bundle_are_bounded(snapshot, tmp_path, monkeypatch):
    save_bundle(bundle_of(snapshot, seed=0, limits={}), tmp_path / "b.zip")
    monkeypatch.setattr("libs.interchange.bundles.solve.FILE_BYTES_MAX", 100)
    with pytest.raises(InterchangeError, match="holds a file of more than"):
        load_bundle(tmp_path / "b.zip")


def test_a_category_that_no_row_has_is_no_rack(files):
    table = pq.read_table(io.BytesIO(files[S]))
    rack = table.column("rack").combine_chunks().dictionary_encode()
    wider = pa.DictionaryArray.from_arrays(rack.indices, pa.concat_arrays([rack.dictionary, pa.array(["nowhere"])]))
    found = load_region(files | {S: with_column(files[S], "rack", wider)})
    assert "nowhere" not in found.snapshot.topology.racks


def test_no_thread_of_pyarrow_reads_a_file(files, monkeypatch):
    """Another thread may hold its buffers until the interpreter ends. To free them then aborts the process."""
    readers = set()

    class Stream(io.BytesIO):
        def read(self, *size):
            readers.add(threading.get_ident())
            return super().read(*size)

    monkeypatch.setattr("libs.interchange.files.tables.io.BytesIO", Stream)
    load_region(files)
    assert readers == {threading.get_ident()}
