"""A world as arrays: the input of Flux. Names are stored once; all other arrays refer to a name by its index."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from libs.domain.arrays import Bools, Floats, Indices, Ints, Names
from libs.domain.load_tests import LoadTests


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Vocabulary:
    """The names of a world. P products, R regions, H hardware types, S services, K placements.

    A placement is a service on one hardware type. Each service has one on its own type, and one for each type that a
    fungibility rule adds.

    service_type       (S,) int    the hardware type that a service's capacity is measured in
    placement_service  (K,) int    placements 0 .. S-1 are the services on their own type
    placement_type     (K,) int    hardware type of the placement
    placement_ratio    (K,) float  units of the service's own type that one unit of this type is worth; 1 for the own
                                   type
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
    """Measurements by minute, without the minutes of drains and load tests. M samples.

    minute   (M,) int       ascending; minute 0 begins a day
    usage    (K, R, M)      in the hardware type's normalised capacity measure; nan: not reported
    traffic  (P, R, M)      requests per second at the product's gateways; nan: not reported
    """

    minute: Ints
    usage: Floats
    traffic: Floats


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ServiceControls:
    """Controls by owners and operators, per service (S,) or per placement and region (K, R).

    rebalance          (S,) bool     False: the residual keeps its present value
    automated          (S,) bool     True: actions run without a person
    requires_approval  (S,) bool     True: a person must approve actions
    lead_time_h        (S,) hours    from asking for capacity until the capacity serves
    rebalance_weight   (K, R)        factor on the policy's cost of a residual; 1: the policy's own
    capacity_min       (K, R)        least capacity of the placement in the region; 0: no limit
    capacity_max       (K, R)        largest capacity of the placement in the region; inf: no limit
    manual             (K, R) bool   True: not automated in this region, even if the service is automated
    approval           (K, R) bool   True: a person must approve in this region, even if the service needs no approval
    reason             (K, R) str    recorded reason for a limit; "": none was given
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
    """Penalty coefficients (Flux, appendix A), and the service's additions."""

    e1_traffic_shift: float = 1.0
    e2_largest_region: float = 10.0
    e3_deficit: float = 1000.0
    e4_double_occupancy: float = 0.1
    e5_residual: float = 0.5
    e6_spare_balance: float = 0.05
    oscillation: float = 0.0
    """Cost per unit of presence that moves between consecutive steps; a move there and back pays twice. 0: off."""
    executed_upsize_share: float = 1.0
    """Capacity that past cycles added per planned unit of upsize. Above 1, the plan sets supply aside for it."""
    executed_downsize_share: float = 1.0
    """Capacity that past cycles returned per planned unit of downsize. Below 1, the plan does not rely on the rest."""
    utilisation_max: float = 0.8
    """Default of the highest utilisation of a load-tested service while a region is lost."""
    upsize_h: float = 24.0
    """Estimated hours of an upsize, beyond the service's lead time."""
    shift_h: float = 4.0
    """Estimated hours to move the traffic of one product."""
    downsize_h: float = 12.0
    """Estimated hours of a downsize, or of a grant of growth."""
    approval_h: float = 48.0
    """Estimated hours until a person approves."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PlanningInputs:
    """The inputs that a plan must respect. T steps.

    step             (T,) int       numbers of the steps, ascending
    supply           (T, H, R)      m, capacity of a hardware type
    growth           (T, S)         gamma, inorganic growth in units of the service's own type
    growth_priority  (T, S) float   lower is granted first; inf: always granted in full
    traffic_growth   (T, P)         tau, growth of traffic by the end of each step, as a share of today's
    ledger           (T, K, R)      capacity changes by other writers that are due before the end of each step
    shifts           (P, R)         changes of presence by other writers that are due before the first step ends; a row
                                    sums to 0
    presence_min     (P, R)         least share of a product's traffic in a region
    presence_max     (P, R)         largest share of a product's traffic in a region
    load_tests       load tests of the services whose capacity must survive the loss of a region
    granted          (T, K, R)      capacity that the regions grant, with the changes by other writers that are due
                                    before the end of each step; nan: not known; None: nowhere known
    """

    step: Ints
    supply: Floats
    growth: Floats
    growth_priority: Floats
    traffic_growth: Floats
    ledger: Floats
    shifts: Floats
    presence_min: Floats
    presence_max: Floats
    controls: ServiceControls
    load_tests: LoadTests
    policy: FluxPolicy = field(default_factory=FluxPolicy)
    granted: Floats | None = None

    def planned_traffic(self) -> Floats:
        """Return the (T, P) traffic of each product that each step has capacity for, as a share of today's.

            1 + tau[t,p],   in the first step 1 + max(0, tau[t,p])

        Traffic changes at an unknown moment of a step, and only the first step is executed. So that one counts no fall.
        Source: Flux, expression 12, which is stated for growth of at least 0; docs/designs/0066.
        """
        found = 1.0 + self.traffic_growth
        found[:1] = np.maximum(found[:1], 1.0)
        return found


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ServiceModels:
    """The capacity that services need to serve their share of the products' traffic (Flux, 3.2). S services.

    modelled     (S,) bool      whether there are measurements; a service without them is not planned
    metric       (S,) str       the demand metric that explains its usage best
    capacity     (S,)           worldwide capacity at peak that the model explains, in units of the service's own type
    attribution  (S, P)         fractions of `capacity` by product; a row sums to 1
    baseline     (K, R)         kappa: usage in the daily peak window, in units of the placement's type
    presence     (P, R)         xi: share of the product's traffic in its peak window; a row sums to 1
    error        (S,)           root mean square error of the model over regions and time, as a share of the usage
    sampling     (S,)           standard error of the attribution due to few spans, as total variation distance
    throughput   (S,)           worldwide requests per second at peak; 0: not known
    coverage     (S,)           share of the service's spans that have a gateway upstream
    spans        (S,) int       spans seen
    reasons      (S,) tuple     identifiers of the reasons for low confidence; () where it is high
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

    def start_baseline(self, inputs: PlanningInputs) -> Floats:
        """Return the (T, K, R) baseline with the changes of other writers until the end of each step; at least 0.

        It is the granted capacity where that is known, but never less than the use: a service that uses more than it is
        granted needs what it uses.
        """
        used: Floats = np.maximum(self.baseline + inputs.ledger, 0.0)
        return used if inputs.granted is None else np.fmax(used, inputs.granted)

    def least_capacity(self, vocabulary: Vocabulary, inputs: PlanningInputs) -> Floats:
        """Return the (T, K, R) capacity that a plan gives at least, worldwide: the start baseline.

        Nothing is known of the need of a service without measurements. So it has exactly this, within its controls.
        """
        start, controls = self.start_baseline(inputs), inputs.controls
        unknown = ~self.modelled[vocabulary.placement_service][:, None]
        return np.where(unknown, np.clip(start, controls.capacity_min, controls.capacity_max), start)

    def present_capacity(self, inputs: PlanningInputs) -> Floats:
        """Return the (K, R) capacity from which resizes start: what is granted, or the baseline where that is not
        known. The first step's changes of other writers count as done.
        """
        baseline: Floats = self.start_baseline(inputs)[0]
        if inputs.granted is None:
            return baseline
        return np.where(np.isnan(inputs.granted[0]), baseline, inputs.granted[0])

    def start_presence(self, inputs: PlanningInputs) -> Floats:
        """Return the (P, R) presence with the shifts of other writers. A region gives no more than it has, and those
        that take it in get as much less.
        """
        gives = np.minimum(np.maximum(-inputs.shifts, 0.0), self.presence)
        takes = np.maximum(inputs.shifts, 0.0)
        asked = takes.sum(1, keepdims=True)
        takes *= np.divide(gives.sum(1, keepdims=True), asked, out=np.zeros_like(asked), where=asked > 0)
        return self.presence - gives + takes

    def phi(self) -> Floats:
        """Return the (S, P) capacity that a service needs for 100 % of a product's traffic."""
        return np.asarray(self.capacity[:, None] * self.attribution)

    def own_baseline(self, vocabulary: Vocabulary) -> Floats:
        """Return the (S, R) baseline over all types that a service runs on, in units of its own type."""
        own = np.zeros((len(self.capacity), self.baseline.shape[1]))
        np.add.at(own, vocabulary.placement_service, self.baseline * vocabulary.placement_ratio[:, None])
        return own

    def residual(self, vocabulary: Vocabulary) -> Floats:
        """Return the (S, R) residual rho: the baseline that the model does not explain."""
        return np.asarray(self.own_baseline(vocabulary) - self.phi() @ self.presence)
