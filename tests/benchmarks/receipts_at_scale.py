"""Cost of many receipts and of their DuckDB file: `python -m tests.benchmarks.receipts_at_scale [DOCUMENTS] [FOLDER]`.

Documents of 20 pairs and 10 sources, 100,000 of them unless said otherwise: assembled shard by shard, written as
tables, then read into a new file, then brought up to date after one shard changed. Printed are CPU seconds (the
making of the rows is left out), the peak of memory, and sizes.
"""

from __future__ import annotations

import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path

import polars as pl

from tests.benchmarks.test_receipts import DOCUMENTS as COPIED
from tests.benchmarks.test_receipts import archive
from tests.support.archive import run_info
from verification_pipeline import duckdb_file, tables
from verification_pipeline.config import Settings
from verification_pipeline.receipts import ReceiptInputs, assemble
from verification_pipeline.store import Store

_HASHES = ("document_key", "source_key", "pair_id", "evidence_source_key", "root", "cluster_id", "key")


def copies(template: ReceiptInputs, first: int, count: int) -> ReceiptInputs:
    """The template's documents `count` times over, each time under other keys."""
    made: dict[str, pl.DataFrame] = {}
    for field in fields(ReceiptInputs):
        frame = _filled(field.name, getattr(template, field.name))
        hashed = [name for name in _HASHES if name in frame.columns]
        parts = [
            frame.with_columns((pl.lit(f"{number:08x}") + pl.col(name).str.slice(8)).alias(name) for name in hashed)
            for number in range(first, first + count)
        ]
        made[field.name] = pl.concat(parts)
    return ReceiptInputs(**made)


def _filled(name: str, frame: pl.DataFrame) -> pl.DataFrame:
    """The frame with something in every column that must not be empty and that receipts do not read."""
    needed = [column.name for column in tables.TABLES[name].columns if not column.nullable]
    blank = {pl.String: "", pl.Int64: 0, pl.Boolean: False}
    return frame.with_columns(
        pl.col(c).fill_null(blank[type(frame.schema[c])]) for c in needed if frame[c].null_count()
    )


def main(documents: int, root: Path) -> None:
    """Make, measure, print."""
    store = Store.open(root)
    template = archive().inputs()
    a_shard = max(1, round(documents / COPIED / store.shards))
    spent: dict[str, float] = {}
    made = 0
    for shard in range(store.shards):
        frames = copies(template, shard * a_shard, a_shard)
        with clock(spent, "assemble"):
            receipts = assemble(frames, run_info(), Settings(), tables.empty("receipts"))
        made += receipts.height
        with clock(spent, "write"):
            write(store, frames, receipts, shard)
    target = root / "verification.duckdb"
    with clock(spent, "build"):
        rows = duckdb_file.build(root / "tables", target)
    store.write("receipts", store.read("receipts", 0).with_columns(run_id=pl.lit("run-2")), 0)
    with clock(spent, "update"):
        duckdb_file.build(root / "tables", target)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{made:,} receipts, {rows['pairs']:,} pairs, {rows['sources']:,} sources")
    print(", ".join(f"{name} {seconds:.1f} CPU-s" for name, seconds in spent.items()), f"peak {peak:,.0f} MiB")
    print(f"tables {size(root / 'tables'):,.0f} MiB, DuckDB file {size(target):,.0f} MiB")


def write(store: Store, frames: ReceiptInputs, receipts: pl.DataFrame, shard: int) -> None:
    """A shard's tables, as the stages leave them."""
    for field in fields(ReceiptInputs):
        if field.name not in ("doi_statuses", "fingerprints"):
            store.write(field.name, getattr(frames, field.name), shard)
    store.write("receipts", receipts, shard)


@contextmanager
def clock(spent: dict[str, float], name: str, now: Callable[[], float] = time.process_time) -> Iterator[None]:
    """Add the CPU seconds of a block to an entry."""
    started = now()
    yield
    spent[name] = spent.get(name, 0.0) + now() - started


def size(path: Path) -> float:
    """MiB of a file or folder."""
    files = [path] if path.is_file() else [one for one in path.rglob("*") if one.is_file()]
    return sum(one.stat().st_size for one in files) / 2**20


if __name__ == "__main__":
    wanted = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    if len(sys.argv) > 2:
        main(wanted, Path(sys.argv[2]))
    else:
        with tempfile.TemporaryDirectory() as folder:
            main(wanted, Path(folder))
