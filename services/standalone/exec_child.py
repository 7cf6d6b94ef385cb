"""Become another program that ends with its parent, without the powers of root if asked.

`processes.Process` runs this as a file. It imports nothing of ours, so it costs milliseconds. It is a program because a
`preexec_fn` may deadlock in a process with threads.

    exec_child.py PARENT_PID ORPHAN_SIGNAL -|USER PROGRAM [ARGUMENT ...]
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys

NOBODY = 65534
_PR_SET_PDEATHSIG, _PR_SET_KEEPCAPS, _PR_CAP_AMBIENT, _PR_CAP_AMBIENT_RAISE = 1, 8, 47, 2
_PR_SET_SECUREBITS, _NO_SETUID_FIXUP, _KEEP_CAPS = 28, 1 << 2, 1 << 4
_CAPABILITY_VERSION_3 = 0x20080522
_CAP_DAC_OVERRIDE, _CAP_DAC_READ_SEARCH = 1, 2


def _require(done: int, what: str) -> None:
    if done != 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{what}: {os.strerror(code)}")


def drop_root(user: int = NOBODY) -> None:
    """Become this user and group, and keep one power of root: to enter closed folders, such as a home of mode 0700.

    Containers often withhold CAP_DAC_READ_SEARCH and grant the wider CAP_DAC_OVERRIDE. With neither, only folders open
    to all users work. Raises OSError if even the change of user is not allowed.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION_3, 0)
    sets = (ctypes.c_uint32 * 6)()  # (effective, permitted, inheritable) of capabilities 0..31, then of 32..63
    _require(libc.capget(header, sets), "capget")
    kept = next((c for c in (_CAP_DAC_READ_SEARCH, _CAP_DAC_OVERRIDE) if sets[1] & (1 << c)), None)

    # initdb finds its programs by access(2). That call respects capabilities only under NO_SETUID_FIXUP, which takes
    # CAP_SETPCAP. Without it the capability is kept as well, and is enough if no folder above is closed.
    if libc.prctl(_PR_SET_SECUREBITS, _NO_SETUID_FIXUP | _KEEP_CAPS, 0, 0, 0) != 0:
        _require(libc.prctl(_PR_SET_KEEPCAPS, 1, 0, 0, 0), "prctl(PR_SET_KEEPCAPS)")
    os.setgroups([])
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)
    bits = 0 if kept is None else 1 << kept
    sets = (ctypes.c_uint32 * 6)(bits, bits, bits, 0, 0, 0)
    _require(libc.capset(header, sets), "capset")
    if kept is not None:  # ambient capabilities survive the exec of a file without capabilities
        _require(libc.prctl(_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_RAISE, kept, 0, 0), "prctl(PR_CAP_AMBIENT)")


def main(arguments: list[str]) -> None:
    """Become the program, or exit with 127 and the reason on stderr. Never returns."""
    parent, orphan_signal, user, program = int(arguments[0]), int(arguments[1]), arguments[2], arguments[3:]
    # A shell ignores some signals for background jobs, and the parent blocks some. Restore them for the program.
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGQUIT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    try:
        if user != "-":
            drop_root(int(user))
        if sys.platform == "linux":  # after the change of user, because that clears it
            _require(ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, orphan_signal, 0, 0, 0), "prctl")
            if os.getppid() != parent:
                sys.exit("the parent ended first")
        os.execv(program[0], program)  # noqa: S606 - becoming the program is the point
    except OSError as error:
        print(f"cannot start {program[0]}: {error}", file=sys.stderr)  # noqa: T201 - stderr is the child's log
        sys.exit(127)


if __name__ == "__main__":
    main(sys.argv[1:])
