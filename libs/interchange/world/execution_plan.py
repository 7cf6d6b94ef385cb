"""Write and read dag.json: an execution plan with its actions as nodes and their dependencies as edges."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from libs.domain.execution_plan import Action, ExecutionPlan, Phase, PoolRoom
from libs.interchange.files.atomic import replacing


def execution_plan_document(plan: ExecutionPlan) -> dict[str, Any]:
    """Return the content of dag.json. The nodes are in an order in which they may be carried out."""
    return {
        "step": plan.step,
        "estimate_h": plan.estimate_h,
        "critical_path": list(plan.critical_path),
        "nodes": [_node(action) for action in plan.actions],
        "edges": [[before, action.action] for action in plan.actions for before in action.waits_for],
        "pools": [asdict(pool) for pool in plan.pools],
    }


def load_execution_plan(document: dict[str, Any]) -> ExecutionPlan | None:
    """Return the execution plan of a document; None if an older version wrote it, without pools or with shifts over all
    regions at once.
    """
    waits: dict[str, list[str]] = {}
    for before, after in document["edges"]:
        waits.setdefault(after, []).append(before)
    nodes = document["nodes"]
    if "pools" not in document or any(node["phase"] == Phase.SHIFT and "to_region" not in node for node in nodes):
        return None
    return ExecutionPlan(
        step=document["step"],
        estimate_h=document["estimate_h"],
        critical_path=tuple(document["critical_path"]),
        actions=tuple(_action(node, waits.get(node["id"], [])) for node in nodes),
        pools=tuple(PoolRoom(**pool) for pool in document["pools"]),
    )


def _action(node: dict[str, Any], waits: list[str]) -> Action:
    names = ("service", "product", "region", "to_region", "hardware_type")
    numbers = ("before", "after", "lead_time_h", "estimate_h", "start_h")
    values: dict[str, Any] = {name: node.get(name) for name in names} | {name: node[name] for name in numbers}
    return Action(
        action=node["id"],
        phase=Phase(node["phase"]),
        approval=tuple(node["approval"]),
        waits_for=tuple(waits),
        **values,
    )


def save_execution_plan(path: Path, plan: ExecutionPlan) -> None:
    """Write dag.json atomically."""
    with replacing(path) as stream:
        stream.write((json.dumps(execution_plan_document(plan), indent=1) + "\n").encode())


def _node(action: Action) -> dict[str, Any]:
    named = {
        "service": action.service,
        "product": action.product,
        "region": action.region,
        "to_region": action.to_region,
        "hardware_type": action.hardware_type,
    }
    return {
        "id": action.action,
        "phase": str(action.phase),
        **{name: value for name, value in named.items() if value is not None},
        "before": action.before,
        "after": action.after,
        "lead_time_h": action.lead_time_h,
        "estimate_h": action.estimate_h,
        "start_h": action.start_h,
        "approval": list(action.approval),
    }
