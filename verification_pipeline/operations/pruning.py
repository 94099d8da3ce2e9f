"""Retention: what nights before a day left, and nothing that still stands needs, goes.

What goes: rows of `runs`, `metrics`, `costs` and `changes` of those nights; receipts that were superseded in them, or
whose document was gone by then, with the files of those documents; texts that no document, source, evidence span or
kept receipt names; a model's answers to which no verdict or kept receipt refers. What stays whatever is asked: the
last finished night, every document's current receipt, the receipts that the next night compares with, and every
question to a register (they say what was known on a past day).

Each step may be killed. It decides by what stays, which no step touches: the next prune goes on where one ended.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time
from pathlib import Path

import orjson
import polars as pl

from verification_pipeline import duckdb_file
from verification_pipeline.errors import UsageError
from verification_pipeline.store import Store
from verification_pipeline.tables import TABLES

_FILE = re.compile(r"-([0-9a-f]{32})\.(?:json|html)$")
_HASH = '"[0-9a-f]{64}"'
"""A text's hash as it stands in a receipt. A string of that form that is none keeps a text at most."""


Stays = Sequence[pl.DataFrame]
"""The receipts that stay, (document_key, digest), shard by shard."""


@dataclass(frozen=True, slots=True)
class Pruned:
    """What went, or would go. Bytes are those of receipts and texts before compression, and of removed files."""

    before: date | None
    """Nights before this day went; None: there is no finished night, and nothing goes."""
    rows: dict[str, int] = field(default_factory=dict)
    files: int = 0
    bytes: int = 0


def prune(store: Store, *, keep_nights: int | None = None, before: date | None = None, dry_run: bool = False) -> Pruned:
    """Let go of nights but the last `keep_nights`, or of those before a day; with `dry_run`, only count.

    A night is a UTC day with a finished run. UsageError: neither or both are given. StoreBusy, StoreError.
    """
    if (keep_nights is None) == (before is None) or (keep_nights is not None and keep_nights < 1):
        raise UsageError("say what to keep: either --keep-nights N (at least 1) or --before DAY")
    with store.locked() as store:
        cutoff = _cutoff(store, keep_nights, before)
        if cutoff is None:
            return Pruned(None)
        stays = [_needed(store, shard, cutoff, _changed_since(store, cutoff)) for shard in range(store.shards)]
        receipts, receipt_bytes = _receipts(store, stays, dry_run)
        files, file_bytes = _files(store, stays, dry_run)
        texts, text_bytes = _texts(store, _texts_named(store, stays), dry_run)
        rows = {"receipts": receipts, "texts": texts, **_ledger(store, stays, cutoff, dry_run)}
        rows |= _nights(store, cutoff, dry_run)
        if not dry_run:
            duckdb_file.build(store.tables_folder(), store.root / "verification.duckdb", shards=store.shards)
    return Pruned(cutoff, rows, files, receipt_bytes + file_bytes + text_bytes)


def _cutoff(store: Store, keep_nights: int | None, before: date | None) -> date | None:
    """The first night that stays: never after the last finished one."""
    nights = store.read("runs").filter(pl.col("finished_at").is_not_null())["night"].unique().sort()
    if not nights.len():
        return None
    last: date = nights[-1]
    if before is not None:
        return min(before, last)
    kept: date = nights.tail(keep_nights or 1)[0]
    return kept


# ---- nights


def _kept_runs(store: Store, cutoff: date) -> pl.Series:
    return store.read("runs").filter(pl.col("night") >= cutoff)["run_id"]


def _changed_since(store: Store, cutoff: date) -> pl.Series:
    """Documents that a night which stays saw changed."""
    kept = pl.col("run_id").is_in(_kept_runs(store, cutoff).implode())
    return store.read("changes").filter(kept)["document_key"].unique()


def _nights(store: Store, cutoff: date, dry_run: bool) -> dict[str, int]:
    """Rows of the nights themselves; `runs` last, since it says which the others are."""
    kept = _kept_runs(store, cutoff)
    gone = {}
    for name in ("changes", "metrics", "costs", "runs"):
        data = store.read(name)
        stays = data.filter(pl.col("run_id").is_in(kept.implode()))
        gone[name] = data.height - stays.height
        if gone[name] and not dry_run:
            store.write(name, stays)
    return gone


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time(), UTC)


# ---- receipts and their files


