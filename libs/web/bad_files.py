"""Problems with files that a client sent."""

from __future__ import annotations

from libs.interchange.files.errors import InterchangeError
from libs.web.problems import FieldError, Problem, invalid


def bad_files(error: InterchangeError) -> Problem:
    """Return a 422 that names the file, the row and the field of each problem: `servers.parquet[3].rack`."""
    errors = []
    for problem in error.problems:
        row = "" if problem.row is None else f"[{problem.row}]"
        field = "" if problem.field is None else f".{problem.field}"
        where, message = f"{problem.file}{row}{field}", problem.message[:500]
        errors.append(FieldError(field=where, location="body", code="bad_file", message=message))
    return invalid(*errors)
