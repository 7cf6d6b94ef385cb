"""`plimsoll flux figures`: how the loop did over the latest executions and runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from services.cli.client import Client, Json
from services.cli.failure import CliFailure
from services.cli.output import Output, OutputOption, print_json, print_rows, say

_EXECUTIONS, _MODELS = "/v1/execution-figures", "/v1/model-figures"
_PICTURES = {
    "automation": f"{_EXECUTIONS}/pictures/automation.svg",
    "completion": f"{_EXECUTIONS}/pictures/completion.svg",
    "coverage": f"{_EXECUTIONS}/pictures/coverage.svg",
    "residuals": f"{_MODELS}/pictures/residuals.svg",
}


def figures(
    last: Annotated[int, typer.Option(min=1, max=104, help="so many executions and runs, the latest")] = 26,
    service: Annotated[str | None, typer.Option(help="this service only; default: the largest ones")] = None,
    save: Annotated[Path | None, typer.Option(help="write the four pictures to this folder")] = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Show coverage, completion and automation of executions, and residuals of models."""
    client = Client.connect()
    if save is not None:
        save.mkdir(parents=True, exist_ok=True)
        for name, path in _PICTURES.items():
            (save / f"{name}.svg").write_bytes(client.download(path, last=last, service=service))
        say(f"written to {save}")
        return
    executions = client.get(_EXECUTIONS, last=last, service=service)
    models = client.get(_MODELS, last=last, service=service)
    if output is Output.JSON:
        print_json({"executions": executions, "models": models})
        return
    if service is not None and not any(map(_latest, _series(executions, models))):
        raise CliFailure(
            f"no service {service} is in the latest {last} executions and plans: `plimsoll flux figures` lists the "
            "largest ones"
        )
    print_rows([_execution(one) for one in executions["executions"]], _EXECUTION_COLUMNS)
    print_rows(_services(executions, models), _SERVICE_COLUMNS)


_SHARES = (("upsized", "upsize"), ("downsized", "downsize"), ("shifted", "shift"))
_EXECUTION_COLUMNS = {
    "EXECUTION": "execution",
    "STATE": "state",
    "STARTED": "started",
    **{done.upper(): f"{done}%" for done, _ in _SHARES},
    "AUTOMATED": "automated%",
    "HOURS": "hours",
    "RESIZE H": "resize_h",
}
_SERVICE_COLUMNS = {
    "SERVICE": "service",
    **{name.upper(): name for name in ("planned", "executed", "above", "below")},
    "RESIDUAL": "residual%",
    "ERROR": "error%",
}


def _series(executions: Json, models: Json) -> list[list[Any]]:
    return [*(one["executions"] for one in executions["services"]), *(one["runs"] for one in models["services"])]


def _execution(one: Json) -> dict[str, Any]:
    found = one["figures"] or {}
    return {
        "execution": one["plan_execution_id"],
        "state": one["state"],
        "started": one["started_at"],
        **{done: _share(found.get(done), found.get(planned)) for done, planned in _SHARES},
        "automated": _share(found.get("automated"), 1.0),
        "hours": one["completion_h"],
        "resize_h": None if one["resize_h"] is None else one["resize_h"][2],
    }


def _services(executions: Json, models: Json) -> list[dict[str, Any]]:
    """Return each service with its latest execution and its latest model."""
    model = {one["service"]: _latest(one["runs"]) or {} for one in models["services"]}
    resized = {one["service"]: _latest(one["executions"]) or {} for one in executions["services"]}
    return [
        {
            "service": name,
            **{key: resized.get(name, {}).get(key) for key in ("planned", "executed", "above", "below")},
            **{key: model.get(name, {}).get(key) for key in ("residual", "error")},
        }
        for name in dict.fromkeys([*resized, *model])
    ]


def _latest(found: list[Any]) -> Any:
    return next((one for one in reversed(found) if one is not None), None)


def _share(part: float | None, whole: float | None) -> float | None:
    return part / whole if part is not None and whole else None
