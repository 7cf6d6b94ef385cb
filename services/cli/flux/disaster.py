"""Report disaster readiness for people and programs: the effect of the loss of each region."""

from __future__ import annotations

import json
from pathlib import Path

from libs.flux.planning import Planned
from libs.flux.report.disaster import disaster_document
from libs.interchange.files.atomic import replacing
from services.cli.output import print_rows, stdout

SHOWN_MAX = 10


def write_disaster(path: Path, planned: Planned) -> None:
    """Write the need of all services after the loss of a region as JSON."""
    document = disaster_document(planned.words, planned.models, planned.inputs, planned.problem, planned.solved)
    with replacing(path) as stream:
        stream.write((json.dumps(document, indent=1) + "\n").encode())


def print_disaster(planned: Planned) -> None:
    """Print the tightest places of the first step when another region is lost, and what is estimated or not known."""
    found = disaster_document(planned.words, planned.models, planned.inputs, planned.problem, planned.solved)
    places = [place for place in found["places"] if place["step"] == int(planned.solved.plan.step[0])]
    tightest = sorted(places, key=lambda place: place["planned"] / place["needed"])[:SHOWN_MAX]
    if tightest:
        used = sum(service["used"] for service in found["services"].values())
        stdout.print(f"{used} load-tested services; the tightest when a region is lost:", highlight=False)
        places_of = {"SERVICE": "service", "REGION": "region", "LOSS THAT DECIDES": "lost", "NEEDED": "needed"}
        print_rows(tightest, {**places_of, "PLANNED": "planned", "NOW": "now"})
    lacking = [place for place in found["places"] if place["lacking"] > 0]
    if lacking:
        stdout.print(f"{len(lacking)} places cannot carry the load of the worst loss", highlight=False)
    short = sum(one["lacking"] > 0 for one in found["estimated"].values())
    if short:
        said = f"{short} of {len(found['estimated'])} services without load tests lack capacity for the worst loss"
        stdout.print(f"{said}, by their models (see --disaster)", highlight=False)
    if found["unsized"]:
        names = [one["service"] for one in found["unsized"]]
        more = f" and {len(names) - SHOWN_MAX} more" if len(names) > SHOWN_MAX else ""
        said = f"{len(names)} services cannot be sized: {', '.join(names[:SHOWN_MAX])}{more}"
        stdout.print(said, highlight=False)
    for name, service in found["services"].items():
        if service["reasons"]:
            what = "low confidence in its load tests" if service["used"] else "its load tests are not used"
            stdout.print(f"{name}: {what}: {', '.join(service['reasons'])}", highlight=False)
