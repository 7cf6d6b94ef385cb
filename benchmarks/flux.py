"""`bench flux` and `bench traces`: model and plan a world folder, and read and attribute spans."""

from __future__ import annotations

import argparse
import resource
import time
from pathlib import Path

from libs.flux.attribution.attributor import Attributor
from libs.flux.report.summary import plan_document
from libs.interchange.traces.intake import Intake
from libs.interchange.traces.readers import read_traces
from libs.interchange.world.execution_plan import save_execution_plan
from libs.interchange.world.placement_plan import placement_plan_document, save_placement_plan
from libs.interchange.world.read import load_gateways
from libs.interchange.world.service_models import save_service_models
from services.cli.flux.offline import WINDOW_SPANS, make_models, make_plan


def bench_flux(argv: list[str]) -> dict[str, object]:
    """Model and plan one world. plan_cpu_s is of this process: one core, independent of other processes."""
    parser = argparse.ArgumentParser(prog="bench flux")
    parser.add_argument("world", type=Path)
    parser.add_argument("--out", type=Path, help="a folder for model.json, plan.json and dag.json; left out: not kept")
    given = parser.parse_args(argv)
    began = time.perf_counter()
    made = make_models(given.world)
    modelled, cpu = time.perf_counter(), time.process_time()
    planned = make_plan(given.world, made=made.models)
    done, cpu_s = time.perf_counter(), time.process_time() - cpu
    if given.out is not None:
        save_service_models(given.out / "model.json", made.words, made.models)
        document = placement_plan_document(planned.words, planned.models, planned.inputs, planned.solved.plan)
        save_placement_plan(given.out / "plan.json", document)
        save_execution_plan(given.out / "dag.json", planned.execution)
    return {
        "services": int(made.models.modelled.sum()),
        **made.counts,
        "spans_per_s": made.counts["spans"] / made.step_s["traces"],
        "model_s": modelled - began,
        **{f"model_{name}_s": seconds for name, seconds in made.step_s.items()},
        "plan_s": done - modelled,
        "plan_cpu_s": cpu_s,
        **plan_document(planned),
        "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def bench_traces(argv: list[str]) -> dict[str, object]:
    """Read one trace file and attribute its spans. cpu_s is of this process: one core, independent of other
    processes.
    """
    parser = argparse.ArgumentParser(prog="bench traces")
    parser.add_argument("file", type=Path)
    parser.add_argument(
        "--world", type=Path, required=True, help="the folder whose gateways.csv names the entry points"
    )
    given = parser.parse_args(argv)
    gateways = load_gateways(given.world)
    intake = Intake(gateways=gateways.operations)
    found = Attributor(products=len(gateways.products), window=WINDOW_SPANS)
    began, cpu = time.perf_counter(), time.process_time()
    for spans in read_traces(given.file, intake):
        found.add(spans, found.spans, len(intake.services))
    found.finish(len(intake.services))
    wall_s, cpu_s = time.perf_counter() - began, time.process_time() - cpu
    return {
        "spans": found.spans,
        "wall_s": wall_s,
        "cpu_s": cpu_s,
        "spans_per_s": found.spans / wall_s,
        "spans_per_cpu_s": found.spans / cpu_s,
        "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }
