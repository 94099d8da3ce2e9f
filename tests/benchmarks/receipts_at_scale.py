"""Cost of many receipts and of their DuckDB file: `python -m tests.benchmarks.receipts_at_scale [DOCUMENTS] [FOLDER]`.

Documents of 20 pairs and 10 sources, 100,000 of them unless said otherwise, whose tables lie in a store as the stages
before leave them (the making of these is not measured). Three nights then run the pipeline's own assembly and close,
in one process: the first makes every receipt with its JSON file, the DuckDB file and the fleet page; the second finds
nothing changed; in the third one document has another verdict. Printed are seconds and CPU seconds of each, what the
second night added, the peak of memory, and sizes.
"""

from __future__ import annotations

import resource
import sys
import tempfile
import time
from dataclasses import fields
from pathlib import Path

import polars as pl

from tests.benchmarks.test_receipts import DOCUMENTS as COPIED
from tests.benchmarks.test_receipts import archive
from verification_pipeline import tables
from verification_pipeline.night import Options, open_night
from verification_pipeline.receipts import ReceiptInputs
from verification_pipeline.shards import write_fingerprints
from verification_pipeline.stages.assembling import STAGES, assemble_receipts
from verification_pipeline.stages.closing import close, record_run
from verification_pipeline.store import Store

_HASHES = ("document_key", "source_key", "pair_id", "evidence_source_key", "root", "cluster_id", "key")


def copies(template: ReceiptInputs, first: int, count: int) -> ReceiptInputs:
    """The template's documents `count` times over, each time under other keys and ids."""
    made: dict[str, pl.DataFrame] = {}
    for field in fields(ReceiptInputs):
        frame = _filled(field.name, getattr(template, field.name))
        hashed = [name for name in _HASHES if name in frame.columns]
        named = [name for name in ("document_id",) if name in frame.columns]
        parts = [
            frame.with_columns(
                *((pl.lit(f"{number:08x}") + pl.col(name).str.slice(8)).alias(name) for name in hashed),
                *((pl.lit(f"{number:06d}-") + pl.col(name)).alias(name) for name in named),
            )
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


def fill(root: Path, documents: int) -> Path:
    """A store as the stages before the receipts leave it; the corpus that its documents are said to be of."""
    store = Store.open(root)
    template = archive().inputs()
    a_shard = max(1, round(documents / COPIED / store.shards))
    for shard in range(store.shards):
        frames = copies(template, shard * a_shard, a_shard)
        for field in fields(ReceiptInputs):
            if field.name not in ("doi_statuses", "fingerprints"):
                store.write(field.name, getattr(frames, field.name), shard)
        keys = frames.documents["document_key"]
        for stage in STAGES:
            write_fingerprints(store, stage, shard, {key: {"document": key, "source": key} for key in keys})
    corpus = root / "notes.jsonl"
    corpus.write_text("")
    return corpus


def night(root: Path, corpus: Path) -> tuple[float, float, int]:
    """Seconds, CPU seconds, and receipts made of one night over what is stored."""
    started = time.perf_counter(), time.process_time()
    with open_night(Options(root, (corpus,))) as opened:
        record_run(opened, finished=False)
        made = assemble_receipts(opened).made
        close(opened)
    return time.perf_counter() - started[0], time.process_time() - started[1], made


def change(root: Path) -> None:
    """Another verdict for one pair, as the grading would leave it."""
    store = Store.open(root)
    verdicts = store.read("verdicts", 0)
    key = verdicts["document_key"][0]
    first = pl.int_range(pl.len()) == 0
    other = pl.when(first).then(pl.lit("unsupported")).otherwise("verdict").alias("verdict")
    store.write("verdicts", verdicts.with_columns(other), 0)
    keys = store.read("documents", 0)["document_key"]
    moved = {one: {"document": one, "source": one} | ({"checker": "other"} if one == key else {}) for one in keys}
    write_fingerprints(store, "grading", 0, moved)


def rows(root: Path) -> dict[str, int]:
    """Rows of every table."""
    store = Store.open(root)
    counted = {name: pl.scan_parquet(files) for name in tables.TABLES if (files := store.files(name))}
    return {name: int(scan.select(pl.len()).collect().item()) for name, scan in counted.items()}


def stamps(root: Path) -> dict[str, int]:
    """When each file was written."""
    return {str(path.relative_to(root)): path.stat().st_mtime_ns for path in root.rglob("*") if path.is_file()}


def main(documents: int, root: Path) -> None:
    """Make, measure, print."""
    corpus = fill(root, documents)
    first = night(root, corpus)
    held, written = rows(root), stamps(root)
    second = night(root, corpus)
    added = {name: count - held.get(name, 0) for name, count in rows(root).items() if count != held.get(name, 0)}
    touched = sorted(name for name, stamp in stamps(root).items() if written.get(name) != stamp)
    change(root)
    third = night(root, corpus)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    json = list((root / "receipts").glob("*.json"))
    print(
        f"{held['receipts']:,} receipts, {len(json):,} JSON files, {held['pairs']:,} pairs, {held['sources']:,} sources"
    )
    for name, (seconds, cpu, made) in zip(("first", "unchanged", "one changed"), (first, second, third), strict=True):
        print(f"{name:<12} {seconds:6.1f} s, {cpu:6.1f} CPU-s, {made:,} receipts made")
    print(f"the unchanged night added {', '.join(f'{count} {name}' for name, count in added.items())} rows")
    print(f"and wrote {', '.join(touched)}")
    print(f"peak {peak:,.0f} MiB (the making of the store's tables included)")
    sizes = {name: size(root / name) for name in ("tables", "receipts", "verification.duckdb")}
    print(", ".join(f"{name} {mib:,.0f} MiB" for name, mib in sizes.items()))


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
