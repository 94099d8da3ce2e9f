"""Another number of document shards: every row and text of a store, put where it belongs under the new number.

Built beside and swapped in (`swap`), so that a kill leaves the old or the new store, whole. Rows move and are not made
again: the next night over unchanged corpora has nothing to do, and every digest stays.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from math import gcd

import polars as pl

from verification_pipeline import duckdb_file, swap
from verification_pipeline.errors import UsageError
from verification_pipeline.store import Store
from verification_pipeline.tables import TABLES

MOST_SHARDS = 1_024

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class Resharded:
    """What was moved."""

    rows: int
    texts: int
    shards_before: int
    shards: int


def reshard(store: Store, shards: int, progress: Progress = lambda *_: None) -> Resharded:
    """Rewrite a store to so many shards. UsageError: not a possible number. StoreBusy, StoreError."""
    if not 1 <= shards <= MOST_SHARDS:
        raise UsageError(f"--shards {shards}: use 1 to {MOST_SHARDS}")
    if store.bucket is not None:
        raise UsageError(f"{store.name} is on an object store, where tables cannot be swapped: verify into a new --out")
    with store.locked():
        if shards == store.shards:
            return Resharded(0, 0, store.shards, shards)
        new = replace(store, root=swap.folder(store.root), shards=shards)
        names = [name for name in TABLES if name != "texts"]
        rows = 0
        for done, name in enumerate(names, 1):
            rows += _move(store, new, name)
            progress("tables", done, len(names))
        texts = 0
        for shard in range(shards):
            texts += new.append_texts(shard, _texts_of(store, new, shard))
            progress("texts", shard + 1, shards)
        new.write_manifest()
        swap.carry_out(store.root)
    moved = replace(store, shards=shards)
    duckdb_file.build(moved.root / "tables", moved.root / "verification.duckdb", shards=shards)
    return Resharded(rows, texts, store.shards, shards)


def _move(store: Store, new: Store, name: str) -> int:
    """Every row of a table: those of the whole archive as they are, the others by their key."""
    rows = 0
    if store.path(name).exists():
        whole = store.read(name)
        new.write(name, whole)
        rows += whole.height
    stages = sorted({path.parent.name for path in store.files(name)}) if name == "fingerprints" else [None]
    for stage in stages if TABLES[name].partitioning == "document" else ():
        if any(store.path(name, old, stage).exists() for old in range(store.shards)):
            rows += sum(_gather(store, new, name, stage, shard) for shard in range(new.shards))
    return rows


def _gather(store: Store, new: Store, name: str, stage: str | None, shard: int) -> int:
    """The rows that belong into one new shard."""
    mine = _shard(_owner(name), new.shards) == shard
    parts = [store.read(name, old, stage=stage).filter(mine) for old in _origins(store, new, shard)]
    data = pl.concat(parts)
    if name == "fingerprints" and sum("*" in part["key"] for part in parts) > 1:
        data = data.filter(pl.col("key") != "*")  # it is about the shard it lay in, which is no more
    if name == "document_sources":
        origin = pl.when("owned").then("document_key").otherwise("source_key")
        data = data.with_columns(source_shard=_shard(origin, new.shards))
    if data.height:
        new.write(name, data, shard, stage=stage)
    return data.height


def _origins(store: Store, new: Store, shard: int) -> range:
    """The old shards that can hold what belongs into a new one: numbers that agree modulo the common divisor."""
    common = gcd(store.shards, new.shards)
    return range(shard % common, store.shards, common)


def _owner(name: str) -> pl.Expr:
    """The key that decides where a row lies: its document's, else a shared source's own."""
    if name == "fingerprints":
        return pl.col("key")
    if name == "sources":
        return pl.coalesce("document_key", "source_key")
    return pl.col("document_key")


def _shard(key: pl.Expr, shards: int) -> pl.Expr:
    """`keys.shard_of` of a column; what is not about one document (`*`) lies in the first shard."""
    return key.str.slice(0, 8).str.to_integer(base=16, strict=False).fill_null(0).mod(shards)


def _texts_of(store: Store, new: Store, shard: int) -> Iterator[tuple[str, str]]:
    """The texts that documents and sources of a new shard name, in stored order, and of those that nothing names any
    more (old receipts may cite them) its share."""
    wanted = _named(new, shard)
    for old in _origins(store, new, shard):
        named = _named(store, old)
        for sha, text in store.iterate_texts(old):
            if sha in wanted or (sha not in named and old % new.shards == shard):
                yield sha, text


def _named(store: Store, shard: int) -> set[str]:
    columns = [store.read(name, shard, columns=["text_sha256"])["text_sha256"] for name in ("documents", "sources")]
    return set(pl.concat(columns).drop_nulls())
