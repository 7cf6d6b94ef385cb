"""A world as arrays: what Flux measures and plans from. Names are kept aside; everything else is an index."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from libs.domain.fleet import Bools, Floats, Indices, Ints, Names
from libs.domain.load_tests import LoadTests


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Vocabulary:
    """The names of a world. P products, R regions, H hardware types, S services, K placements.

    A placement is a service on one hardware type: every service on its own, and on those that a fungibility rule adds.

    service_type       (S,) int    the hardware type that a service's capacity is measured in
    placement_service  (K,) int    placements 0 .. S-1 are the services on their own type
    placement_type     (K,) int
    placement_ratio    (K,) float  units of the service's own type that one unit of this type is worth; own: 1
    """

    products: Names
    regions: Names
    hardware_types: Names
    services: Names
    service_type: Indices
    placement_service: Indices
    placement_type: Indices
    placement_ratio: Floats


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Observations:
    """What was measured, minute by minute, with the minutes of drains and load tests already left out. M samples.

    minute   (M,) int       ascending; minute 0 begins a day
    usage    (K, R, M)      in the hardware type's normalised capacity measure; nan: not reported
    traffic  (P, R, M)      requests per second at the product's gateways; nan: not reported
    """

    minute: Ints
    usage: Floats
    traffic: Floats


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ServiceControls:
    """What owners and operators allow, per service (S,) or per placement and region (K, R).

    rebalance          (S,) bool     False: the residual stays as it is
    automated          (S,) bool     carried out without a person
    requires_approval  (S,) bool     a person approves before
    lead_time_h        (S,) hours    from asking for capacity to serving with it
    rebalance_weight   (K, R)        factor on the cost of a residual: how strongly to rebalance; 1 is the policy's own
    capacity_min       (K, R)        no less may be placed here; 0: no limit
    capacity_max       (K, R)        no more may be placed here; inf: no limit
    manual             (K, R) bool   not automated here, whatever the service says
    approval           (K, R) bool   a person approves here, whatever the service says
    reason             (K, R) str    why a limit was set, as recorded with it; "" where nobody set one
    """

    rebalance: Bools
    automated: Bools
    requires_approval: Bools
    lead_time_h: Floats
    rebalance_weight: Floats
    capacity_min: Floats
    capacity_max: Floats
    manual: Bools
    approval: Bools
    reason: Names


@dataclass(frozen=True, slots=True, kw_only=True)
class FluxPolicy:
    """Penalty coefficients (Flux, appendix A), and what the service adds to them, which is off by default."""

    e1_traffic_shift: float = 1.0
    e2_largest_region: float = 10.0
    e3_deficit: float = 1000.0
    e4_double_occupancy: float = 0.1
    e5_residual: float = 0.5
    e6_spare_balance: float = 0.05
    oscillation: float = 0.0
    """Per unit of presence that moves between consecutive steps: what goes there and back pays twice."""
    executed_upsize_share: float = 1.0
    """What past cycles really added per unit of upsize planned; above 1, supply is set aside for it."""
    executed_downsize_share: float = 1.0
    """What past cycles really gave back per unit of downsize planned; below 1, the rest is not counted on."""
    utilisation_max: float = 0.8
    """How busy a load-tested service may be while a region is lost, where its load tests do not say."""
    upsize_h: float = 24.0
    """Hours that an upsize is estimated to take beyond the service's lead time."""
    shift_h: float = 4.0
    """Hours that moving one product's traffic is estimated to take."""
    downsize_h: float = 12.0
    """Hours that a downsize, or a grant of growth, is estimated to take."""
    approval_h: float = 48.0
    """Hours that a person is estimated to take."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PlanningInputs:
    """What a plan must respect. T steps.

    step             (T,) int       their numbers, ascending
    supply           (T, H, R)      m, capacity of a hardware type
    growth           (T, S)         gamma, inorganic growth in units of the service's own type
    growth_priority  (T, S) float   lower goes first; inf: granted in full, whatever gives
    traffic_growth   (T, P)         tau
    ledger           (K, R)         capacity changes that other writers planned before the first step ends
    presence_min     (P, R)         least share of a product's traffic in a region
    presence_max     (P, R)         largest share
    load_tests       of services whose capacity must outlast the loss of a region
    """

    step: Ints
    supply: Floats
    growth: Floats
    growth_priority: Floats
    traffic_growth: Floats
    ledger: Floats
    presence_min: Floats
    presence_max: Floats
    controls: ServiceControls
    load_tests: LoadTests
    policy: FluxPolicy = field(default_factory=FluxPolicy)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ServiceModels:
    """What a service needs to serve its share of the products' traffic (Flux, 3.2). S services.

    modelled     (S,) bool      whether anything was measured; nothing else is planned
    metric       (S,) str       the demand metric that explains its use best
    capacity     (S,)           worldwide capacity at peak that the model explains, in units of its own type
    attribution  (S, P)         fractions of it by product; a row sums to 1
    baseline     (K, R)         kappa: use in the daily peak window, in units of the placement's type
    presence     (P, R)         xi: share of the product's traffic in its peak window; a row sums to 1
    error        (S,)           root mean square of what the model misses over regions and time, as a share of the use
    sampling     (S,)           standard error of the attribution for want of spans, as a distance
    throughput   (S,)           requests per second that it gets worldwide at peak; 0: not known
    coverage     (S,)           share of its spans that a gateway explains
    spans        (S,) int       spans seen
    reasons      (S,) tuple     identifiers of why its confidence is low; () where it is high
    """

    modelled: Bools
    metric: Names
    capacity: Floats
    attribution: Floats
    baseline: Floats
    presence: Floats
    error: Floats
    sampling: Floats
    throughput: Floats
    coverage: Floats
    spans: Ints
    reasons: Names

    def phi(self) -> Floats:
        """(S, P) capacity that a service needs for 100 % of a product's traffic."""
        return np.asarray(self.capacity[:, None] * self.attribution)

    def own_baseline(self, vocabulary: Vocabulary) -> Floats:
        """(S, R) the baseline over all types a service runs on, in units of its own."""
        own = np.zeros((len(self.capacity), self.baseline.shape[1]))
        np.add.at(own, vocabulary.placement_service, self.baseline * vocabulary.placement_ratio[:, None])
        return own

    def residual(self, vocabulary: Vocabulary) -> Floats:
        """(S, R) rho: what of the baseline the model does not explain."""
        return np.asarray(self.own_baseline(vocabulary) - self.phi() @ self.presence)
