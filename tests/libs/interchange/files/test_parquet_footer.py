"""Compare our reading of a footer with pyarrow's. No damage of a footer may end the process."""

from __future__ import annotations

import io
import random
import subprocess
import sys
from collections.abc import Iterator

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from libs.interchange.files.bounds import open_parquet, require_decodable
from libs.interchange.files.errors import InterchangeError
from libs.interchange.files.parquet_footer import read_footer
from libs.interchange.files.thrift import Compact


def written(rows: int = 100, **options: object) -> bytes:
    stream = io.BytesIO()
    columns = {"name": [f"n{i}" for i in range(rows)], "number": [float(i) for i in range(rows)]}
    pq.write_table(pa.table(columns), stream, **options)
    return stream.getvalue()


@pytest.mark.parametrize(
    "options", [{}, {"use_dictionary": False}, {"row_group_size": 30}, {"compression": "zstd", "version": "1.0"}]
)
def test_it_says_what_pyarrow_says(options: dict[str, object]) -> None:
    content = written(**options)
    footer, theirs = read_footer(io.BytesIO(content)), pq.read_metadata(io.BytesIO(content))
    groups = [theirs.row_group(i) for i in range(theirs.num_row_groups)]
    chunks = [group.column(i) for group in groups for i in range(group.num_columns)]
    assert footer.rows == theirs.num_rows
    assert [(one.path, one.num_values, one.data_page_offset) for one in footer.chunks] == [
        (one.path_in_schema, one.num_values, one.data_page_offset) for one in chunks
    ]
    assert [(one.total_compressed_size, one.total_uncompressed_size) for one in footer.chunks] == [
        (one.total_compressed_size, one.total_uncompressed_size) for one in chunks
    ]
    assert [one.dictionary_page_offset for one in footer.chunks] == [one.dictionary_page_offset or 0 for one in chunks]
    assert [one.physical_type == 6 for one in footer.chunks] == [one.physical_type == "BYTE_ARRAY" for one in chunks]


def damaged(number: int) -> Iterator[bytes]:
    """Yield files whose footers differ from a good one in a byte or two."""
    draw, good = random.Random(number), written(3, write_page_index=False)
    length = int.from_bytes(good[-8:-4], "little")
    for _ in range(1000):
        content = bytearray(good)
        for _ in range(draw.randrange(1, 3)):
            content[-9 - draw.randrange(length)] = draw.randrange(256)
        yield bytes(content)


def read_damaged(number: int) -> int:
    """Return how many of these are refused."""
    refused = 0
    for content in damaged(number):
        stream = io.BytesIO(content)
        try:
            open_parquet("x.parquet", stream)
            require_decodable("x.parquet", stream, ["name", "number"])
        except (InterchangeError, pa.ArrowException, OSError, UnicodeDecodeError):
            refused += 1
    return refused


def test_no_damaged_footer_ends_the_process() -> None:
    """Run in a process of its own, because pyarrow's own reading of some chunks ends the process."""
    code = "from tests.libs.interchange.files.test_parquet_footer import read_damaged; print(read_damaged(3))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-500:]
    assert int(done.stdout) > 100


@pytest.mark.parametrize("content", [b"", b"PAR1", b"\x00" * 8 + b"PAR1", b"PAR1" + b"\xff" * 4 + b"PAR1"])
def test_what_has_no_footer_is_refused(content: bytes) -> None:
    with pytest.raises(ValueError, match="no footer"):
        read_footer(io.BytesIO(content))


def test_structs_within_structs_end() -> None:
    with pytest.raises(ValueError, match="nested too deep"):
        Compact(b"\x1c" * 100).struct()
