"""The size of decoded files is known before decoding, and Parquet is judged by its pages."""

import io
import json
import tracemalloc
from collections.abc import Iterator

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from libs.interchange.files.bounds import open_parquet, require_decodable
from libs.interchange.files.decoded import _PURSE, TooLarge, charge, charging, held, json_bytes, read_json
from libs.interchange.files.errors import InterchangeError
from libs.interchange.files.parquet_footer import read_footer
from libs.interchange.files.parquet_pages import DELTA_BYTE_ARRAY, pages_of


@pytest.fixture(autouse=True)
def purse() -> Iterator[None]:
    """Leave no purse behind, because later tests of this process would have to pay."""
    token = _PURSE.set(None)
    yield
    _PURSE.reset(token)


DOCUMENTS = {
    "objects": b"[" + b"{}," * 100_000 + b"{}]",
    "lists": b"[" + b"[]," * 100_000 + b"[]]",
    "nested": b"[" + b"[[1]]," * 50_000 + b"0]",
    "numbers": b"[" + b"1234," * 100_000 + b"0]",
    "texts": b"[" + b'"ab",' * 100_000 + b"0]",
    "pairs": b"[" + b'{"a":1},' * 50_000 + b"0]",
    "names": b"{" + b",".join(b'"%d":1' % i for i in range(50_000)) + b"}",
}


@pytest.mark.parametrize("document", DOCUMENTS)
def test_json_takes_no_more_than_is_said(document: str) -> None:
    content = DOCUMENTS[document]
    tracemalloc.start()
    try:
        found = json.loads(content)
        took, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert found == orjson.loads(content)
    assert took < json_bytes(content) < 8 * took + len(content)


class Counter:
    def __init__(self) -> None:
        self.now = self.most = 0

    def take(self, size: int) -> None:
        self.now += size
        self.most = max(self.most, self.now)

    def give(self, size: int) -> None:
        self.now -= size


def test_what_is_held_is_given_back_and_what_is_charged_is_not() -> None:
    counter = Counter()
    charge(10)  # no counter is set
    charging(counter)
    charge(5)
    with held(20):
        assert counter.now == 25
    assert counter.now == 5


def test_a_document_is_refused_before_much_of_it_is_read() -> None:
    class Full(Counter):
        def take(self, size: int) -> None:
            super().take(size)
            if self.now > 100 << 20:
                raise MemoryError

    charging(Full())
    stream = io.BytesIO(b"1," * (10 << 20))
    with pytest.raises(MemoryError):
        read_json(stream, 512 << 20)
    assert stream.tell() <= 3 << 20


def test_a_document_of_too_many_objects_is_refused_before_much_of_it_is_read() -> None:
    stream = io.BytesIO(b"[{}]," * (10 << 20))
    with pytest.raises(TooLarge, match="400,000 objects and lists"):
        read_json(stream, 512 << 20)
    assert stream.tell() <= 2 << 20


def parquet(values: pa.Array, **options: object) -> io.BytesIO:
    stream = io.BytesIO()
    pq.write_table(pa.table({"name": values}), stream, **options)
    return stream


def test_pages_are_what_the_writer_wrote() -> None:
    stream = parquet(pa.array(["x" * 100 + str(i) for i in range(1000)]), use_dictionary=False, compression="zstd")
    chunk = read_footer(stream).chunks[0]
    pages = list(pages_of(stream, chunk))
    headers = chunk.total_uncompressed_size - sum(page.bytes for page in pages)
    assert 0 < headers < 500 * len(pages)
    assert {page.encoding for page in pages} == {0}


@pytest.mark.parametrize("version", ["1.0", "2.0"])
def test_encodings_are_those_of_the_pages(version: str) -> None:
    stream = parquet(
        pa.array([f"{i}" for i in range(1000)]),
        use_dictionary=False,
        column_encoding={"name": "DELTA_BYTE_ARRAY"},
        data_page_version=version,
    )
    chunk = read_footer(stream).chunks[0]
    assert {page.encoding for page in pages_of(stream, chunk)} == {DELTA_BYTE_ARRAY}


def varint(number: int) -> bytes:
    found = bytearray()
    while number > 127:
        found.append(number & 127 | 128)
        number >>= 7
    return bytes([*found, number])


def test_a_footer_that_lies_of_its_size_does_not_help(monkeypatch: pytest.MonkeyPatch) -> None:
    """A page of 32 MiB of zeros, packed into a few kilobytes, under a footer that claims a few bytes."""
    values = pa.array(np.zeros((32 << 20) // 8, np.float64))
    stream = parquet(values, use_dictionary=False, compression="zstd", row_group_size=1 << 30, data_page_size=1 << 30)
    content = stream.getvalue()
    true = pq.ParquetFile(stream).metadata.row_group(0).column(0).total_uncompressed_size
    told, lie = varint(2 * true), varint(2 << (7 * (len(varint(2 * true)) - 1)))
    footer = int.from_bytes(content[-8:-4], "little")
    tail = content[-8 - footer :]
    assert tail.count(told) >= 1
    assert len(lie) == len(told)
    lied = io.BytesIO(content[: -8 - footer] + tail.replace(told, lie))
    file = open_parquet("x.parquet", lied)
    assert file.metadata.row_group(0).column(0).total_uncompressed_size < true
    monkeypatch.setattr("libs.interchange.files.bounds.FILE_BYTES_MAX", 16 << 20)
    with pytest.raises(InterchangeError, match="MiB once decompressed"):
        require_decodable("x.parquet", lied, ["name"])


def test_an_overlong_footer_is_not_read() -> None:
    stream = io.BytesIO(b"PAR1" + (100 << 20).to_bytes(4, "little") + b"PAR1")
    with pytest.raises(InterchangeError, match="footer of 100 MiB"):
        open_parquet("x.parquet", stream)


def test_rows_are_charged() -> None:
    counter = Counter()
    charging(counter)
    stream = parquet(pa.array(np.zeros(1_000_000)), compression="zstd")
    require_decodable("x.parquet", stream, ["name"])
    assert counter.now >= 16_000_000


@pytest.mark.parametrize("cut", [1, 20, 200])
def test_damaged_pages_are_named(cut: int) -> None:
    stream = parquet(pa.array(["x" * 100] * 1000), use_dictionary=False, compression=None)
    chunk = pq.ParquetFile(stream).metadata.row_group(0).column(0)
    content = bytearray(stream.getvalue())
    content[chunk.data_page_offset : chunk.data_page_offset + cut] = b"\xff" * cut
    with pytest.raises(InterchangeError, match=r"x.parquet.*damaged"):
        require_decodable("x.parquet", io.BytesIO(content), ["name"])
