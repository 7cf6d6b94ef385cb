"""The rules of an execution as a request body."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, StringConstraints, model_validator

from libs.domain.gate import Gate, GateMode, GateTime
from libs.domain.plan_execution import Terms
from libs.web.model import Name, Number, RequestModel, SomeName, Whole

_DAY_S = 86_400.0
_Seconds = Annotated[Number, Field(ge=0, le=30 * _DAY_S)]
_Bound = Annotated[Number, Field(ge=-1e15, le=1e15)]
_Query = Annotated[str, StringConstraints(max_length=5000)]
_PLAIN = Terms()


class GateIn(RequestModel):
    """A condition under which a shift goes on, or a downsize begins. It needs `most`, `least` or both."""

    name: Name
    time: GateTime = Field(
        description="fraction: asked at each fraction of a shift; downsize: asked before a downsize begins"
    )
    query: _Query = Field(
        description="The query. {product}, {service}, {region} and {to_region} are replaced by the names of the action"
    )
    source: Name = Field(default="prometheus", description="Gauge that answers the query: prometheus or load_test")
    mode: GateMode = Field(
        default=GateMode.HOLD,
        description="Reaction to a bad value: observe only records it, hold waits, reverse takes the shift back",
    )
    most: _Bound | None = None
    least: _Bound | None = None
    product: SomeName | None = Field(default=None, description="Only for shifts of this product")
    service: SomeName | None = Field(default=None, description="Only for downsizes of this service")
    samples_min: Annotated[Whole, Field(ge=1, le=30)] = 1
    bad_min: Annotated[Whole, Field(ge=1, le=30)] = 1
    age_s_max: Annotated[Number, Field(gt=0, le=_DAY_S)] = 300.0
    unknown_s_max: _Seconds = Field(default=3600.0, description="How long an action holds for an unknown verdict")
    then: GateMode = Field(default=GateMode.HOLD, description="Reaction after that time: hold for a person, or reverse")

    @model_validator(mode="after")
    def _bounded(self) -> Self:
        if self.most is None and self.least is None:
            raise ValueError("give most or least, or both")
        if self.most is not None and self.least is not None and self.least > self.most:
            raise ValueError("least is more than most")
        if self.then is GateMode.OBSERVE:
            raise ValueError("then must be hold or reverse: an unknown gate never passes")
        if self.time is GateTime.DOWNSIZE and GateMode.REVERSE in (self.mode, self.then):
            raise ValueError("a gate before a downsize cannot reverse: nothing has happened yet")
        return self


class TermsIn(RequestModel):
    """The rules of an execution. They do not change once it exists."""

    fractions: Annotated[list[Annotated[Number, Field(gt=0, le=1)]], Field(min_length=1, max_length=20)] = Field(
        default=list(_PLAIN.fractions), description="Fractions at which each shift stops, ascending; the last one is 1"
    )
    bake_s: _Seconds = Field(default=_PLAIN.bake_s, description="Least seconds at each fraction")
    downsize_bake_s: _Seconds = Field(
        default=_PLAIN.downsize_bake_s, description="Least seconds between the last shift and a downsize"
    )
    action_s_max: Annotated[Number, Field(gt=0, le=30 * _DAY_S)] = Field(
        default=_PLAIN.action_s_max, description="Seconds without a result after which the next attempt begins"
    )
    attempts_max: Annotated[Whole, Field(ge=1, le=20)] = _PLAIN.attempts_max
    retry_s: _Seconds = Field(
        default=_PLAIN.retry_s, description="Seconds before the second attempt. They double with each further attempt"
    )
    in_flight_max: Annotated[Whole, Field(ge=1, le=10_000)] = Field(
        default=_PLAIN.in_flight_max, description="Actions that run at a time"
    )
    gates: Annotated[list[GateIn], Field(max_length=100)] = Field(default_factory=list)

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.fractions != sorted(set(self.fractions)) or self.fractions[-1] != 1:
            raise ValueError("fractions must rise, and end with 1")
        names = [gate.name for gate in self.gates]
        if len(set(names)) < len(names):
            raise ValueError("two gates have the same name")
        return self

    def terms(self) -> Terms:
        """Return the rules."""
        values = {name: getattr(self, name) for name in TermsIn.model_fields}
        gates = tuple(Gate(**{name: getattr(gate, name) for name in GateIn.model_fields}) for gate in self.gates)
        return Terms(**values | {"fractions": tuple(self.fractions), "gates": gates})
