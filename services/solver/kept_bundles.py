"""Keep the replay bundles of a region's latest solves and simulations as files in a folder."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from libs.assignment import Limits
from libs.domain.fleet import FleetSnapshot
from libs.interchange.bundles.solve import bundle_of, save_bundle


def keep_bundle(
    folder: Path,
    snapshot: FleetSnapshot,
    *,
    run_id: int,
    seed: int,
    limits: Limits,
    most: int,
    kind: Literal["solve", "simulation"] = "solve",
) -> Path:
    """Write the input of a solve, and return its path. Keep only the newest `most` bundles of the region and kind."""
    region_folder = folder / snapshot.region
    region_folder.mkdir(parents=True, exist_ok=True)
    path = region_folder / f"{kind}-{run_id:010d}.zip"
    save_bundle(bundle_of(snapshot, seed=seed, limits=limits.given()), path)
    for old in sorted(region_folder.glob(f"{kind}-*.zip"))[:-most]:
        old.unlink(missing_ok=True)
    return path
