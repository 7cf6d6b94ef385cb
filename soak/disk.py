"""A small disk that can be filled: a tmpfs in a mount namespace that ends with this process."""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path

_NEWNS, _NEWUSER = 0x00020000, 0x10000000
_MS_PRIVATE, _MS_REC = 1 << 18, 1 << 14
_MS_REMOUNT, _MNT_DETACH = 1 << 5, 2


class NoSmallDisk(Exception):
    """A mount is not allowed here, not even in a namespace of this process. The message names the call that failed."""


class SmallDisk:
    """A disk of `size_bytes` at `folder`, for this process and its children. Create it before any thread runs.

    Root needs CAP_SYS_ADMIN, and other users need user namespaces. Many containers grant neither. Raises NoSmallDisk in
    that case.
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
        """Use up all free space and return its size in bytes. Call it only in the thread that made the disk."""
        while True:
            disk = os.statvfs(self._folder)
            used = max(disk.f_blocks - disk.f_bfree, 1) * disk.f_frsize  # size 0 would mean no limit
            try:
                self._resize(used)
            except NoSmallDisk:  # a process wrote meanwhile, and a disk cannot shrink below its content
                continue
            return disk.f_bfree * disk.f_frsize

    def empty(self) -> None:
        """Free the space again."""
        self._resize(self._size_bytes)

    def close(self) -> None:
        """Unmount the disk, with everything on it."""
        _require(self._libc.umount2(str(self._folder).encode(), _MNT_DETACH), "umount")

    def _resize(self, size_bytes: int) -> None:
        options = f"size={size_bytes}".encode()
        _require(self._libc.mount(b"tmpfs", str(self._folder).encode(), b"tmpfs", _MS_REMOUNT, options), "remount")


def _require(done: int, what: str) -> None:
    if done != 0:
        raise NoSmallDisk(f"{what}: {os.strerror(ctypes.get_errno())}")
