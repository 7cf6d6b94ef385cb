"""Keep the replay bundles of a region's latest solves and simulations as files in a folder."""

from __future__ import annotations

from collections.abc import Mapping
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
    what_if: Mapping[str, object] | None = None,
) -> Path:
    """Write the input of a solve, and return its path. Keep only the newest `most` bundles of the region and kind.

    what_if   the changes that a simulation imagined; `snapshot` has them
    """
    region_folder = folder / snapshot.region
    region_folder.mkdir(parents=True, exist_ok=True)
    path = region_folder / f"{kind}-{run_id:010d}.zip"
    save_bundle(bundle_of(snapshot, seed=seed, limits=limits.given(), what_if=what_if), path)
    for old in sorted(region_folder.glob(f"{kind}-*.zip"))[:-most]:
        old.unlink(missing_ok=True)
    return path
