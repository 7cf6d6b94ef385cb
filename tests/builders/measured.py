"""Read measurements from a world folder in the form that a plan takes."""

import shutil
import tempfile
from pathlib import Path

import numpy as np

from libs.domain.telemetry import Telemetry
from libs.domain.world import Observations
from libs.interchange.world.read import load_observations
from services.cli.flux.offline import make_models


def measure_world(folder, day_zero, *, drop_events=True, only_before=10**9):
    """Return a function that reads any window of the world whose minute 0 is `day_zero`."""

    def measure(tx, words, *, start, end):
        with tempfile.TemporaryDirectory() as copy:
            world = Path(copy) / "world"
            shutil.copytree(folder, world)
            if not drop_events:
                (world / "events.csv").unlink()
            seen = load_observations(world, words)
        first, last = ((at - day_zero).total_seconds() / 60 for at in (start, end))
        kept = (seen.minute >= first) & (seen.minute < min(last, only_before))
        seen = Observations(
            minute=(seen.minute[kept] - first).astype(np.int64),
            usage=seen.usage[:, :, kept],
            traffic=seen.traffic[:, :, kept],
        )
        return Telemetry(observations=seen, demand=make_models(folder).demand, unknown={})

    return measure
