"""`./scripts/bench roadef-all`: solve all machine reassignments of a folder from several seeds, and show their
spread.
"""

from __future__ import annotations

import argparse
import csv
import sys
from pathlib import Path
from statistics import fmean

from benchmarks.roadef import bench_roadef


def bench_roadef_all(argv: list[str]) -> dict[str, object]:
    """Solve model_NAME.txt and assignment_NAME.txt for each NAME, and write NAME_SEED.txt for a judge.

    A score is (cost - best known) / initial cost in percent, with the costs of reference.csv of the same folder.
    """
    parser = argparse.ArgumentParser(prog="bench roadef-all")
    parser.add_argument("data", type=Path)
    parser.add_argument("--out", type=Path, required=True, help="a folder for the answers")
    parser.add_argument("--seeds", type=lambda text: [int(seed) for seed in text.split(",")], default=[0, 1, 2])
    parser.add_argument("--instances", type=lambda text: text.split(","), help="names; all where left out")
    parser.add_argument("--time-limit", default="60", help="seconds of each, loading included")
    parser.add_argument("--tries", help="stop after so many changes, whatever the time: reproducible")
    parser.add_argument("--threads", help="walks side by side")
    given = parser.parse_args(argv)
    with (given.data / "reference.csv").open() as file:
        known = {row["instance"]: row for row in csv.DictReader(file)}
    given.out.mkdir(parents=True, exist_ok=True)
    options = [f"--time-limit={given.time_limit}"]
    options += [f"--{name}={value}" for name in ("tries", "threads") if (value := getattr(given, name))]
    scores: dict[str, list[float]] = {}
    runs: list[dict[str, object]] = []
    sys.stderr.write("| instance |" + "".join(f" seed {seed} |" for seed in given.seeds) + " mean |\n")
    sys.stderr.write("|---|" + "---|" * (len(given.seeds) + 1) + "\n")
    for name in given.instances or sorted(known):
        scores[name] = []
        for seed in given.seeds:
            files = [str(given.data / f"{kind}_{name}.txt") for kind in ("model", "assignment")]
            answer = str(given.out / f"{name}_{seed}.txt")
            run = bench_roadef([*files, "--out", answer, "--seed", str(seed), *options])
            scores[name].append(score(float(str(run["objective"])), known[name]))
            runs.append({"instance": name, "score": scores[name][-1], **run})
        row = "".join(f" {one:.2f} % |" for one in [*scores[name], fmean(scores[name])])
        sys.stderr.write(f"| {name} |{row}\n")
    every = [one for of_name in scores.values() for one in of_name]
    return {"mean_score": fmean(every), "worst_score": max(every), "runs": runs}


def score(cost: float, known: dict[str, str]) -> float:
    """Return the cost above the best known, in percent of the initial cost; below 0: better."""
    return 100 * (cost - float(known["best_known_unverified"])) / float(known["initial_cost"])
