"""Resources beside RRU in requests and in the status, and their check against what hardware types have."""

from __future__ import annotations

from collections.abc import Collection
from typing import Annotated

from pydantic import Field

from libs.domain.reservation import Reservation
from libs.domain.resources import AMOUNT_MAX, AMOUNT_MIN, NAME_CHARACTERS_MAX, RESOURCES_MAX, is_resource
from libs.store.fleet.resources import load_amounts
from libs.store.platform.database import Transaction
from libs.web.model import Number, ResponseModel, SomeName
from libs.web.names import unknown_name
from libs.web.problems import FieldError

ResourceAmounts = Annotated[
    dict[
        Annotated[SomeName, Field(max_length=NAME_CHARACTERS_MAX)],
        Annotated[Number, Field(ge=AMOUNT_MIN, le=AMOUNT_MAX)],
    ],
    Field(max_length=RESOURCES_MAX),
]


class ResourceStatus(ResponseModel):
    """The amounts of one resource that a reservation asks for and has, in units of the resource."""

    resource: str
    asked: float = Field(description="Amount asked for, granted or not")
    target: float = Field(description="Amount that its target bindings will give")
    held: float = Field(description="Amount in the servers that have joined it and are up")
    held_after_loss: float = Field(description="Amount in the same servers after the worst loss that it survives")
    short: float = Field(description="Amount that the target bindings lack, after that loss")


def wrong_resources(tx: Transaction, names: Collection[str]) -> list[FieldError]:
    """Return an error for each resource of which no hardware type has an amount."""
    if not names:
        return []
    known = {resource for amounts in load_amounts(tx).values() for resource in amounts if is_resource(resource)}
    return [unknown_name(f"spec.resources.{one}", "resource", one, known) for one in names if one not in known]


def resource_statuses(reservation: Reservation) -> list[ResourceStatus]:
    """Return the status of each resource that a reservation asks for, in order of name."""
    held = {one.resource: one for one in reservation.held.resources}
    target = {one.resource: one for one in reservation.target.resources}
    return [
        ResourceStatus(
            resource=name,
            asked=asked,
            target=target[name].total if name in target else 0.0,
            held=held[name].total if name in held else 0.0,
            held_after_loss=held[name].left if name in held else 0.0,
            short=target[name].short if name in target and not reservation.scheduled else 0.0,
        )
        for name, asked in sorted(reservation.spec.resources.items())
    ]
