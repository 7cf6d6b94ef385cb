"""An explanation as JSON: its shapes."""

from __future__ import annotations

from pydantic import Field

from libs.web.model import ResponseModel


class CostOut(ResponseModel):
    """Costs by term, in the policy's currency."""

    stability: float = Field(description="Of servers that leave (expression 1)")
    rack_spread: float = Field(description="Of capacity above the limit of a rack (2)")
    msb_spread: float = Field(description="Of capacity above the limit of an MSB (3)")
    buffer: float = Field(description="Of the embedded buffer (4)")
    short: float = Field(description="Of capacity that is missing (6)")
    affinity: float = Field(description="Of capacity outside its datacenters' bands (7)")
    total: float


class StandingOut(ResponseModel):
    """What a reservation has, servers that are down not counted."""

    total_rru: float
    worst_msb_rru: float
    shortfall_rru: float
    off_affinity_rru: float


class HoldingOut(ResponseModel):
    """Servers of one hardware type in one MSB."""

    msb: str
    hardware_type: str
    servers: int
    rru: float


class TypeUseOut(ResponseModel):
    """A hardware type: what it has of it, and what is free."""

    hardware_type: str
    rru_per_server: float
    servers: int
    free_servers: int


class PlaceChangeOut(ResponseModel):
    """Where two answers differ."""

    msb: str
    hardware_type: str
    with_it: int = Field(description="Servers with everything as it is")
    without_it: int = Field(description="Servers in the best answer without it")


class OutcomeOut(ResponseModel):
    """The best answer without one thing, other reservations' servers as they are."""

    decides: bool | None = Field(description="Whether there is a better answer without it; null: not settled in time")
    saves: float = Field(description="What that answer saves in all other costs")
    short_rru: float = Field(description="What it is short of, without it")
    short_rru_now: float = Field(description="What it is short of, with it")
    changes: list[PlaceChangeOut]


class DeciderOut(ResponseModel):
    """One constraint or cost, and what would be best without it."""

    name: str = Field(examples=["MsbLoss", "Supply"])
    subject: str | None = Field(description="The hardware type, for Supply")
    claim: str = Field(description="For people")
    now: OutcomeOut = Field(description="With moves at their price: whether it keeps things as they are")
    afresh: OutcomeOut | None = Field(description="As if moves were free: whether it gives the reservation its shape")


class ShortageOut(ResponseModel):
    """What is missing."""

    reason: str
    message: str
    numbers: dict[str, float]


class LastSolveOut(ResponseModel):
    """What the last solve did for it, by today's spec and servers."""

    plan_id: int
    gained: int
    lost: int
    before: CostOut
    after: CostOut


class ExplanationOut(ResponseModel):
    """Why a reservation has the servers that it has, by targets."""

    summary: str = Field(description="For people: the whole in a paragraph")
    reservation: str
    capacity_rru: float
    survives_msb_loss: bool
    servers: int
    standing: StandingOut
    worst_msb: str | None
    holdings: list[HoldingOut]
    types: list[TypeUseOut]
    cost: CostOut = Field(description="The reservation's own costs")
    shortage: ShortageOut | None
    could_save: float = Field(description="What the best of its own and the free servers would save")
    settled: bool = Field(description="Whether it is proven that no more can be saved")
    deciders: list[DeciderOut]
    last_solve: LastSolveOut | None


class AffectedOut(ResponseModel):
    """A reservation that a move takes from or gives to."""

    reservation: str
    before: StandingOut
    after: StandingOut


class ViolationOut(ResponseModel):
    """Why no plan may do it."""

    reason: str
    message: str


class MoveEffectOut(ResponseModel):
    """One server bound elsewhere, all others as they are."""

    summary: str
    server: str
    from_reservation: str | None
    to_reservation: str | None = Field(description="null: free")
    costs: float = Field(description="What the region's costs grow by; below 0: they fall")
    before: CostOut = Field(description="The region's costs as it is")
    after: CostOut
    affected: list[AffectedOut]
    violations: list[ViolationOut]


class ServerExplanationOut(ResponseModel):
    """Why a server is where it is: what every other place would change."""

    summary: str
    moves: list[MoveEffectOut]
