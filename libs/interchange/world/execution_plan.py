"""Write dag.json: an execution plan with its actions as nodes and their dependencies as edges."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from libs.domain.execution_plan import Action, ExecutionPlan
from libs.interchange.files.atomic import replacing


def execution_plan_document(plan: ExecutionPlan) -> dict[str, Any]:
    """Return the content of dag.json. The nodes are in an order in which they may be carried out."""
    return {
        "step": plan.step,
        "estimate_h": plan.estimate_h,
        "critical_path": list(plan.critical_path),
        "nodes": [_node(action) for action in plan.actions],
        "edges": [[before, action.action] for action in plan.actions for before in action.waits_for],
    }


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
