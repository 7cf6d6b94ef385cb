"""`plimsoll flux figures`: how the loop did over the latest executions and runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from services.cli.client import Client, Json
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
    rows = [_execution(one) for one in executions["executions"]]
    print_rows(rows, {name: name for name in ("EXECUTION", "STATE", "STARTED", *_SHARES)})
    rows = _services(executions, models)
    print_rows(rows, {name: name for name in ("SERVICE", "PLANNED", "EXECUTED", "ABOVE", "BELOW", "RESIDUAL %")})


_SHARES = ("UPSIZED %", "DOWNSIZED %", "SHIFTED %", "AUTOMATED %", "HOURS", "RESIZE H")


def _execution(one: Json) -> dict[str, Any]:
    found = one["figures"] or {}
    shares = {
        f"{done.upper()} %": _percent(found.get(done), found.get(planned))
        for done, planned in (("upsized", "upsize"), ("downsized", "downsize"), ("shifted", "shift"))
    }
    return {
        "EXECUTION": one["plan_execution_id"],
        "STATE": one["state"],
        "STARTED": one["started_at"],
        **shares,
        "AUTOMATED %": _percent(found.get("automated"), 1.0),
        "HOURS": one["completion_h"],
        "RESIZE H": None if one["resize_h"] is None else one["resize_h"][2],
    }


def _services(executions: Json, models: Json) -> list[dict[str, Any]]:
    """Return each service with its latest execution and its latest model."""
    residual = {one["service"]: _latest(one["runs"]) for one in models["services"]}
    resized = {one["service"]: _latest(one["executions"]) for one in executions["services"]}
    return [
        {
            "SERVICE": name,
            **{key.upper(): (resized.get(name) or {}).get(key) for key in ("planned", "executed", "above", "below")},
            "RESIDUAL %": _percent((residual.get(name) or {}).get("residual"), 1.0),
        }
        for name in dict.fromkeys([*resized, *residual])
    ]


def _latest(found: list[Any]) -> Any:
    return next((one for one in reversed(found) if one is not None), None)


def _percent(part: float | None, whole: float | None) -> float | None:
    return round(100 * part / whole, 1) if part is not None and whole else None
