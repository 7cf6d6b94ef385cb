"""Rules that map the labels or columns of a source to the fields of a server, the same for every format."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from libs.domain.domain_kind import is_kind
from libs.interchange.files.errors import InterchangeError, Problem
from libs.interchange.region.server_columns import DOMAIN_PREFIX

FIELDS = ("server", "datacenter", "msb", "rack", "hardware_type")
"""Required fields of a server, in the order in which they are looked up."""
OPTIONAL_FIELDS = ("unavailability", "vcpu", "memory_gib")
DOMAIN_FIELD = f"{DOMAIN_PREFIX}KIND"
"""Words for the optional fields that name the domain of a server, one field per further kind."""
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
_NO_RULE = FieldRule(keys=())


def is_domain_field(field: str) -> bool:
    """Return whether a field names the domain of a server of a further kind, such as `domain:network_block`."""
    return field.startswith(DOMAIN_PREFIX) and is_kind(field.removeprefix(DOMAIN_PREFIX))


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
        old = rules.get(field, _NO_RULE)
        given, default = table.get("keys", table.get("key")), table.get("default", old.default)
        chosen = old.keys if given is None else (given,) if isinstance(given, str) else given
        if not isinstance(chosen, list | tuple) or not all(isinstance(key, str) and key for key in chosen):
            raise _wrong("mapping file", f"{field}.keys", "is not a name or a list of names")
        if default is not None and not isinstance(default, str):
            raise _wrong("mapping file", f"{field}.default", "is not a string")
        rules[field] = FieldRule(keys=tuple(chosen), default=default)
    for text in keys:
        field, value = _pair(text, "--map", base)
        names = tuple(part for part in value.split("+") if part)
        rules[field] = FieldRule(keys=names, default=rules.get(field, _NO_RULE).default)
    for text in defaults:
        field, value = _pair(text, "--default", base)
        rules[field] = FieldRule(keys=rules.get(field, _NO_RULE).keys, default=value)
    for field, rule in rules.items():
        _check_placeholders(field, rule)
    return rules


def _check_placeholders(field: str, rule: FieldRule) -> None:
    placed = field in FIELDS or is_domain_field(field)
    before = FIELDS[: FIELDS.index(field)] if field in FIELDS else FIELDS
    allowed = {*before, "vcpu", "memory_gib"} if placed else set()
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
    if field not in known and not is_domain_field(field):
        raise _wrong(where, field, f"is not a field; fields are {', '.join(known)} and {DOMAIN_FIELD}")


def _wrong(file: str, field: str | None, message: str) -> InterchangeError:
    return InterchangeError([Problem(file, None, field, message)])
