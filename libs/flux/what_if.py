"""Change a world for a what-if. Models and measurements stay as they are. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from difflib import get_close_matches
from typing import Any

import numpy as np

from libs.domain.arrays import Names
from libs.domain.placement_what_if import NewRegion, PlacementWhatIf
from libs.domain.world import PlanningInputs, ServiceModels, Vocabulary

World = tuple[Vocabulary, ServiceModels, PlanningInputs]


class WhatIfError(ValueError):
    """The changes do not fit the world. The message names what is wrong."""


def changed_world(words: Vocabulary, models: ServiceModels, inputs: PlanningInputs, asked: PlacementWhatIf) -> World:
    """Return the world with the changes. Raises WhatIfError for a name that is unknown or taken, and for growth that
    would leave less than no traffic.
    """
    for new in asked.regions:
        words, models, inputs = _with_region(words, models, inputs, new)
    supply, growth = inputs.supply.copy(), inputs.traffic_growth.copy()
    for one in asked.supply:
        r = _index("region", words.regions, one.region)
        if one.hardware_type is None:
            supply[:, :, r] *= one.factor
        else:
            h = _index("hardware type", words.hardware_types, one.hardware_type)
            supply[:, h, r] = np.maximum(supply[:, h, r] * one.factor + one.add, 0.0)
    for grown in asked.growth:
        p = _index("product", words.products, grown.product)
        if grown.growth < -1:
            raise WhatIfError(f"growth of {grown.product} is {grown.growth:g}: no traffic at all is -1")
        growth[:, p] = (1 + growth[:, p]) * (1 + grown.growth) - 1
    lost = [_index("region", words.regions, name) for name in asked.lost]
    most, least = inputs.presence_max.copy(), inputs.presence_min.copy()
    capacity_min, capacity_max = inputs.controls.capacity_min.copy(), inputs.controls.capacity_max.copy()
    supply[:, :, lost] = 0.0
    most[:, lost] = least[:, lost] = 0.0
    capacity_min[:, lost] = capacity_max[:, lost] = 0.0
    rebalance = inputs.controls.rebalance | bool(lost)
    controls = replace(inputs.controls, capacity_min=capacity_min, capacity_max=capacity_max, rebalance=rebalance)
    changed = replace(
        inputs, controls=controls, supply=supply, traffic_growth=growth, presence_max=most, presence_min=least
    )
    return words, models, changed


def _with_region(words: Vocabulary, models: ServiceModels, inputs: PlanningInputs, new: NewRegion) -> World:
    """Return the world with one more region: the last one of every array over regions."""
    if new.region in words.regions:
        raise WhatIfError(f"region {new.region} is there already: change its supply instead")
    supply = _wider(inputs.supply, 0.0)
    for name, amount in new.supply.items():
        supply[:, _index("hardware type", words.hardware_types, name), -1] = amount
    given = inputs.controls
    controls = replace(
        given,
        rebalance_weight=_wider(given.rebalance_weight, 1.0),
        capacity_min=_wider(given.capacity_min, 0.0),
        capacity_max=_wider(given.capacity_max, np.inf),
        manual=_wider(given.manual, False),
        approval=_wider(given.approval, False),
        reason=_wider(given.reason, ""),
    )
    return (
        replace(words, regions=_wider(words.regions, new.region)),
        replace(models, baseline=_wider(models.baseline, 0.0), presence=_wider(models.presence, 0.0)),
        replace(
            inputs,
            supply=supply,
            ledger=_wider(inputs.ledger, 0.0),
            shifts=_wider(inputs.shifts, 0.0),
            granted=None if inputs.granted is None else _wider(inputs.granted, np.nan),
            presence_min=_wider(inputs.presence_min, 0.0),
            presence_max=_wider(inputs.presence_max, np.inf),
            controls=controls,
        ),
    )


def _wider(array: Any, value: object) -> Any:
    """Return the array with one more region, which has `value` everywhere."""
    more = np.full((*array.shape[:-1], 1), value, array.dtype)
    return np.concatenate([array, more], axis=-1)


def _index(kind: str, known: Names, name: str) -> int:
    names: Sequence[str] = [str(one) for one in known]
    if name not in names:
        raise WhatIfError(f"unknown {kind} {name}{_hint(name, names)}")
    return names.index(name)


def _hint(name: str, names: Iterable[str]) -> str:
    near = get_close_matches(name, list(names), n=1, cutoff=0.5)
    return f"; did you mean {near[0]}?" if near else ""
