"""Is a store sound: tables, texts, what a killed run left, who holds it, and whether its outputs belong together.

Everything is read in full, row group by row group, so that a torn or rotten file is named before an analyst meets it.
Nothing is repaired here: a night repairs what can be, and the advice says which.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import duckdb
import polars as pl
import pyarrow as pa

from verification_pipeline.errors import ContractError
from verification_pipeline.keys import text_sha256
from verification_pipeline.operations.findings import Finding
from verification_pipeline.stages.receipt_files import receipt_path
from verification_pipeline.store import Store
from verification_pipeline.tables import TABLES, check

_SHOWN = 5
_NIGHT_OLD = timedelta(days=2)
_RESTORE = "restore it from a backup, or remove it and run again"


def lock(store: Store) -> Iterator[Finding]:
    """Who holds the store."""
    holder = store.holder()
    yield Finding("lock", "ok", f"held by {holder}: a run is under way" if holder else "free")


def tables(store: Store) -> Iterator[Finding]:
    """Whether every table file can be read whole and is what the registry says."""
    faults: list[str] = []
    files = rows = 0
    for name in TABLES:
        for path in store.files(name) if name != "texts" else ():
            files += 1
            try:
                data = pl.read_parquet(path, memory_map=False)
                check(name, data, str(path.relative_to(store.root)))
                rows += data.height
            except ContractError as error:
                faults.append(str(error))
            except (OSError, pl.exceptions.PolarsError) as error:
                faults.append(f"{path.relative_to(store.root)}: {error}")
    faults += [f"{path.relative_to(store.root)}: belongs to no table of this store" for path in _foreign(store)]
    if faults:
        yield Finding("tables", "failed", _listed(faults), _RESTORE)
    else:
        yield Finding("tables", "ok", f"{rows} rows in {files} files, {store.shards} shards, all readable")


def _foreign(store: Store) -> Iterator[Path]:
    """Files under tables/ that no table of this registry and number of shards has."""
    for name in store.names("tables"):
        path = store.root / name
        first = path.relative_to(store.root / "tables").parts[0].removesuffix(".parquet")
        shard = path.parent.name if first == "texts" else path.stem
        if path.name.startswith(".") or path.suffix != ".parquet":
            continue
        if first not in TABLES or (shard.isdigit() and int(shard) >= store.shards):
            yield path


def texts(store: Store) -> Iterator[Finding]:
    """Whether every stored text is what its hash says, and every text that a document or source names is stored."""
    faults: list[str] = []
    count = 0
    for shard in range(store.shards):
        held: set[str] = set()
        try:
            for sha, text in store.iterate_texts(shard):
                held.add(sha)
                if text_sha256(text) != sha:
                    faults.append(f"shard {shard}: the text stored as {sha} is another one")
        except (OSError, pa.ArrowException) as error:
            faults.append(f"shard {shard}: {error}")
        count += len(held)
        for name in ("documents", "sources"):
            named = store.read(name, shard, columns=["text_sha256"])["text_sha256"].drop_nulls().unique()
            missing = [sha for sha in named if sha not in held]
            if missing:
                faults.append(f"shard {shard}: {len(missing)} texts that {name} name are not stored ({missing[0]} …)")
    if faults:
        advice = "restore the named files from a backup; without one, verify the corpora into a new --out"
        yield Finding("texts", "failed", _listed(faults), advice)
    else:
        yield Finding("texts", "ok", f"{count} texts, each what its hash says; none is missing")


def leftovers(store: Store) -> Iterator[Finding]:
    """Temporary files of a run that was killed. While a run is under way they are its own."""
    found = [path for path in store.root.rglob(".*.tmp") if path.is_file()]
    found += [path for path in (store.root / "staging",) if path.exists()]
    if found and store.holder() is None:
        names = _listed([str(path.relative_to(store.root)) for path in sorted(found)])
        yield Finding("leftovers", "warning", f"of a run that was killed: {names}", "the next run removes them")
    else:
        yield Finding("leftovers", "ok", "no file of a killed run")


def nights(store: Store) -> Iterator[Finding]:
    """When the last night ended, and whether one was killed since."""
    runs = store.read("runs").sort("started_at")
    finished = runs.filter(pl.col("finished_at").is_not_null())
    if not finished.height:
        yield Finding("nights", "warning", "no night was finished yet", "run")
        return
    last = finished.row(-1, named=True)
    age = datetime.now(UTC) - last["finished_at"]
    words = f"{finished.height} finished, the last ended {_days(age)} ago"
    killed = runs.filter(pl.col("finished_at").is_null() & (pl.col("started_at") > last["started_at"])).height
    if killed and store.holder() is None:
        yield Finding("nights", "warning", f"{words}; {killed} begun since did not end", "run again: it continues")
    elif age < timedelta(0):
        words = f"{finished.height} finished, the last ended at {last['finished_at']:%Y-%m-%d %H:%M} UTC, in the future"
        yield Finding("nights", "failed", words, "correct this machine's clock: no run begins before then")
    elif not last["complete"]:
        yield Finding("nights", "warning", f"{words} and left pairs open", "run again: it collects what is pending")
    elif age > _NIGHT_OLD:
        yield Finding("nights", "warning", words, "is the schedule running? run again")
    else:
        yield Finding("nights", "ok", words)


def outputs(store: Store) -> Iterator[Finding]:
    """Whether the DuckDB file opens and holds the last finished night, and every current receipt has its file."""
    path = store.root / "verification.duckdb"
    runs = store.read("runs").filter(pl.col("finished_at").is_not_null()).sort("finished_at")
    if not runs.height:
        return
    if not path.is_file():
        advice = "run again: it is built from the tables"
        if store.bucket is not None:
            advice = "it lies on the machine that ran the night; a run here builds another"
        yield Finding("duckdb", "warning", f"{path.name} is missing", advice)
    else:
        yield _duckdb(path, str(runs["run_id"][-1]))
    yield _receipt_files(store)


def _duckdb(path: Path, run_id: str) -> Finding:
    try:
        with duckdb.connect(str(path), read_only=True) as connection:
            asked = "SELECT count(*) FROM runs WHERE run_id = $run AND finished_at IS NOT NULL"
            row = connection.execute(asked, {"run": run_id}).fetchone()
    except duckdb.Error as error:
        return Finding(
            "duckdb", "failed", f"{path.name} cannot be read: {error}", "remove it and run again: it is built anew"
        )
    if row != (1,):
        return Finding("duckdb", "warning", f"{path.name} lacks the last night", "run again: it is brought up to date")
    return Finding("duckdb", "ok", f"{path.name} holds the last night ({path.stat().st_size / 1e6:.0f} MB)")


def _receipt_files(store: Store) -> Finding:
    missing = 0
    count = 0
    for shard in range(store.shards):
        current = store.read("receipts", shard, columns=["document_key", "current"]).filter(pl.col("current"))
        documents = store.read("documents", shard, columns=["document_key", "corpus", "document_id"])
        for key, corpus, document_id in documents.join(current, on="document_key", how="semi").iter_rows():
            count += 1
            missing += not store.exists(receipt_path(store, corpus, document_id, key))
    if missing:
        words = f"{missing} of {count} receipts have no file under receipts/"
        return Finding("receipts", "warning", words, "run again with --recheck: files are written with their rows")
    return Finding("receipts", "ok", f"{count} receipts, each with its file")


def _listed(words: list[str]) -> str:
    more = f" … and {len(words) - _SHOWN} more" if len(words) > _SHOWN else ""
    return "; ".join(words[:_SHOWN]) + more


def _days(age: timedelta) -> str:
    hours = age.total_seconds() / 3600
    return f"{hours:.0f} hours" if hours < 48 else f"{age.days} days"
