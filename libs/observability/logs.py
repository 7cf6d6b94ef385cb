"""Structured logs: one JSON object a line on stderr, never with a secret in it."""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import Mapping, MutableMapping
from typing import TextIO

import structlog

from libs.observability.traces import trace_ids

HIDDEN = "[redacted]"
_SECRET_NAMES = re.compile(r"authorization|token$|password|secret|database_url", re.IGNORECASE)
_SECRET_VALUES = re.compile(
    r"plim_[A-Za-z0-9_-]+|((?:bearer\s|password\s{0,9}=)\s{0,9})(?:'(?:[^'\\]|\\.)*'?|\S+)", re.IGNORECASE
)
_WORD = re.compile(r"\S+")


def redact(value: object, *, name: str = "") -> object:
    """The value without secrets: those known by the name they go under, and those known by their looks."""
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
    """Text without what looks like a secret: tokens, passwords of a connection, and who a URL logs in as.

    Takes time in proportion to the text: it comes from outside.
    """
    if "://" in text:
        text = _WORD.sub(_without_userinfo, text)
    return _SECRET_VALUES.sub(lambda found: (found[1] or "") + HIDDEN, text)


def _without_userinfo(word: re.Match[str]) -> str:
    """All between :// and the last @ of a word: a password may hold a slash or an @ that nobody has encoded."""
    scheme, there, rest = word[0].partition("://")
    _, at, host = rest.rpartition("@")
    return f"{scheme}{there}{HIDDEN}@{host}" if at else word[0]


def _redact_event(_logger: object, _method: str, event: MutableMapping[str, object]) -> Mapping[str, object]:
    return {key: redact(item, name=key) for key, item in event.items()}


def configure_logging(service: str, *, level: str = "INFO", stream: TextIO | None = None) -> None:
    """Send what structlog and the standard library log to `stream` (stderr) as JSON lines that name the service.

    Raises ValueError where the level is not one of logging's.
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
    # Every request is logged by libs.web with its id; uvicorn's own line would hold the query and no id.
    logging.getLogger("uvicorn.access").disabled = True
