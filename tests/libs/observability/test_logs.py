import io
import json
import logging

import pytest
import structlog

from libs.observability.logs import HIDDEN, configure_logging, redact, redact_text


def test_secrets_are_hidden_by_name_and_by_looks() -> None:
    assert redact(
        {
            "authorization": "Bearer x",
            "Token": "x",
            "db_password": "x",
            "DATABASE_URL": "x",
            "client_secret": "x",
            "nested": [{"text": "Bearer abc and plim_abc-1"}, ("postgresql://me:pw@db/x",)],
            "tokens_made": 3,
            "error": ValueError("plim_zzz"),
        }
    ) == {
        "authorization": HIDDEN,
        "Token": HIDDEN,
        "db_password": HIDDEN,
        "DATABASE_URL": HIDDEN,
        "client_secret": HIDDEN,
        "nested": [{"text": f"Bearer {HIDDEN} and {HIDDEN}"}, [f"postgresql://{HIDDEN}@db/x"]],
        "tokens_made": 3,
        "error": HIDDEN,
    }


def test_both_kinds_of_loggers_write_json_lines_without_secrets() -> None:
    root = logging.getLogger()
    before, level, log = root.handlers[:], root.level, io.StringIO()
    try:
        configure_logging("test", stream=log)
        structlog.contextvars.bind_contextvars(request_id="r1")
        structlog.get_logger("a").warning("hello", token="x", url="postgresql://me:pw@db/x")
        logging.getLogger("b").error("connecting with %s", "plim_abc")
        try:
            raise RuntimeError("plim_in_a_traceback")
        except RuntimeError:
            structlog.get_logger("a").exception("broke")
    finally:
        structlog.contextvars.clear_contextvars()
        root.handlers[:] = before
        root.setLevel(level)
    first, second, third = (json.loads(line) for line in log.getvalue().splitlines())
    assert (first["event"], first["level"], first["logger"], first["service"]) == ("hello", "warning", "a", "test")
    assert (first["token"], first["request_id"]) == (HIDDEN, "r1")
    assert "pw" not in first["url"]
    assert second["event"] == f"connecting with {HIDDEN}"
    assert "RuntimeError" in third["exception"]
    assert "plim_" not in log.getvalue()


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("postgresql://u:pa/ss@h/db is away", f"postgresql://{HIDDEN}@h/db is away"),
        ("postgresql://u:p@ss@h/db", f"postgresql://{HIDDEN}@h/db"),
        ("https://only-a-token@h/x", f"https://{HIDDEN}@h/x"),
        ("host=h password=hidden user=u", f"host=h password={HIDDEN} user=u"),
        ("PASSWORD = 'it\\'s long' user=u", f"PASSWORD = {HIDDEN} user=u"),
        ("password='never closed", f"password={HIDDEN}"),
        ("authorization: bearer abc.def", f"authorization: bearer {HIDDEN}"),
        ("BEARER  abc", f"BEARER  {HIDDEN}"),
        ("at 12:30 see https://host/path and a@b", "at 12:30 see https://host/path and a@b"),
    ],
)
def test_what_looks_like_a_secret(text: str, shown: str) -> None:
    assert redact_text(text) == shown
