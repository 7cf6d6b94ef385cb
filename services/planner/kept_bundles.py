"""Keep the replay bundles of the latest plan runs as files in a folder."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from libs.interchange.bundles.world import save_world
from libs.interchange.files.tables import Content


def keep_world(folder: Path, files: Mapping[str, Content], *, plan_run_id: int, most: int) -> Path:
    """Write the input of a run, and return its path. Keep only the newest `most` bundles."""
    world = folder / "world"
    world.mkdir(parents=True, exist_ok=True)
    path = world / f"plan-{plan_run_id:010d}.zip"
    save_world(path, files)
    for old in sorted(world.glob("plan-*.zip"))[:-most]:
        old.unlink(missing_ok=True)
    return path
