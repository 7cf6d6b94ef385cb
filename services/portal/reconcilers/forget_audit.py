"""Move old audit entries to files, so that their table stays bounded."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from pathlib import Path

from libs.interchange.audit.export import export_entries
from libs.reconcile.clock import Clock
from libs.store.platform.certain_time import retention_now
from libs.store.platform.database import Database
from libs.store.retention.batches import BATCH, forget_all
from libs.store.retention.of_audit import forget_entries


@dataclass(frozen=True, slots=True)
class ForgetAudit:
    """Writes entries older than `kept_days` on the Clock to files of `folder`, and then deletes them, batch by batch.

    Safe to kill at any point: an entry is deleted only once its file is on the disk. A folder that cannot be written
    fails the job, and nothing is deleted.
    """

    database: Database
    clock: Clock
    folder: Path
    kept_days: int
    batch: int = BATCH

    def reconcile(self) -> int:
        """Return how many entries went to files."""
        with self.database.write() as tx:
            now = retention_now(tx, self.clock, "audit")
        forget = partial(forget_entries, export=partial(export_entries, self.folder))
        before = now - timedelta(days=self.kept_days)
        return forget_all(self.database, {"audit_entries": forget}, before=before, most=self.batch)
