"""The replay bundle: all inputs of a solve in one folder or zip file, so that it can run again elsewhere."""

from __future__ import annotations

import json
import math
import os
import shutil
import tempfile
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from libs.domain.canary import Canary
from libs.domain.fleet import FleetSnapshot
from libs.domain.region_image import RegionImage
from libs.domain.seed import SEED_MAX
from libs.interchange.files.atomic import replacing
from libs.interchange.files.bounds import FILE_BYTES_MAX, parse_json, read_json
from libs.interchange.files.errors import InterchangeError, Problem
from libs.interchange.files.tables import Content, open_file
from libs.interchange.region.read import FILES, OPTIONAL_FILES, load_region
from libs.interchange.region.write import dump_region, image_of

MANIFEST = "replay.json"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Bundle:
    """A region, and the seed and limits of its solve. `limits` holds the limits that are set, by name.

    A canary of the region is in the manifest, because the files of a region have none.

    what_if   the changes that were imagined, and that the region has already; None: it is as it was
    is_replay  whether it is of a solve whose plan was to be committed. A bare region folder is not
    """

    region: RegionImage
    seed: int = 0
    limits: Mapping[str, float] = field(default_factory=dict)
    what_if: Mapping[str, object] | None = None
    is_replay: bool = False


def bundle_of(
    snapshot: FleetSnapshot,
    *,
    seed: int,
    limits: Mapping[str, float | None],
    what_if: Mapping[str, object] | None = None,
) -> Bundle:
    """Return the bundle of a solve. Limits that are None or infinite are left out."""
    kept = {name: value for name, value in limits.items() if value is not None and math.isfinite(value)}
    return Bundle(region=image_of(snapshot), seed=seed, limits=kept, what_if=what_if, is_replay=True)


def save_bundle(bundle: Bundle, path: str | os.PathLike[str]) -> None:
    """Write a bundle atomically: a zip if the name ends in .zip, otherwise a new folder.

    Raises FileExistsError if the folder exists.
    """
    path = Path(path)
    manifest = {
        "format": 1,
        "region": bundle.region.snapshot.region,
        "seed": bundle.seed,
        "limits": dict(bundle.limits),
    }
    canary = bundle.region.snapshot.canary
    if canary is not None:
        manifest["canary"] = canary.as_dict()
    if bundle.what_if is not None:
        manifest["what_if"] = dict(bundle.what_if)
    files = dump_region(bundle.region) | {MANIFEST: (json.dumps(manifest, indent=2) + "\n").encode()}
    if path.suffix == ".zip":
        with replacing(path) as stream, zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED) as archive:
            for name, content in files.items():
                # The date is fixed, so that equal solves make equal bundles.
                archive.writestr(zipfile.ZipInfo(name), content)
        return
    if path.exists():
        raise FileExistsError(f"{path} exists; a bundle is written once")
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(dir=path.parent, prefix=f".{path.name}."))
    try:
        for name, content in files.items():
            (temporary / name).write_bytes(content)
        temporary.chmod(0o755)
        temporary.rename(path)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise


def load_bundle(path: str | os.PathLike[str]) -> Bundle:
    """Read a bundle. A bare region folder is a bundle without seed and limits. Raises InterchangeError."""
    path = Path(path)
    if path.is_dir():
        region = load_region(path)
        return (
            _with_manifest(region, {MANIFEST: path / MANIFEST}) if (path / MANIFEST).exists() else Bundle(region=region)
        )
    content = _unpacked(path)
    region = load_region(content)
    return _with_manifest(region, content) if MANIFEST in content else Bundle(region=region)


def _unpacked(path: Path) -> Mapping[str, Content]:
    try:
        with zipfile.ZipFile(path) as archive:
            wanted = [entry for entry in archive.infolist() if entry.filename in (*FILES, *OPTIONAL_FILES, MANIFEST)]
            if any(entry.file_size > FILE_BYTES_MAX for entry in wanted):
                message = f"holds a file of more than {FILE_BYTES_MAX >> 20} MiB"
                raise InterchangeError([Problem(path.name, None, None, message)])
            return {entry.filename: archive.read(entry) for entry in wanted}
    except FileNotFoundError as error:
        raise InterchangeError([Problem(str(path), None, None, "is missing")]) from error
    # An encrypted zip raises RuntimeError.
    except (OSError, zipfile.BadZipFile, zlib.error, RuntimeError, NotImplementedError) as error:
        raise InterchangeError(
            [Problem(str(path), None, None, "is neither a region folder nor a replay bundle")]
        ) from error


def _with_manifest(region: RegionImage, source: Mapping[str, Content]) -> Bundle:
    with open_file(source, MANIFEST) as stream:
        try:
            found = parse_json(read_json(stream, MANIFEST))
            seed, limits = int(found.get("seed", 0)), {str(k): float(v) for k, v in found.get("limits", {}).items()}
            if not 0 <= seed <= SEED_MAX:
                raise ValueError(f"its seed is {seed}, and not from 0 to {SEED_MAX}")
            what_if = None if found.get("what_if") is None else dict(found["what_if"])
            canary = None if found.get("canary") is None else Canary.of_dict(found["canary"])
        except (ValueError, AttributeError, TypeError, KeyError) as error:
            raise InterchangeError([Problem(MANIFEST, None, None, f"is not a replay manifest: {error}")]) from error
    region = replace(region, snapshot=replace(region.snapshot, canary=canary))
    return Bundle(region=region, seed=seed, limits=limits, what_if=what_if, is_replay=True)
