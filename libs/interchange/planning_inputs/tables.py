"""The columns of each table of planning inputs. docs/flux.md gives their meaning."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from enum import StrEnum

from libs.domain.world import FluxPolicy


class ColumnKind(StrEnum):
    """Kind of value in a cell."""

    NAME = "name"
    NUMBER = "number"
    FLAG = "flag"
    TIME = "time"


@dataclass(frozen=True, slots=True, kw_only=True)
class InputColumn:
    """One column. `least` and `most` are inclusive bounds of a number; `whole` requires an integer."""

    name: str
    kind: ColumnKind
    optional: bool = False
    least: float = -math.inf
    most: float = math.inf
    whole: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class InputTable:
    """One planning input. No two rows have the same `key`; () allows equal rows. `one_row` requires exactly one. In a
    row the values of the columns `ascending` do not fall.
    """

    name: str
    columns: tuple[InputColumn, ...]
    key: tuple[str, ...]
    one_row: bool = False
    ascending: tuple[str, ...] = ()

    @property
    def known(self) -> dict[str, InputColumn]:
        """Return the columns by name."""
        return {column.name: column for column in self.columns}


def _name(*names: str, optional: bool = False) -> tuple[InputColumn, ...]:
    return tuple(InputColumn(name=name, kind=ColumnKind.NAME, optional=optional) for name in names)


def _flag(*names: str) -> tuple[InputColumn, ...]:
    return tuple(InputColumn(name=name, kind=ColumnKind.FLAG, optional=True) for name in names)


def _number(name: str, least: float = 0.0, most: float = math.inf, *, optional: bool = False) -> InputColumn:
    return InputColumn(name=name, kind=ColumnKind.NUMBER, least=least, most=most, optional=optional)


def _time(name: str) -> InputColumn:
    return InputColumn(name=name, kind=ColumnKind.TIME)


_STEP = InputColumn(name="step", kind=ColumnKind.NUMBER, least=0, most=1e6, whole=True)
_OPTIONAL_STEP = replace(_STEP, optional=True)
_PLACE = _name("service", "region", "hardware_type")
_TABLES = (
    InputTable(name="gateways", columns=_name("product", "service", "operation"), key=("service", "operation")),
    InputTable(
        name="supply",
        columns=(_STEP, *_name("region", "hardware_type"), _number("capacity")),
        key=("step", "region", "hardware_type"),
    ),
    InputTable(
        name="services",
        columns=(
            *_name("service", "hardware_type"),
            *_flag("rebalance", "automated", "requires_approval"),
            _number("lead_time_h", optional=True),
        ),
        key=("service",),
    ),
    InputTable(
        name="fungibility",
        columns=(*_name("service", "hardware_type"), _number("ratio")),
        key=("service", "hardware_type"),
    ),
    InputTable(
        name="growth",
        columns=(
            _STEP,
            *_name("service", "hardware_type"),
            _number("capacity"),
            _number("priority", -math.inf, optional=True),
            _number("conversion_ratio", optional=True),
        ),
        key=("step", "service"),
    ),
    InputTable(
        name="traffic_growth", columns=(_STEP, *_name("product"), _number("growth", -1.0)), key=("step", "product")
    ),
    InputTable(
        name="ledger",
        columns=(_OPTIONAL_STEP, *_name("kind", optional=True), *_PLACE, _number("delta", -math.inf)),
        key=(),
    ),
    InputTable(
        name="presence_limits",
        columns=(
            *_name("product", "region"),
            _number("share_min", 0.0, 1.0, optional=True),
            _number("share_max", optional=True),
        ),
        key=("product", "region"),
    ),
    InputTable(
        name="controls",
        columns=(
            *_PLACE,
            _number("capacity_min", optional=True),
            _number("capacity_max", optional=True),
            _number("rebalance_weight", optional=True),
            *_flag("automated", "requires_approval"),
            *_name("reason", optional=True),
        ),
        key=("service", "region", "hardware_type"),
    ),
    InputTable(
        name="cost_models",
        columns=(*_name("service", "product"), _number("share", 0.0, 1.0)),
        key=("service", "product"),
    ),
    InputTable(
        name="service_reservations",
        columns=(
            *_name("service", "hardware_type"),
            *_name("region", optional=True),
            *_name("reservation"),
            InputColumn(name="rru_per_unit", kind=ColumnKind.NUMBER, least=1e-9, most=1e9),
            _number("headroom", 0.0, 100.0, optional=True),
        ),
        key=("service", "hardware_type", "region"),
    ),
    InputTable(
        name="server_units",
        columns=(
            *_name("server_type", "hardware_type"),
            InputColumn(name="units", kind=ColumnKind.NUMBER, least=1e-9, most=1e9),
        ),
        key=("server_type", "hardware_type"),
    ),
    InputTable(
        name="deliveries",
        columns=(
            *_name("region", "server_type"),
            InputColumn(name="servers", kind=ColumnKind.NUMBER, least=0, most=1e7, whole=True),
            _time("due_at"),
        ),
        key=(),
    ),
    InputTable(
        name="load_tests",
        columns=(
            *_PLACE,
            _number("capacity"),
            _number("throughput"),
            _number("utilisation", 0.0, 1.0),
            _number("utilisation_max", 0.0, 1.0, optional=True),
        ),
        key=(),
    ),
    InputTable(
        name="events",
        columns=(*_name("region", "kind", optional=True), _time("start"), _time("end")),
        key=(),
        ascending=("start", "end"),
    ),
    InputTable(
        name="policy",
        columns=tuple(_number(field.name, optional=True) for field in fields(FluxPolicy)),
        key=(),
        one_row=True,
    ),
)
INPUT_TABLES: Mapping[str, InputTable] = {table.name: table for table in _TABLES}
"""Tables by name. In this order, each table refers only to names in the tables before it.

So one world can replace another table by table.
"""
REQUIRED = ("gateways", "services", "supply")
"""Names of the inputs that a plan requires."""
