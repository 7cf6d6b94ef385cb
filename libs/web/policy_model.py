"""The models of a region's policy in the API, made from the fields of RegionPolicy: their bounds and descriptions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any

from pydantic import Field, create_model

from libs.domain.policy import RegionPolicy
from libs.web.model import Flag, Number, RequestModel, ResponseModel

_STRICT: dict[type, Any] = {float: Number, bool: Flag}


def policy_sent() -> type[ResponseModel]:
    """Return a model of a whole policy, to derive from. It has no bounds: a policy may have come from a file."""
    values: dict[str, Any] = {
        one.name: (type(one.default), Field(description=one.metadata["description"])) for one in fields(RegionPolicy)
    }
    return create_model("PolicySent", __base__=ResponseModel, **values)


def policy_change(*, simulated: bool = False) -> type[RequestModel]:
    """Return a model of some parts of a policy, to derive from. A part that is left out stays as it is.

    simulated   only the parts that a what-if may imagine otherwise
    """
    values: dict[str, Any] = {
        one.name: (
            _STRICT[type(one.default)],
            # Its value is never read, and a factory keeps it out of the OpenAPI document: left out is not the default.
            Field(
                default_factory=_always(one.default), description=one.metadata["description"], **one.metadata["bounds"]
            ),
        )
        for one in fields(RegionPolicy)
        if one.metadata.get("simulated", True) or not simulated
    }
    return create_model("PolicyChange", __base__=RequestModel, **values)


def _always(value: object) -> Callable[[], object]:
    return lambda: value
