"""Write audit entries to a file of gzipped JSON, one entry per line."""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from pathlib import Path

from libs.domain.audit import AuditEntry
from libs.interchange.files.atomic import replacing


def export_entries(folder: Path, entries: Sequence[AuditEntry]) -> Path:
    """Write entries to a file of `folder`, and return it once it is on the disk. Raises OSError.

    The first and last id name the file, so that a repeated export of the same entries replaces the file. A batch that
    is exported again may overlap an earlier file: the id tells an entry that is in both.
    """
    first, last = entries[0].audit_entry_id, entries[-1].audit_entry_id
    path = folder / f"audit-{first:012d}-{last:012d}.jsonl.gz"
    lines = "".join(json.dumps(asdict(entry), default=_text, ensure_ascii=False) + "\n" for entry in entries)
    with replacing(path, mode=0o600) as stream:
        stream.write(gzip.compress(lines.encode(), mtime=0))
    return path


def _text(value: object) -> str:
    assert isinstance(value, datetime)
    return value.isoformat()
