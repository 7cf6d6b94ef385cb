"""Structured logs: one JSON object per line on stderr, with secrets removed."""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import Mapping, MutableMapping
from typing import Annotated, TextIO

import structlog
from pydantic import AfterValidator

from libs.observability.traces import trace_ids


def _is_level(name: str) -> str:
    known = logging.getLevelNamesMapping()
    if name not in known:
        raise ValueError(f"choose one of {', '.join(sorted(known, key=lambda level: (known[level], level)))}")
    return name


LogLevel = Annotated[str, AfterValidator(_is_level)]
"""The name of a level of logging."""
HIDDEN = "[redacted]"
_SECRET_NAMES = re.compile(r"authorization|token$|password|secret|database_url", re.IGNORECASE)
_SECRET_VALUES = re.compile(
    # A JSON web token begins with eyJ. Its start is looked for once in a run of letters, so the time stays linear.
    r"plim_[A-Za-z0-9_-]+|(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*"
    r"|((?:bearer\s|password\s{0,9}=)\s{0,9})(?:'(?:[^'\\]|\\.)*'?|\S+)",
    re.IGNORECASE,
)
_WORD = re.compile(r"\S+")


def redact(value: object, *, name: str = "") -> object:
    """Return the value without secrets. A secret is recognised by the name of its field or by its form."""
    if name and _SECRET_NAMES.search(name):
        return HIDDEN
    if isinstance(value, str):
        return redact_text(value)
    if isinstance(value, Mapping):
        return {key: redact(item, name=str(key)) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [redact(item) for item in value]
    if isinstance(value, Exception | bytes):
        return redact(str(value))
    return value


def redact_text(text: str) -> str:
    """Return the text without anything that looks like a secret: tokens, passwords and the user part of a URL.

    The time grows linearly with the text, because the text may come from outside.
    """
    if "://" in text:
        text = _WORD.sub(_without_userinfo, text)
    return _SECRET_VALUES.sub(lambda found: (found[1] or "") + HIDDEN, text)


def _without_userinfo(word: re.Match[str]) -> str:
    """Return the word with all between :// and its last @ hidden. A password may hold an unencoded slash or @."""
    scheme, there, rest = word[0].partition("://")
    _, at, host = rest.rpartition("@")
    return f"{scheme}{there}{HIDDEN}@{host}" if at else word[0]


def _redact_event(_logger: object, _method: str, event: MutableMapping[str, object]) -> Mapping[str, object]:
    return {key: redact(item, name=key) for key, item in event.items()}


def configure_logging(service: str, *, level: str = "INFO", stream: TextIO | None = None) -> None:
    """Write the records of structlog and the standard library to `stream` (stderr) as JSON lines that name the service.

    Raises ValueError if logging does not know the level.
    """

    def add_service(_logger: object, _method: str, event: MutableMapping[str, object]) -> Mapping[str, object]:
        return {"service": service, **trace_ids(), **event}

    shared: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True, key="at"),
        structlog.stdlib.ExtraAdder(),
        add_service,
    ]
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=False,
    )
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                structlog.processors.format_exc_info,
                _redact_event,
                structlog.processors.JSONRenderer(default=str),
            ],
        )
    )
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(level)
    # libs.web logs every request with its id. The line of uvicorn would show the query and no id.
    logging.getLogger("uvicorn.access").disabled = True
