"""Read the output of `kubectl get nodes -o json` as an Inventory."""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, BinaryIO

import orjson

from libs.domain.inventory import Inventory
from libs.domain.unavailability import Unavailability
from libs.interchange.files.errors import InterchangeError, Problem
from libs.interchange.inventory.columns import InventoryColumns
from libs.interchange.inventory.field_mapping import FieldMapping, FieldRule

NAME = "name"
"""The key for the node's name. Every other key is the name of a label."""
NODE_FIELDS: FieldMapping = {
    "server": FieldRule(keys=(NAME,)),
    "datacenter": FieldRule(keys=("topology.kubernetes.io/zone",)),
    "msb": FieldRule(keys=("topology.kubernetes.io/zone",)),
    "rack": FieldRule(keys=("topology.kubernetes.io/rack",)),
    "hardware_type": FieldRule(keys=("node.kubernetes.io/instance-type",)),
}
"""Rules for nodes. A zone is the failure domain of a cloud.

No label for racks is standard; this one is the most common.
"""
BYTES_MAX = 256 << 20
_QUANTITY = re.compile(r"(\d{1,18}(?:\.\d{1,9})?)(?:e(\d{1,2})|([mkMGTPE]|[KMGTPE]i)?)")
_SUFFIX = {"": Decimal(1), "m": Decimal("0.001"), "k": Decimal(1000)} | {
    f"{letter}{binary}": Decimal((1024 if binary else 1000) ** (power + 1))
    for power, letter in enumerate("KMGTPE")
    for binary in ("", "i")
    if letter + binary != "K"
}
_FIT = "kubectl get nodes -o json | jq 'del(.items[].status.images, .items[].metadata.managedFields)'"


def load_nodes(stream: BinaryIO, file: str, rules: FieldMapping = NODE_FIELDS) -> Inventory:
    """Read a list of nodes. Only labels, capacity, unschedulable and the Ready condition are used.

    A node that is not Ready is unavailable (unplanned). A cordoned node is unavailable (planned). A node without any
    conditions is up, because the list was cut down. Raises InterchangeError, which names the node and the label.
    """
    content = stream.read(BYTES_MAX + 1)
    if len(content) > BYTES_MAX:
        raise InterchangeError([Problem(file, None, None, f"is longer than {BYTES_MAX >> 20} MiB: try {_FIT}")])
    try:
        document = orjson.loads(content)
    except orjson.JSONDecodeError as error:
        raise InterchangeError([Problem(file, None, None, f"is not JSON: {error}")]) from error
    columns = InventoryColumns(file, rules, "node", "label")
    for row, node in enumerate(_items(document, file)):
        _add(columns, row, node)
    return columns.inventory()


def _items(document: object, file: str) -> list[object]:
    kind = document.get("kind") if isinstance(document, dict) else None
    if kind == "Node":
        return [document]
    items = document.get("items") if isinstance(document, dict) else None
    if not isinstance(items, list):
        message = "is not a list of nodes: write it with kubectl get nodes -o json"
        raise InterchangeError([Problem(file, None, "items", message)])
    return items


def _add(columns: InventoryColumns, row: int, node: object) -> None:
    metadata, spec, status = (_object(columns, row, node, part) for part in ("metadata", "spec", "status"))
    if not isinstance(node, dict) or node.get("kind", "Node") != "Node":
        columns.problems.add(columns.file, "is not a node", row=row, field="kind")
        return
    labels = _object(columns, row, metadata, "labels", of="metadata.labels")
    name = metadata.get("name")
    if name is not None and not isinstance(name, str):
        columns.problems.add(columns.file, "is not a string", row=row, field="metadata.name")
        name = None

    def look_up(key: str) -> str | None:
        value = name if key == NAME else labels.get(key)
        if value is not None and not isinstance(value, str):
            columns.problems.add(columns.file, "is not a string", row=row, field=f"metadata.labels.{key}")
            return None
        return value

    capacity = _object(columns, row, status, "capacity", of="status.capacity")
    memory = _quantity(columns, row, capacity, "memory")
    columns.add(
        look_up,
        label=f"in items[{row}]",
        unavailability=_unavailability(spec, status),
        vcpu=_quantity(columns, row, capacity, "cpu"),
        # Equal machines report sizes that differ by some KiB.
        memory_gib=None if memory is None else float(round(memory / 2**30)),
    )


def _object(columns: InventoryColumns, row: int, parent: object, part: str, *, of: str = "") -> Mapping[str, Any]:
    found = parent.get(part) if isinstance(parent, dict) else None
    if found is None or isinstance(found, dict):
        return found or {}
    columns.problems.add(columns.file, "is not an object", row=row, field=of or part)
    return {}


def _unavailability(spec: Mapping[str, Any], status: Mapping[str, Any]) -> Unavailability:
    conditions = status.get("conditions")
    if isinstance(conditions, list) and conditions:
        ready = [c.get("status") for c in conditions if isinstance(c, dict) and c.get("type") == "Ready"]
        if ready != ["True"]:
            return Unavailability.UNPLANNED
    return Unavailability.PLANNED if spec.get("unschedulable") is True else Unavailability.NONE


def _quantity(columns: InventoryColumns, row: int, capacity: Mapping[str, Any], name: str) -> float | None:
    """Return the number of a Kubernetes quantity such as 96, 95500m or 395871236Ki; None if it is absent or wrong."""
    text = capacity.get(name)
    if text is None:
        return None
    match = _QUANTITY.fullmatch(str(text)) if isinstance(text, str | int) and not isinstance(text, bool) else None
    if match is None:
        message = f"{str(text)[:40]!r} is not a quantity such as 96 or 395871236Ki"
        columns.problems.add(columns.file, message, row=row, field=f"status.capacity.{name}")
        return None
    scale = Decimal(10) ** int(match[2]) if match[2] else _SUFFIX[match[3] or ""]
    return float(Decimal(match[1]) * scale)
