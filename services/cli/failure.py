"""End a command that cannot do its task."""

from __future__ import annotations

EXIT_ERROR = 1
EXIT_NOT_POSSIBLE = 2


class CliFailure(Exception):
    """A sentence for people; `main` prints it and exits with `status`."""

    def __init__(self, message: str, *, status: int = EXIT_ERROR) -> None:
        super().__init__(message)
        self.status = status
