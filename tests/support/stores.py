"""What a store holds, for comparing two: everything that must not depend on when, how often or by how many it was made.

Tables are compared by the bytes of their files, but for the few that say when a run was; of those and of receipts, by
their rows without the moments and run ids.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import duckdb
import polars as pl

from verification_pipeline.errors import ContractError
from verification_pipeline.receipts.digest import OUTSIDE
from verification_pipeline.tables import TABLES, check

_OF_THE_RUN = {
    "metrics": ("run_id",),
    "changes": ("run_id",),
    "receipts": ("run_id", "created_at", "receipt"),
    "doi_lookups": ("asked_at",),
    "doi_notices": ("observed_at", "observed_until"),
}
_NOT_RESULTS = ("runs", "metrics", "changes", "costs")
"""Tables with rows of every night; `nights_told` compares them."""


def parquet_files(store: Path) -> dict[str, Path]:
    """The tables' files by their path below the store."""
    files = sorted((store / "tables").rglob("*.parquet"))
    return {str(path.relative_to(store)): path for path in files if not path.name.startswith(".")}


def table_of(name: str) -> str:
    """The table that a file below the store belongs to."""
    return Path(name).parts[1].removesuffix(".parquet")


def faults(store: Path) -> list[str]:
    """Files that cannot be read or break the registry, and keys that stand in two rows."""
    found = []
    frames: dict[str, list[pl.DataFrame]] = {}
    for name, path in parquet_files(store).items():
        table = table_of(name)
        try:
            data = pl.read_parquet(path, memory_map=False)
            check(table, data, name)
        except (ContractError, OSError, pl.exceptions.PolarsError) as error:
            found.append(f"{name}: {error}")
            continue
        if table != "texts":
            frames.setdefault(table, []).append(data)
        elif data["text_sha256"].is_duplicated().any():
            found.append(f"{name}: a text stands twice")
    for table, parts in frames.items():
        key = TABLES[table].key
        if key and pl.concat(parts).select(pl.struct(key).is_duplicated().any()).item():
            found.append(f"{table}: two rows with the same {', '.join(key)} in different files")
    return found


def results(store: Path) -> dict[str, str]:
    """Hash of every result by its path below the store: table files, receipts, the files beside them."""
    found = {}
    for name, path in parquet_files(store).items():
        table = table_of(name)
        if table not in _NOT_RESULTS:
            found[name] = _hash(_rows(table, path) if table in _OF_THE_RUN else path.read_bytes())
    for path in sorted((store / "receipts").glob("*.json")):
        receipt = json.loads(path.read_bytes())
        kept = {name: value for name, value in receipt.items() if name not in OUTSIDE}
        found[str(path.relative_to(store))] = _hash([receipt["digest"], kept])
    for name in ("registers.json", "retractions.csv"):
        if (store / name).exists():
            found[name] = _hash((store / name).read_bytes())
    return found


def nights_told(store: Path, known: frozenset[str] = frozenset()) -> dict[str, list[str]]:
    """What the finished runs that are not `known` wrote: every row of `changes`, and the last one's `metrics`."""
    runs = pl.read_parquet(store / "tables" / "runs.parquet").drop_nulls("finished_at").sort("finished_at")
    new = [run for run in runs["run_id"] if run not in known]
    found = {}
    for table, chosen in (("changes", new), ("metrics", new[-1:])):
        data = pl.read_parquet(store / "tables" / f"{table}.parquet").filter(pl.col("run_id").is_in(chosen))
        found[table] = sorted(map(repr, data.drop("run_id").rows()))
    return found


def runs(store: Path | None) -> frozenset[str]:
    """Ids of a store's runs."""
    path = store / "tables" / "runs.parquet" if store else None
    return frozenset(pl.read_parquet(path)["run_id"]) if path and path.exists() else frozenset()


def digests(store: Path) -> dict[str, str]:
    """document_key → digest of its current receipt."""
    found: dict[str, str] = {}
    for name, path in parquet_files(store).items():
        if table_of(name) == "receipts":
            current = pl.read_parquet(path).filter("current")
            found.update(current.select("document_key", "digest").iter_rows())
    return found


def duckdb_faults(store: Path) -> list[str]:
    """Tables of the DuckDB file that have other row counts than their Parquet files.

    `baselines` is set after the file is built, for the next night to compare with.
    """
    counts: dict[str, int] = {}
    for name, path in parquet_files(store).items():
        table = table_of(name)
        counts[table] = counts.get(table, 0) + int(pl.scan_parquet(path).select(pl.len()).collect().item())
    for table in ("texts", "phrases", "baselines"):
        counts.pop(table, None)
    found = []
    with duckdb.connect(str(store / "verification.duckdb"), read_only=True) as connection:
        for table, count in sorted(counts.items()):
            row = connection.execute(f'SELECT count(*) FROM "{table}"').fetchone()
            if row != (count,):
                found.append(f"verification.duckdb: {table} has {row}, its files {count}")
    return found


def leftovers(store: Path) -> list[str]:
    """Temporary files that a finished run should not leave."""
    found = [path for path in store.rglob("*") if path.name.endswith(".tmp") or path.name == "staging"]
    return [f"left behind: {path.relative_to(store)}" for path in sorted(found)]


def _rows(table: str, path: Path) -> list[Any]:
    data = pl.read_parquet(path)
    return data.drop(_OF_THE_RUN[table]).rows()


def _hash(value: Any) -> str:
    body = value if isinstance(value, bytes) else repr(value).encode()
    return hashlib.blake2b(body, digest_size=16).hexdigest()
