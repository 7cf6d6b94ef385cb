"""Collect the servers of a source one by one into columns, by the rules of a field mapping."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from libs.domain.inventory import Inventory
from libs.domain.unavailability import Unavailability
from libs.interchange.files.bounds import ROWS_MAX
from libs.interchange.files.errors import InterchangeError, Problem, Problems
from libs.interchange.inventory.field_mapping import FIELDS, FieldMapping, is_domain_field
from libs.interchange.inventory.inventory import inventory_of_columns

_SERVERS_MAX = ROWS_MAX["servers.parquet"]


@dataclass(slots=True)
class _Missing:
    """The first server without a required field, and the number of further servers without this field."""

    row: int
    server: str
    more: int = 0


@dataclass(slots=True)
class InventoryColumns:
    """Columns of the servers of one file. `noun` and `source` are the words for a server and a key in the file, such as
    node and label.

    lacks   words for a server without a value: no label, nothing in a column
    """

    file: str
    rules: FieldMapping
    noun: str
    source: str
    hint: str = ""
    lacks: str = "no"
    problems: Problems = field(default_factory=Problems)
    _rows: int = 0
    _columns: dict[str, list[object]] = field(default_factory=dict)
    _missing: dict[str, _Missing] = field(default_factory=dict)
    _names: dict[str, str] = field(default_factory=dict)

    def add(
        self,
        look_up: Callable[[str], str | None],
        *,
        label: str,
        unavailability: Unavailability,
        vcpu: float | None,
        memory_gib: float | None,
    ) -> None:
        """Add a server. `label` names it in messages if its name is unknown. Raises InterchangeError."""
        if self._rows >= _SERVERS_MAX:
            message = f"has more than {_SERVERS_MAX} servers, the most that are allowed"
            raise InterchangeError([Problem(self.file, None, None, message)])
        found = {
            name: f"{round(value)}" for name, value in (("vcpu", vcpu), ("memory_gib", memory_gib)) if value is not None
        }
        for name in FIELDS:
            value = self.rules[name].resolve(look_up, found)
            if value is None:
                missing = self._missing.get(name)
                if missing is None:
                    self._missing[name] = _Missing(self._rows, found.get("server", label))
                else:
                    missing.more += 1
            else:
                found[name] = value
            # Keep each distinct name once: a million servers stand in a few thousand racks.
            kept = None if value is None else self._names.setdefault(value, value)
            self._columns.setdefault(name, []).append(kept)
        for name in filter(is_domain_field, self.rules):
            value = self.rules[name].resolve(look_up, found)
            self._columns.setdefault(name, []).append(None if value is None else self._names.setdefault(value, value))
        self._columns.setdefault("unavailability", []).append(unavailability.value)
        self._columns.setdefault("vcpu", []).append(vcpu)
        self._columns.setdefault("memory_gib", []).append(memory_gib)
        self._rows += 1

    def inventory(self) -> Inventory:
        """Return the checked inventory. Raises InterchangeError, which names server and field and says what to do."""
        for name, missing in self._missing.items():
            self.problems.add(self.file, self._advice(name, missing), row=missing.row, field=name)
        self.problems.raise_any()
        if not self._rows:
            raise InterchangeError([Problem(self.file, None, None, f"holds no {self.noun}s")])
        for name in filter(is_domain_field, self.rules):
            if not any(self._columns[name]):
                keys = " and ".join(self.rules[name].keys)
                message = f"no {self.noun} has a {self.source} {keys}: name the right one with --map {name}=KEY"
                self.problems.add(self.file, message, field=name)
        self.problems.raise_any()
        return inventory_of_columns(self.file, self._columns)

    def _advice(self, name: str, missing: _Missing) -> str:
        keys = " and ".join(self.rules[name].keys) or f"{self.source} for it"
        more = f" and {missing.more} more have" if missing.more else " has"
        default = self.rules[name].default
        blank = f", and its default {default!r} needs what is not known" if default is not None else ""
        example = "'hardware_type={vcpu}c-{memory_gib}g'" if name == "hardware_type" else f"{name}=VALUE"
        return (
            f"{self.noun} {missing.server}{more} {self.lacks} {self.source} {keys}{blank}: name the {self.source} with "
            f"--map {name}={self.source.upper()}, or say what to take without it with --default {example}{self.hint}"
        )
