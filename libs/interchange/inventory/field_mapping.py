"""Rules that map the labels or columns of a source to the fields of a server, the same for every format."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from libs.interchange.files.errors import InterchangeError, Problem

FIELDS = ("server", "datacenter", "msb", "rack", "hardware_type")
"""Required fields of a server, in the order in which they are looked up."""
OPTIONAL_FIELDS = ("unavailability", "vcpu", "memory_gib")
FILE_BYTES_MAX = 100_000
_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldRule:
    """The source of a field.

    keys      labels or columns; several are joined by "-", and all of them must be present
    default   value if the keys are not present; None: the field is required. {server}, {datacenter}, ... stand for
              fields
               before this one, {vcpu} and {memory_gib} for whole numbers
    """

    keys: tuple[str, ...]
    default: str | None = None

    def resolve(self, look_up: Callable[[str], str | None], found: Mapping[str, str]) -> str | None:
        """Return the value of the field; None if it is unknown. `found` has the values of the placeholders."""
        values = [look_up(key) for key in self.keys]
        present = [value for value in values if value]
        if present and len(present) == len(values):
            return "-".join(present)
        if self.default is None or any(name not in found for name in _PLACEHOLDER.findall(self.default)):
            return None
        return _PLACEHOLDER.sub(lambda match: found[match[1]], self.default)


FieldMapping = Mapping[str, FieldRule]


def load_mapping(path: Path) -> dict[str, dict[str, object]]:
    """Return the unchecked tables of a mapping file, such as `[rack]` with `key` and `default`.

    Raises InterchangeError if the file is not TOML, or holds something other than tables.
    """
    try:
        if path.stat().st_size > FILE_BYTES_MAX:
            raise _wrong(path.name, None, f"is longer than {FILE_BYTES_MAX} bytes")
        found = tomllib.loads(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        raise _wrong(path.name, None, f"cannot be read as TOML: {error}") from error
    for field, table in found.items():
        if not isinstance(table, dict):
            raise _wrong(path.name, field, 'is not a table: write [rack] and below it key = "..." or default = "..."')
    return found


def mapping_of(
    base: FieldMapping,
    *,
    file: Mapping[str, Mapping[str, object]] | None = None,
    keys: Sequence[str] = (),
    defaults: Sequence[str] = (),
) -> dict[str, FieldRule]:
    """Return the rules of a source, changed by a mapping file, then by FIELD=KEY and FIELD=VALUE of the command line.

    In FIELD=KEY, "+" joins several keys. Raises InterchangeError, which says how to write the rule.
    """
    rules = dict(base)
    for field, table in (file or {}).items():
        _require_field(field, base, "mapping file")
        unknown = sorted(set(table) - {"key", "keys", "default"})
        if unknown:
            raise _wrong("mapping file", f"{field}.{unknown[0]}", "is not known; known are key, keys, default")
        given, default = table.get("keys", table.get("key")), table.get("default", rules[field].default)
        chosen = rules[field].keys if given is None else (given,) if isinstance(given, str) else given
        if not isinstance(chosen, list | tuple) or not all(isinstance(key, str) and key for key in chosen):
            raise _wrong("mapping file", f"{field}.keys", "is not a name or a list of names")
        if default is not None and not isinstance(default, str):
            raise _wrong("mapping file", f"{field}.default", "is not a string")
        rules[field] = FieldRule(keys=tuple(chosen), default=default)
    for text in keys:
        field, value = _pair(text, "--map", base)
        rules[field] = FieldRule(keys=tuple(part for part in value.split("+") if part), default=rules[field].default)
    for text in defaults:
        field, value = _pair(text, "--default", base)
        rules[field] = FieldRule(keys=rules[field].keys, default=value)
    for field, rule in rules.items():
        _check_placeholders(field, rule)
    return rules


def _check_placeholders(field: str, rule: FieldRule) -> None:
    before = FIELDS[: FIELDS.index(field)] if field in FIELDS else ()
    allowed = {*before, "vcpu", "memory_gib"} if field in FIELDS else set()
    for name in _PLACEHOLDER.findall(rule.default or ""):
        if name not in allowed:
            listed = ", ".join(f"{{{known}}}" for known in (*before, "vcpu", "memory_gib") if known in allowed)
            raise _wrong("--default", field, f"{{{name}}} is not known here; known are {listed or 'none'}")


def _pair(text: str, option: str, known: FieldMapping) -> tuple[str, str]:
    field, _, value = text.partition("=")
    if not value:
        raise _wrong(option, None, f"{text!r}: write FIELD=VALUE, such as rack=example.com/rack")
    _require_field(field, known, option)
    return field, value


def _require_field(field: str, known: FieldMapping, where: str) -> None:
    if field not in known:
        raise _wrong(where, field, f"is not a field; fields are {', '.join(known)}")


def _wrong(file: str, field: str | None, message: str) -> InterchangeError:
    return InterchangeError([Problem(file, None, field, message)])
