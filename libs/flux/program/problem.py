"""The joint problem of capacity and traffic as arrays: models and inputs, with the changes of the ledger applied."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from libs.domain.arrays import Bools, Floats, Indices
from libs.domain.world import FluxPolicy, PlanningInputs, ServiceModels, Vocabulary
from libs.flux.models.load_models import fit_load_models


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class JointProblem:
    """The joint problem. T steps, P products, R regions, H hardware types, S services, K placements (service and type).

    phi           (S, P)        capacity for 100 % of a product's traffic, in units of the service's own type
    xi            (P, R)        presence now, with the shifts of the ledger
    kappa         (K, R)        baseline, with the ledger's changes until the end of the first step
    rho           (T, S, R)     residual: the part of the baseline that the model does not explain. In each step it
                                includes the ledger's changes until the end of that step.
    keeps         (S,) bool     True if the residual stays as it is
    weight        (S, R)        cost of a unit of residual, as a factor on the policy's
    total_min     (T, S)        least worldwide capacity of a service
    service       (K,) int      service of each placement
    kind          (K,) int      hardware type of each placement
    ratio         (K,)          units of the service's own type that one unit of a placement is worth
    capacity_min, capacity_max  (T, K, R)
    traffic       (T, P)        traffic of a product in each step: 1 + tau, without a fall in the first one
    presence_min, presence_max  (P, R)  shares of the traffic
    supply        (T, H, R)     m
    growth        (T, S)        gamma
    yielding      (T, S)        price of a unit of growth that is not granted; inf: it must be granted
    load          (S, P)        capacity for all traffic of a product by load tests; 0: there are none
    """

    phi: Floats
    xi: Floats
    kappa: Floats
    rho: Floats
    keeps: Bools
    weight: Floats
    total_min: Floats
    service: Indices
    kind: Indices
    ratio: Floats
    capacity_min: Floats
    capacity_max: Floats
    traffic: Floats
    presence_min: Floats
    presence_max: Floats
    supply: Floats
    growth: Floats
    yielding: Floats
    load: Floats
    policy: FluxPolicy

    @property
    def shape(self) -> tuple[int, int, int, int, int, int]:
        """The sizes T, P, R, H, S, K."""
        T, H, R = self.supply.shape
        return T, len(self.xi), R, H, len(self.phi), len(self.kappa)

    @property
    def alone(self) -> Bools:
        """Services with a single placement, (S,). Their capacity is the need of their traffic plus their residual."""
        return np.asarray(np.bincount(self.service, minlength=len(self.phi)) == 1)

    def own(self, placed: Floats) -> Floats:
        """Return a quantity per service (..., S, R), in units of the service's own type, from the quantity per
        placement (..., K, R).
        """
        S = len(self.phi)
        found = placed[..., :S, :].copy()
        for k in range(S, len(self.service)):
            found[..., self.service[k], :] += self.ratio[k] * placed[..., k, :]
        return found

    def pooled(self, placed: Floats) -> Floats:
        """Return a quantity per hardware type (..., H, R) from the quantity per placement (..., K, R)."""
        H = self.supply.shape[1]
        onto = np.zeros((H, len(self.kind)))
        onto[self.kind, np.arange(len(self.kind))] = 1.0
        return np.asarray(onto @ placed)


def joint_problem(words: Vocabulary, models: ServiceModels, inputs: PlanningInputs) -> JointProblem:
    """Return the problem with the ledger and the controls applied.

    A service without measurements has the capacity that it is granted and that others plan, within its controls. It
    gets no growth.
    """
    S = len(words.services)
    phi, xi, least = models.phi(), models.start_presence(inputs), models.least_capacity(words, inputs)
    own = np.zeros((len(least), S, least.shape[2]))
    np.add.at(own.swapaxes(0, 1), words.placement_service, (least * words.placement_ratio[:, None]).swapaxes(0, 1))
    controls, known = inputs.controls, models.modelled[words.placement_service][:, None]
    return JointProblem(
        phi=phi,
        xi=xi,
        kappa=models.start_baseline(inputs)[0],
        rho=own - phi @ xi,
        keeps=~controls.rebalance,
        weight=controls.rebalance_weight[:S],
        total_min=own.sum(2),
        service=words.placement_service,
        kind=words.placement_type,
        ratio=words.placement_ratio,
        capacity_min=np.where(known, controls.capacity_min, least),
        capacity_max=np.where(known, controls.capacity_max, least),
        traffic=inputs.planned_traffic(),
        presence_min=inputs.presence_min,
        presence_max=inputs.presence_max,
        supply=inputs.supply,
        growth=np.where(models.modelled, inputs.growth, 0.0),
        yielding=_yielding(inputs),
        load=fit_load_models(models, inputs.load_tests, inputs.policy.utilisation_max).needed,
        policy=inputs.policy,
    )


def _yielding(inputs: PlanningInputs) -> Floats:
    """Return the (T, S) price of a unit of growth not granted: below that of a deficit, and lower by priority.

    So growth is withheld before a baseline lacks capacity, and the least important growth is withheld first. This holds
    within a hardware type, where a withheld unit of growth frees a unit for a baseline.
    """
    ranks = np.unique(inputs.growth_priority[np.isfinite(inputs.growth_priority)])
    rank = np.searchsorted(ranks, inputs.growth_priority)
    price = inputs.policy.e3_deficit * (1 + rank) / (2 + len(ranks))
    return np.where(np.isfinite(inputs.growth_priority), price, np.inf)
