"""The swap of a store's tables for others that were built beside them: it happens whole, or not yet.

    OUT/.swap/tables       the new tables
    OUT/.swap/store.json   the new manifest; there once the tables are complete: from then on the swap will happen
    OUT/.swap/old          the old tables

The manifest takes its place last. A process that is killed before it lies beside leaves the old store, and what it
built is discarded by the next run; one that is killed afterwards leaves the rest to whoever opens the store next.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from filelock import FileLock, Timeout

from verification_pipeline.errors import StoreBusy, StoreError


def folder(root: Path) -> Path:
    """Where the new tables are built, below the store's own folder: on one file system with it."""
    return root / ".swap"


def discard(root: Path) -> None:
    """Remove what lies beside the store, unless it is to be swapped in."""
    if not (folder(root) / "store.json").exists():
        shutil.rmtree(folder(root), ignore_errors=True)


def complete(root: Path) -> None:
    """Complete a swap that was decided and not finished; nothing when there is none. StoreBusy, StoreError."""
    beside = folder(root)
    if not (beside / "store.json").exists():
        return
    try:
        with FileLock(root / ".lock", timeout=0):
            carry_out(root)
    except Timeout:
        raise StoreBusy(f"{root} is being resharded; wait for it to end") from None
    except OSError as error:
        raise StoreError(f"the output folder {root} cannot be written: {error.strerror}") from error


def carry_out(root: Path) -> None:
    """Put the new tables and their manifest in place. Every step may have been done by a process that was killed."""
    beside, tables = folder(root), root / "tables"
    if not (beside / "store.json").exists():
        return
    if (beside / "tables").exists():
        if tables.exists():
            tables.rename(beside / "old")
        (beside / "tables").rename(tables)
    (beside / "store.json").replace(root / "store.json")
    discard(root)
