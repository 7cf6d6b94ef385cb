"""`plimsoll rru fit`: propose the RRUs of a class from measured throughputs."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from libs.ras.rru_fit import fit_rru
from services.cli.client import Client
from services.cli.failure import CliFailure
from services.cli.output import Output, OutputOption, print_json, print_rows
from services.cli.rru.measurements import read_measurements
from services.cli.rru.values import filters_of, significant
from services.cli.rru.versions import WhyOption, ask, present_version

_COLUMNS = {
    "TYPE": "hardware_type",
    "RRU": "rru",
    "LOW": "low",
    "HIGH": "high",
    "WORKLOADS": "workloads",
    "MEASUREMENTS": "measurements",
}


def fit(
    file: Annotated[Path, typer.Argument(metavar="MEASUREMENTS", help="CSV file, one measured throughput per row")],
    reference: Annotated[str, typer.Option(metavar="TYPE", help="the hardware type whose RRU is 1")],
    type_column: Annotated[str, typer.Option(help="column of the hardware type")] = "hardware_type",
    value_column: Annotated[str, typer.Option(help="column of the throughput")] = "throughput",
    workload_column: Annotated[
        list[str] | None, typer.Option(help="column that names the workload, by which ratios are paired; repeatable")
    ] = None,
    where: Annotated[list[str] | None, typer.Option(metavar="COLUMN=VALUE", help="only these rows; repeatable")] = None,
    lower_is_better: Annotated[bool, typer.Option("--lower-is-better", help="the values are times")] = False,
    propose: Annotated[str | None, typer.Option(metavar="CLASS", help="ask for these RRUs as this class")] = None,
    region: Annotated[
        str | None, typer.Option("--region", "-r", envvar="PLIMSOLL_REGION", help="with --propose: the region")
    ] = None,
    reason: WhyOption = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Propose the RRUs of a class from measured throughputs: geometric means of the ratios to a reference type.

    LOW and HIGH bound an interval of 95 % confidence. `rru set --from` reads the JSON output.
    """
    if propose is not None and region is None:
        raise typer.BadParameter("--propose needs a --region")
    measurements = read_measurements(
        file,
        type_column=type_column,
        value_column=value_column,
        workload_columns=workload_column or [],
        where=filters_of(where or []),
        lower_is_better=lower_is_better,
    )
    try:
        fitted = fit_rru(measurements, reference)
    except ValueError as error:
        raise CliFailure(f"{file}: {error}") from error
    rru = {one.hardware_type: significant(one.rru) for one in fitted}
    rounded = [
        {name: significant(value) if isinstance(value, float) else value for name, value in asdict(one).items()}
        for one in fitted
    ]
    if propose is not None and region is not None:
        client, why = Client.connect(), reason or f"fit of {file.name}, {len(measurements)} measurements"
        if output is Output.TABLE:
            print_rows(rounded, _COLUMNS)
        version = present_version(client, region, propose)["version"]
        ask(client, region, propose, rru, version, reference=reference, reason=why, output=output)
    elif output is Output.JSON:
        print_json({"reference": reference, "rru": rru, "types": rounded})
    else:
        print_rows(rounded, _COLUMNS)
