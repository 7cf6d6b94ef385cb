"""Read servers from any source by its path: a region folder, nodes.json or a CSV file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path

from libs.domain.inventory import Inventory
from libs.interchange.files.errors import InterchangeError, Problem
from libs.interchange.inventory.field_mapping import load_mapping, mapping_of
from libs.interchange.inventory.inventory import load_inventory
from libs.interchange.inventory.kubernetes_nodes import NODE_FIELDS, load_nodes
from libs.interchange.inventory.servers_csv import CSV_FIELDS, load_csv


class SourceFormat(StrEnum):
    """The format of a source."""

    REGION = "region"
    KUBERNETES = "kubernetes"
    CSV = "csv"


_BY_SUFFIX: Mapping[str, SourceFormat] = {".json": SourceFormat.KUBERNETES, ".csv": SourceFormat.CSV}


def format_of(path: Path) -> SourceFormat:
    """Return the format of a folder, or of a file by its suffix. Raises InterchangeError."""
    if path.is_dir():
        return SourceFormat.REGION
    found = _BY_SUFFIX.get(path.suffix.lower())
    if found is None:
        raise InterchangeError(
            [
                Problem(
                    path.name,
                    None,
                    None,
                    f"has no known suffix: name its format with --format {'|'.join(SourceFormat)}",
                )
            ]
        )
    return found


def load_source(
    path: Path,
    source_format: SourceFormat,
    *,
    mapping_file: Path | None = None,
    keys: Sequence[str] = (),
    defaults: Sequence[str] = (),
) -> Inventory:
    """Return the servers of a source. Raises InterchangeError, also for mapping rules with a region folder."""
    file = None if mapping_file is None else load_mapping(mapping_file)
    if source_format is SourceFormat.REGION:
        if file or keys or defaults:
            message = "is a region folder: its columns have fixed names, so leave out the mapping"
            raise InterchangeError([Problem(path.name, None, None, message)])
        return load_inventory(path)
    base, load = (NODE_FIELDS, load_nodes) if source_format is SourceFormat.KUBERNETES else (CSV_FIELDS, load_csv)
    rules = mapping_of(base, file=file, keys=keys, defaults=defaults)
    try:
        with path.open("rb") as stream:
            return load(stream, path.name, rules)
    except OSError as error:
        raise InterchangeError([Problem(path.name, None, None, f"cannot be read ({error.strerror})")]) from error
