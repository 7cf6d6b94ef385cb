import gzip
import io

import pytest

from libs.interchange.files.gunzip import MEMBERS_MAX, TooLong, Unpacking, gunzip


def test_all_members_count() -> None:
    assert gunzip(gzip.compress(b"one") + gzip.compress(b"") + gzip.compress(b"two"), 6) == b"onetwo"


@pytest.mark.parametrize("bytes_max", [0, 1, 5])
def test_no_more_is_unpacked_than_is_taken(bytes_max: int) -> None:
    with pytest.raises(TooLong, match=f"more than {bytes_max} bytes"):
        gunzip(gzip.compress(b"one") + gzip.compress(b"two" * 1_000_000), bytes_max)


@pytest.mark.parametrize(
    ("packed", "reason"),
    [
        (b"", "cut off"),
        (b"plain", "not gzip"),
        (gzip.compress(b"one" * 100, mtime=0)[:-9], "cut off"),
        (gzip.compress(b"one", mtime=0) + b"tail", "not gzip"),
    ],
)
def test_what_is_no_gzip(packed: bytes, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        gunzip(packed, 1000)


def test_members_have_an_end_and_what_is_left_is_not_copied_for_each() -> None:
    class Counted(io.BytesIO):
        read_bytes = 0

        def read(self, size: int | None = -1, /) -> bytes:
            content = super().read(size)
            self.read_bytes += len(content)
            return content

    packed = Counted(gzip.compress(b"") * (MEMBERS_MAX * 2))
    with pytest.raises(ValueError, match="more than 100,000 members"):
        Unpacking(packed, 1000).readall()
    assert packed.read_bytes < 0.6 * len(packed.getvalue())


def test_padding_of_zeros_is_no_member() -> None:
    assert gunzip(gzip.compress(b"one") + b"\0" * 200_000, 3) == b"one"
