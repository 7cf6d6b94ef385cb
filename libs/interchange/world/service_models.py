"""Read and write model.json: service models by name, in the interchange format."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from libs.domain.arrays import Floats, Names
from libs.domain.world import ServiceModels, Vocabulary
from libs.interchange.files.atomic import replacing
from libs.interchange.files.bounds import parse_json, read_json
from libs.interchange.files.errors import InterchangeError, Problem, Problems
from libs.interchange.files.tables import Source, open_file

MODEL_BYTES_MAX = 512 << 20


def service_models_document(words: Vocabulary, models: ServiceModels) -> dict[str, Any]:
    """Return the content of model.json: the fields of the format, and fields that explain the models."""
    rho, own = models.residual(words), models.own_baseline(words)
    services = {}
    for s in np.flatnonzero(models.modelled):
        services[str(words.services[s])] = {
            "hardware_type": words.hardware_types[words.service_type[s]],
            "metric": models.metric[s],
            "capacity": float(models.capacity[s]),
            "attribution": _by(words.products, models.attribution[s]),
            "baseline": _by(words.regions, own[s]),
            "residual": _by(words.regions, rho[s]),
            "error": float(models.error[s]),
            "confidence": "low" if models.reasons[s] else "high",
            "reasons": list(models.reasons[s]),
            "sampling_error": float(models.sampling[s]),
            "throughput": float(models.throughput[s]),
            "coverage": float(models.coverage[s]),
            "spans": int(models.spans[s]),
        }
    for k in range(len(words.services), len(words.placement_service)):
        if models.baseline[k].any():
            name, kind = words.services[words.placement_service[k]], words.hardware_types[words.placement_type[k]]
            services[str(name)].setdefault("elsewhere", {})[kind] = _by(words.regions, models.baseline[k])
    return {
        "services": services,
        "presence": {p: _by(words.regions, x) for p, x in zip(words.products, models.presence, strict=True)},
    }


def save_service_models(path: Path, words: Vocabulary, models: ServiceModels) -> None:
    """Write model.json atomically."""
    with replacing(path) as stream:
        stream.write((json.dumps(service_models_document(words, models), indent=1) + "\n").encode())


def load_service_models(path: Path, words: Vocabulary) -> ServiceModels:
    """Read model.json for a world's names. Residuals are computed again. Raises InterchangeError."""
    return read_service_models({path.name: path}, path.name, words)


def read_service_models(source: Source, name: str, words: Vocabulary) -> ServiceModels:
    """Read model.json from a file of a source. Raises InterchangeError."""
    try:
        with open_file(source, name) as stream:
            document = parse_json(read_json(stream, name, MODEL_BYTES_MAX))
    except (ValueError, OSError) as error:
        if isinstance(error, InterchangeError):
            raise
        raise InterchangeError([Problem(name, None, None, f"is not JSON: {error}")]) from error
    problems = Problems()
    models = _from_document(document, words, name, problems)
    problems.raise_any()
    return models


def _from_document(document: Any, words: Vocabulary, file: str, problems: Problems) -> ServiceModels:
    if not isinstance(document, dict) or not all(
        isinstance(document.get(key), dict) and all(isinstance(v, dict) for v in document[key].values())
        for key in ("services", "presence")
    ):
        raise InterchangeError([Problem(file, None, None, "has no objects `services` and `presence`")])
    S, K = len(words.services), len(words.placement_service)
    found: dict[str, dict[str, Any]] = document["services"]
    row = {name: s for s, name in enumerate(words.services)}
    for name in found.keys() - row.keys():
        problems.add(file, "is not a service of this world", field=f"services.{name}")

    def column(key: str, names: Names) -> Floats:
        values = np.zeros((S, len(names)))
        for name, s in row.items():
            if name in found:
                values[s] = _row(found[name].get(key), names, f"services.{name}.{key}", file, problems)
        return values

    def scalar(key: str, absent: float) -> Floats:
        values = np.full(S, absent)
        for name, s in row.items():
            if name in found:
                values[s] = _number(found[name].get(key, absent), f"services.{name}.{key}", file, problems)
        return values

    reasons, metric = np.empty(S, object), np.full(S, "calls", object)
    reasons[:] = [()] * S
    for name, s in row.items():
        if name in found:
            low = found[name].get("confidence") == "low"
            reasons[s] = tuple(map(str, found[name].get("reasons") or (["Stated"] if low else [])))
            metric[s] = str(found[name].get("metric"))
    attribution = column("attribution", words.products)
    for name, s in row.items():
        if name in found and abs(attribution[s].sum() - 1) > 1e-3:
            problems.add(file, "does not sum to 1", field=f"services.{name}.attribution")
    baseline = np.zeros((K, len(words.regions)))
    baseline[:S] = column("baseline", words.regions)
    for k in range(S, K):
        name, kind = words.services[words.placement_service[k]], words.hardware_types[words.placement_type[k]]
        elsewhere = found.get(str(name), {}).get("elsewhere", {}).get(kind)
        if elsewhere is not None:
            baseline[k] = _row(elsewhere, words.regions, f"services.{name}.elsewhere.{kind}", file, problems)
            baseline[words.placement_service[k]] -= baseline[k] * words.placement_ratio[k]
    presence = np.zeros((len(words.products), len(words.regions)))
    for p, product in enumerate(words.products):
        presence[p] = _row(document["presence"].get(product), words.regions, f"presence.{product}", file, problems)
    return ServiceModels(
        modelled=np.array([name in found for name in words.services], bool),
        metric=metric,
        capacity=scalar("capacity", 0.0),
        attribution=attribution,
        baseline=baseline,
        presence=presence,
        error=scalar("error", 0.0),
        sampling=scalar("sampling_error", 0.0),
        throughput=scalar("throughput", 0.0),
        coverage=scalar("coverage", 1.0),
        spans=scalar("spans", 0.0).astype(np.int64),
        reasons=reasons,
    )


def _by(names: Names, values: Floats) -> dict[str, float]:
    return {str(name): float(value) for name, value in zip(names, values, strict=True)}


def _row(value: Any, names: Names, field: str, file: str, problems: Problems) -> Floats:
    if not isinstance(value, dict):
        problems.add(file, "is missing, or is not an object of numbers", field=field)
        return np.zeros(len(names))
    for name in value.keys() - set(names):
        problems.add(file, f"names {name!r}, which this world lacks", field=field)
    return np.array([_number(value.get(name, 0.0), f"{field}.{name}", file, problems) for name in names])


def _number(value: Any, field: str, file: str, problems: Problems) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not np.isfinite(value):
        problems.add(file, f"{value!r} is not a finite number", field=field)
        return 0.0
    return float(value)
