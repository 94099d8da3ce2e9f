"""The sums that always hold, as one check over the store: nothing vanishes between marker, pair and verdict.

Architecture, Tables: every bound or dangling marker names a pair, every pair is named by a marker, and pairs =
auto_passed + checked + not_checked + dangling.
"""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from verification_pipeline.store import Store

_EXAMPLES = 3


def broken_sums(store: Store) -> list[str]:
    """One line a broken sum, naming shard and documents; empty when all hold."""
    return [line for shard in range(store.shards) for line in _broken(store, shard)]


def _broken(store: Store, shard: int) -> Iterator[str]:
    pairs = store.read("pairs", shard, columns=["pair_id", "document_key"])
    markers = store.read("markers", shard, columns=["pair_id", "document_key", "status"])
    triage = store.read("triage", shard, columns=["pair_id", "document_key", "outcome"])
    verdicts = store.read("verdicts", shard, columns=["pair_id", "document_key", "checked"])
    batches = store.read("batches", shard, columns=["pair_id", "document_key", "selected"])
    citing = markers.filter(pl.col("status").is_in(["bound", "dangling"]))
    yield from _rows(shard, "marker without a pair", citing.join(pairs, on="pair_id", how="anti"))
    yield from _rows(
        shard,
        "marker that cites nothing but names a pair",
        markers.filter(pl.col("pair_id").is_not_null() & ~pl.col("status").is_in(["bound", "dangling"])),
    )
    census = store.read("census", shard)
    lost = census.filter(pl.col("marker_like") > pl.col("marker_rows"))
    yield from _rows(shard, "document with more marker-like tokens than markers", lost)
    yield from _rows(shard, "pair without a marker", pairs.join(citing, on="pair_id", how="anti"))
    yield from _rows(shard, "pair without a triage outcome", pairs.join(triage, on="pair_id", how="anti"))
    yield from _rows(shard, "triage outcome without a pair", triage.join(pairs, on="pair_id", how="anti"))
    waiting = triage.filter(pl.col("outcome") == "needs-checker")
    yield from _rows(
        shard, "pair that needs a checker but is in no stratum", waiting.join(batches, on="pair_id", how="anti")
    )
    yield from _rows(shard, "pair in a stratum that needs no checker", batches.join(waiting, on="pair_id", how="anti"))
    to_grade = triage.filter(pl.col("outcome").is_in(["needs-checker", "uncheckable"]))
    yield from _rows(shard, "pair without a verdict row", to_grade.join(verdicts, on="pair_id", how="anti"))
    yield from _rows(
        shard, "verdict row of a pair that was settled before", verdicts.join(to_grade, on="pair_id", how="anti")
    )
    skipped = batches.filter(~pl.col("selected"))
    graded = verdicts.filter(pl.col("checked"))
    yield from _rows(shard, "verdict on a pair outside the sample", graded.join(skipped, on="pair_id", how="semi"))


def _rows(shard: int, what: str, rows: pl.DataFrame) -> Iterator[str]:
    if rows.height:
        examples = ", ".join(rows["document_key"].unique().sort().head(_EXAMPLES))
        yield f"shard {shard}: {rows.height} × {what} (documents {examples})"
