"""The rows of one document, from the frames of many: joined, ordered and named as the receipt has them.

Joins, order and grouping are polars' work, a thousand documents at a time. Which columns a row of the receipt has is
read from its model; what the rows mean for the receipt's counters and its gate is said in `content` and `facts`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from verification_pipeline.errors import ContractError
from verification_pipeline.receipts import models
from verification_pipeline.receipts.inputs import ReceiptInputs, RunInfo

Row = dict[str, Any]

_CHUNK = 100  # documents whose rows are Python objects at one time

NEVER_ASKED = ("no identifier", "not asked", "no register asked")
"""Reasons of works that no register was asked about: unchecked, not unavailable."""

_ORDER: dict[str, tuple[str, ...]] = {
    "pairs": ("pair_index", "pair_id"),
    "answers": ("pair_id",),
    "quotes": ("start", "end", "quote_id"),
    "works": ("work_id",),
    "clusters": ("cluster_id",),
    "markers": ("marker_index",),
    "references": ("start", "end", "n"),
    "numbers": ("start", "end"),
    "findings": ("start", "end", "kind"),
    "sources": ("n", "source_id", "source_key"),
    "ran": ("stage",),
}
"""The order of a document's rows."""

_BESIDE = ("request_key", "_untriaged", "_unsampled", "_unanswered")
"""What is known of a pair and is not in its row of the receipt."""


@dataclass(frozen=True, slots=True)
class DocumentRows:
    """The rows of one document, table by table, in the order of the receipt."""

    document: Row
    tables: Mapping[str, list[Row]]

    def rows(self, table: str) -> list[Row]:
        """Its rows of one table."""
        return self.tables[table]


def documents(frames: ReceiptInputs, run: RunInfo) -> Iterator[list[DocumentRows]]:
    """The documents in order of their key, each with its rows, a chunk at a time."""
    heads = frames.documents.sort("document_key").with_columns(pl.col("date").dt.to_string("iso"))
    keys = heads.select("document_key")
    tables = {name: _grouped(keys, frame, _ORDER[name]) for name, frame in _prepared(frames, run).items()}
    for first in range(0, len(keys), _CHUNK):
        chunk = heads.slice(first, _CHUNK).to_dicts()
        split = {name: _split(frame, offsets, first, len(chunk)) for name, (frame, offsets) in tables.items()}
        yield [DocumentRows(head, {name: rows[i] for name, rows in split.items()}) for i, head in enumerate(chunk)]


def _grouped(keys: pl.DataFrame, frame: pl.DataFrame, order: Sequence[str]) -> tuple[pl.DataFrame, list[int]]:
    """A frame sorted by document, without that column, and the offset of each document in `keys`."""
    mine = frame.join(keys, on="document_key", how="semi").sort("document_key", *order, maintain_order=True)
    counts = keys.join(mine.group_by("document_key").len(), on="document_key", how="left", maintain_order="left")
    return mine.drop("document_key"), [0, *counts["len"].fill_null(0).cum_sum().to_list()]


def _split(frame: pl.DataFrame, offsets: list[int], first: int, count: int) -> list[list[Row]]:
    start = offsets[first]
    rows = frame.slice(start, offsets[first + count] - start).to_dicts()
    return [rows[offsets[i] - start : offsets[i + 1] - start] for i in range(first, first + count)]


def _prepared(frames: ReceiptInputs, run: RunInfo) -> dict[str, pl.DataFrame]:
    names = frames.sources.select("source_key", "source_id")
    if names["source_key"].is_duplicated().any():
        raise ContractError("sources: two rows with the same source_key among the inputs of receipts")
    if frames.doi_statuses["work_id"].is_duplicated().any():
        raise ContractError("doi_statuses: receipts need one row a work, the one valid on the day in question")
    pairs = _pairs(frames, names)
    own = frames.document_sources.select("document_key", "source_key")
    ran = frames.fingerprints.filter(pl.col("stage").is_in(list(run.stages)))
    return {
        "pairs": _row_of(models.PairRow, pairs),
        "answers": pairs.select("document_key", "pair_id", *_BESIDE),
        "quotes": _row_of(models.QuoteRow, _quotes(frames, names)),
        "works": _row_of(models.WorkRow, _works(frames)),
        "clusters": _row_of(models.ClusterRow, _clusters(frames, names)),
        "markers": _row_of(models.MarkerRow, frames.markers),
        "references": _row_of(models.ReferenceRow, frames.references, "source_key"),
        "numbers": _row_of(models.NumberRow, frames.uncited_numbers),
        "findings": _row_of(models.FindingRow, frames.findings_in_text),
        "sources": _row_of(models.SourceRow, own.join(frames.sources.drop("document_key"), on="source_key")),
        "ran": ran.select(pl.col("key").alias("document_key"), "stage").unique(),
    }


