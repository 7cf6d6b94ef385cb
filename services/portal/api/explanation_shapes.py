"""Define the JSON shapes of an explanation."""

from __future__ import annotations

from pydantic import Field

from libs.web.model import ResponseModel
from libs.web.motion_out import LoanSummaryOut, UrgentSummaryOut
from libs.web.wait_out import DepartureWaitOut
from services.portal.api.reservation_out import Condition, FurtherLossOut


class CostOut(ResponseModel):
    """Costs by term, in the policy's currency."""

    stability: float = Field(description="Cost of servers that leave (RAS, expression 1)")
    rack_spread: float = Field(description="Cost of capacity above the limit of a rack (RAS, expression 2)")
    msb_spread: float = Field(description="Cost of capacity above the limit of an MSB (RAS, expression 3)")
    buffer: float = Field(description="Cost of the embedded buffer (RAS, expression 4)")
    surplus: float = Field(description="Cost of servers above the fewest that could give the capacity")
    power: float = Field(default=0.0, description="Cost of kW that MSBs draw above the levels of an even region")
    locality: float = Field(default=0.0, description="Cost of domains beyond those that the reservation prefers")
    uplinks: float = Field(default=0.0, description="Cost of Gbit/s that racks send above the limits of their uplinks")
    short: float = Field(description="Cost of missing capacity (RAS, expression 6)")
    affinity: float = Field(description="Cost of capacity outside the bands of datacenters (RAS, expression 7)")
    total: float


class StandingOut(ResponseModel):
    """The capacity of a reservation, without servers that are down."""

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


class HolderOut(ResponseModel):
    """A reservation, and the number of its servers of some hardware type, by target bindings."""

    reservation: str
    servers: int


class TypeUseOut(ResponseModel):
    """The servers of a hardware type: those of the reservation, and the free ones."""

    hardware_type: str
    rru_per_server: float
    servers: int
    free_servers: int = Field(description="Usable now: up, in a known state, in no reservation and not bound to one")
    holders: list[HolderOut] = Field(
        description="Other reservations with most servers of the type, at most 10, shared buffers included"
    )


class PlaceChangeOut(ResponseModel):
    """The place where two answers differ."""

    msb: str
    hardware_type: str
    with_it: int = Field(description="Servers now")
    without_it: int = Field(description="Servers in the best answer without this constraint or cost")


class OutcomeOut(ResponseModel):
    """The best answer without one constraint or cost, with the servers of other reservations fixed."""

    decides: bool | None = Field(
        description="Whether a better answer exists without this constraint or cost; null: not known in time"
    )
    saves: float = Field(description="Amount by which that answer lowers all other costs")
    short_rru: float = Field(description="RRU that the reservation lacks in that answer")
    short_rru_now: float = Field(description="RRU that the reservation lacks now")
    changes: list[PlaceChangeOut]


class DeciderOut(ResponseModel):
    """One constraint or cost, and the best answers without it."""

    name: str = Field(examples=["MsbLoss", "Supply"])
    subject: str | None = Field(description="The hardware type, for the decider Supply; null for others")
    claim: str = Field(description="For people")
    now: OutcomeOut = Field(
        description="The outcome if moves cost what they do: whether the decider keeps the present servers"
    )
    afresh: OutcomeOut | None = Field(
        description="The outcome if moves were free: whether the decider shapes the reservation"
    )


class ShortageOut(ResponseModel):
    """The missing capacity of a reservation."""

    reason: str
    message: str
    numbers: dict[str, float]


class LastSolveOut(ResponseModel):
    """The last solve's changes to the reservation, valued with today's spec and servers."""

    plan_id: int
    gained: int
    lost: int
    before: CostOut
    after: CostOut


class ExplanationOut(ResponseModel):
    """Why a reservation has its servers, by target bindings."""

    summary: str = Field(description="For people: the whole in a paragraph")
    reservation: str
    capacity_rru: float
    survives_msb_loss: bool
    survives_loss_of: list[str] = Field(description="Further kinds of domain whose loss it survives")
    target_rru: float = Field(
        description="RRU that its target bindings will give. The explanation is about target bindings"
    )
    held_rru: float = Field(description="RRU of the servers that have joined it and are up")
    held_after_msb_loss_rru: float = Field(description="RRU of the same servers without the MSB that gives most")
    held_after_further_losses: list[FurtherLossOut] = Field(
        description="The worst loss of each further kind of domain in survives_loss_of"
    )
    ready: Condition = Field(description="Whether the servers that it holds now give what it asks for")
    waits: DepartureWaitOut | None = Field(
        description="Servers that may not leave the reservation yet, and the cause; null: all may leave"
    )
    loans: LoanSummaryOut | None = Field(
        description="Servers lent to the reservation for the time of an exchange; null: none"
    )
    urgent: UrgentSummaryOut | None = Field(
        description="Servers that operators want out of the reservation at once; null: none"
    )
    servers: int
    standing: StandingOut
    worst_msb: str | None
    holdings: list[HoldingOut]
    types: list[TypeUseOut]
    cost: CostOut = Field(description="The reservation's own costs")
    shortage: ShortageOut | None
    could_save: float = Field(description="Saving of the best choice among its own and the free servers")
    settled: bool = Field(description="Whether that saving is proven to be the largest")
    deciders: list[DeciderOut]
    last_solve: LastSolveOut | None


class AffectedOut(ResponseModel):
    """A reservation that gains or loses a server by a move."""

    reservation: str
    before: StandingOut
    after: StandingOut


class ViolationOut(ResponseModel):
    """The reason that forbids a move."""

    reason: str
    message: str


class MoveEffectOut(ResponseModel):
    """One server bound elsewhere, with all others unchanged."""

    summary: str
    server: str
    from_reservation: str | None
    to_reservation: str | None = Field(description="null: free")
    costs: float = Field(description="Increase of the region's costs; below 0: a decrease")
    before: CostOut = Field(description="The region's costs without the move")
    after: CostOut
    affected: list[AffectedOut]
    violations: list[ViolationOut]


class ServerExplanationOut(ResponseModel):
    """Why a server is in its place: the effect of each other place."""

    summary: str
    moves: list[MoveEffectOut]
