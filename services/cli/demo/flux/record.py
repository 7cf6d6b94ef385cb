"""The record of the demo, and its proof: at every moment each service has the capacity that its traffic needs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from services.cli.client import Client, Json
from services.cli.demo.flux.world import REGIONS

Shares = Mapping[str, Mapping[str, float]]
Place = tuple[str, str]
"""A service and a region."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """A change of traffic or of capacity.

    shares  product -> region -> share of its traffic, from this moment on
    held    place -> RRU that it has at this moment even if any one MSB is lost; only the places that were looked at
    """

    at: datetime
    shares: Shares
    held: Mapping[Place, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """The service models of one plan: service -> product -> capacity for all of the product's traffic at peak."""

    at: datetime
    needs: Mapping[str, Mapping[str, float]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Lack:
    """A service that had less capacity than its traffic needed."""

    at: datetime
    service: str
    region: str
    held: float
    needed: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """The findings of a look at the whole record.

    moments   number of changes of traffic or of capacity
    looks     number of times that one service in one region was compared
    tightest  the smallest capacity held, as a share of what was needed at that moment
    """

    moments: int
    looks: int
    tightest: float
    lacks: tuple[Lack, ...]


def held_now(client: Client) -> dict[Place, float]:
    """Return what every reservation holds now, even if any one MSB is lost."""
    found = client.items("/v1/reservations", kind="guaranteed", limit=1000)
    return {(one["name"], one["region"]): one["status"]["held_after_msb_loss_rru"] for one in found}


def changes_of_capacity(client: Client, shifts: Sequence[Moment], first: datetime) -> Iterator[Moment]:
    """Yield a moment for each change of what a reservation held, from `first` on, with the traffic of that moment.

    shifts   all changes of traffic, in order of time
    """
    for reservation in client.items("/v1/reservations", kind="guaranteed", limit=1000):
        place = reservation["name"], reservation["region"]
        for interval in client.items(f"/v1/reservations/{reservation['reservation_id']}/history", limit=1000):
            at = datetime.fromisoformat(interval["from_at"])
            if at < first:
                break
            if interval["held_after_msb_loss_rru"] is not None:
                before = [one for one in shifts if one.at <= at]
                yield Moment(at=at, shares=before[-1].shares, held={place: interval["held_after_msb_loss_rru"]})


def load_model(client: Client, run: Json) -> Model:
    """Return the models of a plan run."""
    found = client.items("/v1/service-models", plan_run_id=run["plan_run_id"], limit=1000)
    documents = {one["service"]: one["document"] for one in found}
    needs = {
        service: {product: share * one["capacity"] for product, share in one["attribution"].items()}
        for service, one in documents.items()
    }
    return Model(at=datetime.fromisoformat(run["finished_at"]), needs=needs)


def prove(moments: Sequence[Moment], models: Sequence[Model]) -> Proof:
    """Compare capacity and need at every moment, by the latest model at that time. The need is that of the daily peak,
    at any hour of the day.
    """
    looks, tightest, lacks = 0, float("inf"), []
    for moment in moments:
        model = next((one for one in reversed(models) if one.at <= moment.at), models[0])
        for (service, region), held in moment.held.items():
            needed = sum(need * moment.shares[p][region] for p, need in model.needs[service].items())
            looks += 1
            tightest = min(tightest, held / needed) if needed > 0 else tightest
            if held < needed:
                lacks.append(Lack(at=moment.at, service=service, region=region, held=held, needed=needed))
    return Proof(moments=len(moments), looks=looks, tightest=tightest, lacks=tuple(lacks))


def by_region(shares: Shares) -> dict[str, float]:
    """Return region -> its average share of the products' traffic."""
    return {region: sum(one[region] for one in shares.values()) / len(shares) for region in REGIONS}
