"""Convert answers to requests for maintenance to and from the JSON in `unavailability_events`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime
from typing import Any

from libs.domain.maintenance import MaintenanceAnswer, MaintenanceReason, MaintenanceVerdict, Newcomers


def answer_to_json(answer: MaintenanceAnswer) -> dict[str, object]:
    """Return the answer as a JSON object."""
    begins_at = None if answer.begins_at is None else answer.begins_at.isoformat()
    return {**asdict(answer), "waits_for": list(answer.waits_for), "begins_at": begins_at}


def answer_from_json(found: Mapping[str, Any]) -> MaintenanceAnswer:
    """Return the answer that answer_to_json wrote."""
    begins_at = found["begins_at"]
    fields = {
        "verdict": MaintenanceVerdict(found["verdict"]),
        "reason": MaintenanceReason(found["reason"]),
        "waits_for": tuple(found["waits_for"]),
        "begins_at": None if begins_at is None else datetime.fromisoformat(begins_at),
    }
    return MaintenanceAnswer(**{**found, **fields})


def newcomers_to_json(newcomers: Newcomers) -> dict[str, object]:
    """Return the newcomers as a JSON object."""
    return {"servers": newcomers.servers, "answer": answer_to_json(newcomers.answer)}


def newcomers_from_json(found: Mapping[str, Any]) -> Newcomers:
    """Return the newcomers that newcomers_to_json wrote."""
    return Newcomers(servers=found["servers"], answer=answer_from_json(found["answer"]))
