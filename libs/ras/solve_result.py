"""Define the result of a solve: the plan and its report."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass

import numpy as np

from libs.assignment import ModelSize
from libs.domain.arrays import Floats, Ints, Names
from libs.domain.fleet import TargetPlan
from libs.ras.churn import Churn
from libs.ras.evaluate import Score
from libs.ras.loss_report import LossReport
from libs.ras.phases.report import PhaseReport
from libs.ras.power_report import PowerReport


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SolveReport:
    """A solve in numbers.

    step_s          seconds of each phase
    processor_s     processor seconds of this process during the solve, in all its threads
    peak_mib        the largest resident memory of the process so far
    size            the size of the mixed-integer program; None if time ran out before it was built
    score           the terms of the objective for the plan
    stay            the terms of the objective for the present targets
    lower_bound     lower bound of the total_without_rack of every plan. If the policy fixes first, it holds only for
                    plans in which no reservation regresses and the penalty is at most the penalty of this plan
    least_penalty   lower bound of the penalty of every plan
    reservation     (R,) the name of each reservation, in the order of the snapshot
    priority        (R,) the class of priority of each reservation
    shortfall_rru   (R,) the RRU that each reservation lacks
    units_per_rru   (R,) the cost units that the price of one RRU counts
    neighbourhoods  number of neighbourhoods tried. A neighbourhood is a small set of reservations that is solved while
                    all others stay
    improved        number of neighbourhoods that gained
    stopped_by      "finished", "time" or "cancelled": only "finished" is reproducible
    proven          whether the plan is optimal within the exact gap
    seed            the seed of the random numbers
    churn           the preemptions of the plan beside the churn budget; None: the budget does not apply
    phases          the later phases that had something to do, in their order
    losses          each kind of loss that reservations survive; () if none names a further kind than MSBs
    power           the power of domains before and after; None: no hardware type has watts
    chosen_domains  whether the solve chose domains for reservations with a `domains_max`. Its bounds then hold only for
                    plans within these domains (docs/designs/0054), and for this plan
    as_solved       the score that the gap compares with the bound, if `score` counts shortfalls of another moment than
                    the solve; None: it is `score`
    """

    step_s: dict[str, float]
    processor_s: float
    peak_mib: float
    size: ModelSize | None
    score: Score
    stay: Score
    lower_bound: float
    least_penalty: float
    reservation: Names
    priority: Ints
    shortfall_rru: Floats
    units_per_rru: Floats
    neighbourhoods: int
    improved: int
    stopped_by: str
    proven: bool
    seed: int
    churn: Churn | None = None
    phases: tuple[PhaseReport, ...] = ()
    losses: tuple[LossReport, ...] = ()
    power: PowerReport | None = None
    chosen_domains: bool = False
    as_solved: Score | None = None

    @property
    def gap(self) -> float:
        """Return (total_without_rack - lower_bound) / (lower_bound - least_penalty); nan if all costs are 0."""
        above, scale = self.above_bound, self.lower_bound - self.least_penalty
        if scale <= 1e-9:
            return 0.0 if above <= 1e-6 else math.nan
        return above / scale

    @property
    def above_bound(self) -> float:
        """Return the cost of the plan above the lower bound, racks not counted. Both see the servers as the solve read
        them: a server of a lost MSB that is awaited counts as present.
        """
        score = self.score if self.as_solved is None else self.as_solved
        return max(score.total_without_rack - self.lower_bound, 0.0)

    @property
    def limit_hit(self) -> bool:
        """Return whether a time limit or the caller ended the solve."""
        return self.stopped_by != "finished"

    def as_dict(self) -> dict[str, object]:
        """Return the report for JSON. Of the reservations, it names only those that are short."""
        short = [(str(n), float(s)) for n, s in zip(self.reservation, self.shortfall_rru, strict=True) if s > 1e-6]
        gap = self.gap
        losses = {"losses": [loss.as_dict() for loss in self.losses]} if self.losses else {}
        power = {} if self.power is None else {"power": self.power.as_dict()}
        churn = {} if self.churn is None else {"churn": self.churn.as_dict(self.reservation)}
        return {
            "solve_s": sum(self.step_s.values()),
            "step_s": self.step_s,
            "processor_s": self.processor_s,
            "peak_mib": self.peak_mib,
            "size": None if self.size is None else asdict(self.size),
            "objective": self.score.objective,
            "penalty": self.score.penalty,
            "total": self.score.total,
            "total_without_rack": self.score.total_without_rack,
            "terms": asdict(self.score),
            "stay": {
                "objective": self.stay.objective,
                "penalty": self.stay.penalty,
                "total": self.stay.total,
                "terms": asdict(self.stay),
            },
            "lower_bound": self.lower_bound,
            "least_penalty": self.least_penalty,
            "gap": None if math.isnan(gap) else gap,
            "above_bound": self.above_bound,
            "shortfall_rru": dict(short),
            "short_by_priority_rru": self._by_class(self.shortfall_rru),
            "short_by_priority_cost_units": self._by_class(self.shortfall_rru * self.units_per_rru),
            "neighbourhoods": {"tried": self.neighbourhoods, "improved": self.improved},
            "stopped_by": self.stopped_by,
            "limit_hit": self.limit_hit,
            "proven": self.proven,
            **({"chosen_domains": True} if self.chosen_domains else {}),
            "seed": self.seed,
            "phases": [phase.as_dict() for phase in self.phases],
            **losses,
            **churn,
            **power,
        }

    def _by_class(self, short: Floats) -> dict[str, float]:
        """Return the sum of `short` (R,) by class of priority, without classes that lack nothing."""
        sums = {str(k): float(short[self.priority == k].sum()) for k in np.unique(self.priority)}
        return {k: lacking for k, lacking in sums.items() if lacking > 1e-6}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SolveResult:
    """The plan of a solve, and the report of the solve."""

    plan: TargetPlan
    report: SolveReport
