"""Apply overrides: bounds that people set besides the inputs. They tighten limits, and never loosen them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from libs.domain.arrays import Floats, Indices, Names
from libs.domain.world import PlanningInputs, Vocabulary
from libs.interchange.files.errors import Problems
from libs.interchange.files.tables import Source, indices_of
from libs.interchange.files.world_table import Kind, WorldTable

FILE = "overrides.parquet"
CONTRADICTION = "bounds"
"""Field of the problem of a contradiction: every name is right, but no plan could meet all bounds."""
FIELDS: Mapping[str, Kind] = {
    "override": "number",
    "service": "name",
    "product": "name",
    "region": "name",
    "hardware_type": "name",
    "least": "number",
    "most": "number",
    "reason": "name",
}
_TOLERANCE = 1e-9


@dataclass(slots=True)
class _Bounds:
    """Bounds by place (A, R), with the source of each bound."""

    least: Floats
    most: Floats
    origin: str
    set_by: dict[tuple[int, int], list[tuple[str, float, float]]] = field(default_factory=lambda: defaultdict(list))

    def tighten(self, place: tuple[int, int], least: float, most: float, who: str) -> None:
        if place not in self.set_by:
            self.set_by[place].append((self.origin, float(self.least[place]), float(self.most[place])))
        self.set_by[place].append((who, least, most))
        self.least[place] = max(self.least[place], least)
        self.most[place] = min(self.most[place], most)

    def contradictions(self) -> Iterator[str]:
        """Yield a sentence for each place whose bounds contradict each other."""
        for place, setters in self.set_by.items():
            if self.least[place] > self.most[place] + _TOLERANCE:
                low, high = max(setters, key=lambda one: one[1]), min(setters, key=lambda one: one[2])
                yield f"{low[0]} asks for at least {low[1]:g}, and {high[0]} allows at most {high[2]:g}"


def apply_overrides(source: Source, words: Vocabulary, inputs: PlanningInputs, problems: Problems) -> PlanningInputs:
    """Return the inputs with the bounds of the table `overrides`, if there is one.

    A row limits a service's capacity in a region, on its own hardware type unless the row names another. Or it limits a
    product's share of its traffic there. Number 0 is a proposed override. Rows that contradict each other, or a limit
    of the inputs, are reported by name.
    """
    table = WorldTable(source, "overrides", problems, fields=FIELDS, optional=True)
    if not len(table):
        return inputs
    region = table.known("region", words.regions, "region")
    service, product = _known(table, "service", words.services), _known(table, "product", words.products)
    table.bad_rows((service == -1) == (product == -1), "service", "must name either a service or a product")
    placement = _placements(table, words, service)
    problems.raise_any()
    least, most = table.optional_numbers("least", 0.0), table.optional_numbers("most", np.inf)
    reason = table.optional_strings("reason", "no reason given")
    who = [f"{_called(n)} ({why})" for n, why in zip(table.numbers("override"), reason, strict=True)]
    c = inputs.controls
    capacity = _Bounds(c.capacity_min.copy(), c.capacity_max.copy(), "controls")
    presence = _Bounds(inputs.presence_min.copy(), inputs.presence_max.copy(), "presence_limits")
    reasons = c.reason.copy()
    for row in range(len(table)):
        bounds, at = (capacity, placement[row]) if service[row] >= 0 else (presence, product[row])
        place = int(at), int(region[row])
        bounds.tighten(place, float(least[row]), float(most[row]), who[row])
        if bounds is capacity:
            reasons[place] = "; ".join(filter(None, (reasons[place], who[row])))
    for message in (*capacity.contradictions(), *presence.contradictions(), *_sums(words, presence)):
        problems.add(FILE, message, field=CONTRADICTION)
    controls = replace(c, capacity_min=capacity.least, capacity_max=capacity.most, reason=reasons)
    return replace(inputs, controls=controls, presence_min=presence.least, presence_max=presence.most)


def _called(number: float) -> str:
    return f"override {number:.0f}" if number else "the new override"


def _known(table: WorldTable, field: str, names: Names) -> Indices:
    column = table.strings(field, nullable=True)
    found = indices_of(column, names)
    table.bad_rows(found == -2, field, f"{{}} is not a {field} of this world", column.names)
    return found


def _placements(table: WorldTable, words: Vocabulary, service: Indices) -> Indices:
    """Return the (N,) placement of each row: the service on the named type, or on its own; -1 without a service."""
    H = len(words.hardware_types)
    kind = _known(table, "hardware_type", words.hardware_types)
    kind = np.where(kind == -1, words.service_type[np.maximum(service, 0)], kind)
    of = np.full(len(words.services) * H, -1, np.int32)
    of[words.placement_service.astype(np.int64) * H + words.placement_type] = np.arange(len(words.placement_service))
    found = np.where((service >= 0) & (kind >= 0), of[np.maximum(service, 0) * H + np.maximum(kind, 0)], -1)
    message = "is neither the service's own type nor one that fungibility allows for it"
    table.bad_rows((service >= 0) & (kind >= 0) & (found < 0), "hardware_type", message)
    return found


def _sums(words: Vocabulary, presence: _Bounds) -> Iterator[str]:
    """Yield a sentence for each product whose shares can no longer sum to 1."""
    for p in sorted({place[0] for place in presence.set_by}):
        setters = sorted({who for place, all_ in presence.set_by.items() if place[0] == p for who, _, _ in all_[1:]})
        low, high = presence.least[p].sum(), presence.most[p].sum()
        if low > 1 + _TOLERANCE:
            yield f"the least shares of {words.products[p]} sum to {low:g}, more than all of it: {', '.join(setters)}"
        if high < 1 - _TOLERANCE:
            yield f"the largest shares of {words.products[p]} sum to {high:g}, not all of it: {', '.join(setters)}"
