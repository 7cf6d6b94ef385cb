"""Which label or column says where a server stands: a rule per field, the same for every source."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from libs.interchange.errors import InterchangeError, Problem

FIELDS = ("server", "datacenter", "msb", "rack", "hardware_type")
"""What must be known of every server, in the order in which it is looked up."""
OPTIONAL_FIELDS = ("unavailability", "vcpu", "memory_gib")
FILE_BYTES_MAX = 100_000
_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldRule:
    """Where a field comes from.

    keys      labels or columns; several are joined by "-", and all of them must be there
    default   what to take where they are not; {server}, {datacenter}, ... stand for fields before this one, {vcpu} and
              {memory_gib} for whole numbers. None: the field must be there
    """

    keys: tuple[str, ...]
    default: str | None = None

    def resolve(self, look_up: Callable[[str], str | None], found: Mapping[str, str]) -> str | None:
        """The field's value; None where it is not known. `found`: values for placeholders."""
        values = [look_up(key) for key in self.keys]
        present = [value for value in values if value]
        if present and len(present) == len(values):
            return "-".join(present)
        if self.default is None or any(name not in found for name in _PLACEHOLDER.findall(self.default)):
            return None
        return _PLACEHOLDER.sub(lambda match: found[match[1]], self.default)


FieldMapping = Mapping[str, FieldRule]


def load_mapping(path: Path) -> dict[str, dict[str, object]]:
    """The tables of a mapping file, unchecked: `[rack]` with `key` or `keys`, `default`. Raises InterchangeError."""
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
    """The rules of a source, changed by a mapping file and then by FIELD=KEY and FIELD=VALUE of the command line.

    In FIELD=KEY, several keys are joined by "+". Raises InterchangeError that says how to write it.
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
