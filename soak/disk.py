"""A small disk of one's own, which can be filled: a tmpfs in a mount namespace that ends with this process."""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path

_NEWNS, _NEWUSER = 0x00020000, 0x10000000
_MS_PRIVATE, _MS_REC = 1 << 18, 1 << 14
_MS_REMOUNT, _MNT_DETACH = 1 << 5, 2


class NoSmallDisk(Exception):
    """We may mount nothing here, not even for ourselves; the message says what refused."""


class SmallDisk:
    """`folder` as a disk of so many bytes, for this process and those that it starts. Call it before any thread runs.

    Root needs CAP_SYS_ADMIN, others need user namespaces; many containers grant neither. Raises NoSmallDisk then.
    """

    def __init__(self, folder: Path, size_bytes: int) -> None:
        if sys.platform != "linux":
            raise NoSmallDisk(f"{sys.platform} has no mount namespaces")
        self._folder, self._size_bytes = folder, size_bytes
        uid, gid = os.getuid(), os.getgid()
        self._libc = libc = ctypes.CDLL(None, use_errno=True)
        _require(libc.unshare(_NEWNS if uid == 0 else _NEWNS | _NEWUSER), "unshare")
        if uid != 0:
            Path("/proc/self/setgroups").write_text("deny")
            Path("/proc/self/uid_map").write_text(f"{uid} {uid} 1")
            Path("/proc/self/gid_map").write_text(f"{gid} {gid} 1")
        _require(libc.mount(b"none", b"/", None, _MS_PRIVATE | _MS_REC, None), "mount --make-rprivate")
        options = f"size={size_bytes},mode=0700".encode()
        _require(libc.mount(b"tmpfs", str(folder).encode(), b"tmpfs", 0, options), "mount tmpfs")

    def fill(self) -> int:
        """Take away all room that is left; how many bytes there were. Only in the thread that made the disk."""
        while True:
            disk = os.statvfs(self._folder)
            used = max(disk.f_blocks - disk.f_bfree, 1) * disk.f_frsize  # 0 would be a disk without end
            try:
                self._resize(used)
            except NoSmallDisk:  # somebody wrote meanwhile: a disk cannot be smaller than what is on it
                continue
            return disk.f_bfree * disk.f_frsize

    def empty(self) -> None:
        """Give the room back."""
        self._resize(self._size_bytes)

    def close(self) -> None:
        """Take the disk away, with all that is on it."""
        _require(self._libc.umount2(str(self._folder).encode(), _MNT_DETACH), "umount")

    def _resize(self, size_bytes: int) -> None:
        options = f"size={size_bytes}".encode()
        _require(self._libc.mount(b"tmpfs", str(self._folder).encode(), b"tmpfs", _MS_REMOUNT, options), "remount")


def _require(done: int, what: str) -> None:
    if done != 0:
        raise NoSmallDisk(f"{what}: {os.strerror(ctypes.get_errno())}")