def _row_of(model: type[models.Part], frame: pl.DataFrame, *more: str) -> pl.DataFrame:
    """The columns that a row of the receipt has, and the document they belong to."""
    return frame.select("document_key", *model.model_fields, *more)


def _pairs(frames: ReceiptInputs, names: pl.DataFrame) -> pl.DataFrame:
    """Every pair with its outcome, span and reason. The span is that of the rule that passed it or of the verdict."""
    span = tuple(models.Evidence.model_fields)
    triage = frames.triage.select("pair_id", "outcome", "rule", "refused_by", pl.struct(span).alias("_passage"))
    batches = frames.batches.select("pair_id", "selected", "stratum", "probability", pl.lit(True).alias("_batched"))
    verdicts = frames.verdicts.drop("document_key").with_columns(pl.struct(span).alias("_read")).drop(span)
    correct = names.rename({"source_key": "correct_source_key", "source_id": "correct_source_id"})
    triaged = pl.col("outcome")
    checked = pl.col("outcome") == "checked"
    passed = pl.col("outcome") == "auto-passed"
    unread = pl.col("outcome") == "not-checked"
    return (
        frames.pairs.join(triage, on="pair_id", how="left")
        .join(batches, on="pair_id", how="left")
        .join(verdicts, on="pair_id", how="left")
        .join(names, on="source_key", how="left")
        .join(correct, on="correct_source_key", how="left")
        .with_columns(
            _untriaged=triaged.is_null(),
            _unsampled=triaged.eq_missing(pl.lit("needs-checker")) & pl.col("_batched").is_null(),
            _unanswered=pl.col("checked").is_null(),
            outcome=_outcome(),
        )
        .with_columns(
            reason=pl.when(unread)
            .then(pl.coalesce("not_checked_reason", "reason", pl.lit("missing-answer")))
            .when(pl.col("outcome") == "dangling")
            .then(pl.coalesce("reason", pl.lit("no-source"))),
            verdict=pl.when(passed).then(pl.lit("supported")).when(checked).then("verdict"),
            contradicted=pl.col("contradicted").fill_null(False),
            checked=checked,
            request_key=pl.when(checked).then("request_key"),
            _unanswered=unread & pl.col("_unanswered"),
            _span=pl.when(passed).then("_passage").otherwise("_read"),
        )
        .unnest("_span")
    )


def _outcome() -> pl.Expr:
    """The one outcome of a pair: dangling, auto-passed, checked or not-checked."""
    return (
        pl.when(pl.col("status") == "dangling")
        .then(pl.lit("dangling"))
        .when(pl.col("outcome") == "auto-passed")
        .then(pl.lit("auto-passed"))
        .when(pl.col("checked").fill_null(False))
        .then(pl.lit("checked"))
        .otherwise(pl.lit("not-checked"))
    )


def _quotes(frames: ReceiptInputs, names: pl.DataFrame) -> pl.DataFrame:
    elsewhere = names.rename({"source_key": "found_in_source_key", "source_id": "found_in_note_id"})
    return frames.quotes.join(names.rename({"source_id": "note_id"}), on="source_key", how="left").join(
        elsewhere, on="found_in_source_key", how="left"
    )


def _works(frames: ReceiptInputs) -> pl.DataFrame:
    """Every cited work with its status; one that nobody was asked about is unavailable, and counted as unchecked."""
    statuses = frames.doi_statuses.select(
        "work_id", "status", "date", "notice_url", "flags", "registers", "disagreement", "stale", "reason"
    )
    unnamed = pl.col("work_id").str.starts_with("source:")
    none = pl.lit([], dtype=pl.List(pl.String()))
    return frames.doi_mentions.join(statuses, on="work_id", how="left").with_columns(
        pl.col("status").fill_null("unavailable"),
        pl.col("date").dt.to_string("iso"),
        pl.col("flags").fill_null(none),
        pl.col("registers").fill_null(none),
        pl.col("stale").fill_null(False),
        reason=pl.when(pl.col("status").is_not_null())
        .then("reason")
        .otherwise(pl.when(unnamed).then(pl.lit(NEVER_ASKED[0])).otherwise(pl.lit(NEVER_ASKED[1]))),
    )


def _clusters(frames: ReceiptInputs, names: pl.DataFrame) -> pl.DataFrame:
    roots = names.rename({"source_key": "root_source_key", "source_id": "root"})
    return (
        frames.clusters.filter(pl.col("document_key").is_not_null())
        .join(names, on="source_key", how="left")
        .sort("document_key", "cluster_id", "source_id", "source_key")
        .group_by("document_key", "cluster_id", maintain_order=True)
        .agg(
            pl.col("kind").first(),
            pl.col("root").first().alias("root_source_key"),
            pl.coalesce("source_id", "source_key").alias("members"),
            pl.col("source_key").alias("member_source_keys"),
            pl.col("weakest_link").first(),
        )
        .join(roots, on="root_source_key", how="left")
        .with_columns(pl.coalesce("root", "root_source_key").alias("root"))
    )
