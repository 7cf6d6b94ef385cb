"""The API models of a region's policy, made from the fields of RegionPolicy with their bounds and descriptions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, create_model
from pydantic.json_schema import SkipJsonSchema

from libs.domain.policy import RegionPolicy
from libs.web.model import Flag, Number, RequestModel, ResponseModel

_STRICT: dict[type, Any] = {float: Number, bool: Flag}


def policy_sent() -> type[ResponseModel]:
    """Return a base model of a whole policy. It has no bounds, because a policy may come from a file."""
    values: dict[str, Any] = {
        one.name: (type(one.default), Field(description=one.metadata["description"])) for one in fields(RegionPolicy)
    }
    return create_model("PolicySent", __base__=ResponseModel, **values)


def policy_change(*, simulated: bool = False) -> type[RequestModel]:
    """Return a base model of a change of a policy. An omitted field keeps its value.

    simulated   only the fields that a what-if may change
    """
    values: dict[str, Any] = {
        one.name: (
            _STRICT[type(one.default)],
            # A factory keeps the default out of the OpenAPI document: an omitted field keeps its value.
            Field(
                default_factory=_always(one.default), description=one.metadata["description"], **one.metadata["bounds"]
            ),
        )
        for one in fields(RegionPolicy)
        if one.metadata.get("simulated", True) or not simulated
    }
    values |= {one.name: (_Refused, None) for one in fields(RegionPolicy) if one.name not in values}
    return create_model("PolicyChange", __base__=RequestModel, **values)


def _refuse(_: object) -> object:
    todo = "change it with `plimsoll policy REGION --set`, or PATCH /v1/regions/{region}"
    raise ValueError(f"cannot be tried in a simulation or a roll-out: {todo}")


_Refused = SkipJsonSchema[Annotated[Any, BeforeValidator(_refuse)]]
"""The type of a field of the policy that a what-if may not change. The OpenAPI document leaves it out."""


def _always(value: object) -> Callable[[], object]:
    return lambda: value
