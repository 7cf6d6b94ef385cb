"""The patterns of texts in requests, each with the words that an error says instead of it."""

from __future__ import annotations

NAME = r"^[A-Za-z0-9][A-Za-z0-9._:/-]*$"
LINE = r"^[^\x00-\x1f\x7f]+$"
LINE_OR_NONE = r"^[^\x00-\x1f\x7f]*$"
REASON = r"^[^\x00-\x1f\x7f]*[^\x00-\x20\x7f][^\x00-\x1f\x7f]*$"
IDEMPOTENCY_KEY = r"^[\x21-\x7e]+$"
LABEL = r"^[a-zA-Z_][a-zA-Z0-9_]*$"
INPUT_NAME = r"^[a-z_]{1,40}$"
PICTURE_NAME = r"^[a-z]{1,40}$"

_ONE_LINE = "must be one line, without control characters such as tabs"
WORDS = {
    NAME: "must have only letters, digits and . _ : / - , and begin with a letter or a digit",
    LINE: _ONE_LINE,
    LINE_OR_NONE: _ONE_LINE,
    REASON: f"{_ONE_LINE}, and not be blank",
    IDEMPOTENCY_KEY: "must have only printable ASCII characters, and no spaces",
    LABEL: "must have only letters, digits and _, and not begin with a digit",
    INPUT_NAME: "must have only small letters and _, and at most 40 of them",
    PICTURE_NAME: "must have only small letters, and at most 40 of them",
}
"""Pattern -> what a text must be. An error may name a wrong text by the words alone."""