def _needed(store: Store, shard: int, cutoff: date, changed: pl.Series) -> pl.DataFrame:
    """(document_key, digest) of the receipts of a shard that stay.

    Those that are current, that the next night compares with, or that were made since the cutoff; and, of a document
    that changed since then, the one it had before.
    """
    since = pl.col("created_at") >= _midnight(cutoff)
    heads = store.read("receipts", shard, columns=["document_key", "digest", "created_at", "current"])
    before = heads.filter(~since).sort("created_at", "digest").unique("document_key", keep="last")
    moved = pl.concat([changed, heads.filter(since)["document_key"]]).unique()
    kept = [
        heads.filter(pl.col("current") | since),
        before.filter(pl.col("document_key").is_in(moved.implode())),
        store.read("baselines", shard),
    ]
    return pl.concat([one.select("document_key", "digest") for one in kept]).unique()


def _receipts(store: Store, stays: Stays, dry_run: bool) -> tuple[int, int]:
    """Receipts that were superseded before the nights that stay: rows and bytes."""
    rows = size = 0
    for shard, kept in enumerate(stays):
        data = store.read("receipts", shard)
        going = data.join(kept, on=["document_key", "digest"], how="anti")
        rows += going.height
        size += int(going["receipt"].str.len_bytes().sum())
        if going.height and not dry_run:
            store.write("receipts", data.join(kept, on=["document_key", "digest"], how="semi"), shard)
    return rows, size


def _files(store: Store, stays: Stays, dry_run: bool) -> tuple[int, int]:
    """Files of documents that are gone and of which no receipt stays: how many, and their bytes."""
    living = set(store.read_all("documents", ["document_key"])["document_key"])
    living.update(*(kept["document_key"] for kept in stays))
    going = [path for path in _receipt_files(store) if (key := _key_of(path)) is not None and key not in living]
    size = sum(path.stat().st_size for path in going if store.fetch(path))
    for path in going if not dry_run else ():
        store.remove(path)
    return len(going), size


def _receipt_files(store: Store) -> list[Path]:
    return [store.root / name for name in store.names("receipts")]


def _key_of(path: Path) -> str | None:
    found = _FILE.search(path.name)
    return found[1] if found else None


# ---- what models were asked


class _OnlyCounted(Exception):
    """Takes a transaction back that was only to be counted."""


def _ledger(store: Store, stays: Stays, cutoff: date, dry_run: bool) -> dict[str, int]:
    """Answers and requests from before the nights that stay, to which no verdict or receipt that stays refers."""
    folder = store.root / "llm"
    if not (folder / "ledger.sqlite").is_file():
        return {}
    from verification_pipeline.checkers.llm.ledger import Ledger

    counted: dict[str, int] = {}
    kept = set(_request_keys(store, stays))

    def drop() -> None:
        gone = ledger.prune(kept, _midnight(cutoff).timestamp())
        counted.update({"llm answers": gone.answers, "llm requests": gone.requests})
        if dry_run:
            raise _OnlyCounted

    with Ledger(folder) as ledger, suppress(_OnlyCounted):
        ledger.together([drop])
    return counted


def _request_keys(store: Store, stays: Stays) -> Iterator[str]:
    for shard, kept in enumerate(stays):
        yield from store.read("verdicts", shard, columns=["request_key"])["request_key"].drop_nulls()
        receipts = store.read("receipts", shard).join(kept, on=["document_key", "digest"], how="semi")
        for receipt in receipts["receipt"]:
            yield from orjson.loads(receipt)["provenance"]["request_keys"].values()


# ---- texts


def _texts(store: Store, needed: frozenset[str], dry_run: bool) -> tuple[int, int]:
    """Texts that nothing names any more, and second copies that a killed prune left: rows and bytes."""
    rows = size = 0
    for shard in range(store.shards):
        seen: set[str] = set()
        gone = 0
        for sha, text in store.iterate_texts(shard):
            if sha not in needed or sha in seen:
                gone += 1
                size += len(text.encode("utf-8", "surrogatepass"))
            seen.add(sha)
        rows += gone
        if gone and not dry_run:
            store.keep_texts(shard, needed)
    return rows, size


def _texts_named(store: Store, stays: Stays) -> frozenset[str]:
    """Hashes of the texts that any row names, and that receipts which stay cite."""
    named: set[str] = set()
    for table in TABLES.values():
        columns = [name for name in table.schema.names() if name.endswith("text_sha256")]
        for path in store.files(table.name) if columns and table.name != "texts" else ():
            found = pl.read_parquet(path, columns=columns, memory_map=False)
            named.update(*(found[name].drop_nulls() for name in columns))
    for shard, kept in enumerate(stays):
        receipts = store.read("receipts", shard).join(kept, on=["document_key", "digest"], how="semi")
        quoted = receipts.select(pl.col("receipt").str.extract_all(_HASH).explode())["receipt"].drop_nulls()
        named.update(quoted.str.strip_chars('"'))
    return frozenset(named)
