"""The rows of one document, from the frames of many: joined, ordered and named as the receipt has them.

Joins, order and grouping are polars' work, a thousand documents at a time; what the rows mean for the receipt's
counters and its gate is said in `content` and `facts`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from verification_pipeline.errors import ContractError
from verification_pipeline.receipts.inputs import ReceiptInputs, RunInfo

Row = dict[str, Any]

_CHUNK = 1_000  # documents whose rows are Python objects at one time
NEVER_ASKED = ("no identifier", "not asked", "no register asked")
"""Reasons of works that no register was asked about: unchecked, not unavailable."""


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
    documents = frames.documents.sort("document_key").with_columns(pl.col("date").dt.to_string("iso"))
    keys = documents.select("document_key")
    prepared = {name: _grouped(keys, frame) for name, frame in _prepared(frames, run).items()}
    for first in range(0, len(keys), _CHUNK):
        heads = documents.slice(first, _CHUNK).to_dicts()
        chunk = {name: _chunk(frame, offsets, first, len(heads)) for name, (frame, offsets) in prepared.items()}
        yield [DocumentRows(head, {name: rows[i] for name, rows in chunk.items()}) for i, head in enumerate(heads)]


def _grouped(keys: pl.DataFrame, frame: pl.DataFrame) -> tuple[pl.DataFrame, list[int]]:
    """A frame sorted by document, without that column, and the offsets of each document in `keys`."""
    order = [name for name in frame.columns if name.startswith("_order")]
    mine = frame.join(keys, on="document_key", how="semi").sort("document_key", *order, maintain_order=True)
    counts = keys.join(mine.group_by("document_key").len(), on="document_key", how="left", maintain_order="left")
    offsets = [0, *counts["len"].fill_null(0).cum_sum().to_list()]
    return mine.drop("document_key", *order), offsets


def _chunk(frame: pl.DataFrame, offsets: list[int], first: int, count: int) -> list[list[Row]]:
    start = offsets[first]
    rows = frame.slice(start, offsets[first + count] - start).to_dicts()
    return [rows[offsets[i] - start : offsets[i + 1] - start] for i in range(first, first + count)]


_EVIDENCE = ("evidence", "evidence_source_key", "evidence_text_sha256", "evidence_start", "evidence_end")


def _prepared(frames: ReceiptInputs, run: RunInfo) -> dict[str, pl.DataFrame]:
    names = frames.sources.select("source_key", "source_id")
    if names["source_key"].is_duplicated().any():
        raise ContractError("sources: two rows with the same source_key among the inputs of receipts")
    if frames.doi_statuses["work_id"].is_duplicated().any():
        raise ContractError("doi_statuses: receipts need one row a work, the one valid on the day in question")
    pairs = _pairs(frames, names)
    return {
        "pairs": pairs.drop(_BESIDE),
        "answers": pairs.select("document_key", "_order", "pair_id", *_BESIDE),
        "quotes": _quotes(frames, names),
        "works": _works(frames),
        "clusters": _clusters(frames, names),
        "markers": frames.markers.select(
            "document_key",
            pl.col("marker_index").alias("_order"),
            "marker_index",
            "text",
            "start",
            "end",
            "kind",
            "status",
            "reason",
            "pair_id",
        ),
        "references": frames.references.select(
            "document_key",
            pl.col("start").alias("_order1"),
            pl.col("end").alias("_order2"),
            "n",
            "entry",
            "start",
            "end",
            "source_key",
            "conflict",
        ),
        "numbers": frames.uncited_numbers.select(
            "document_key",
            pl.col("start").alias("_order1"),
            pl.col("end").alias("_order2"),
            "start",
            "end",
            "number",
        ),
        "findings": frames.findings_in_text.select(
            "document_key",
            pl.col("start").alias("_order1"),
            pl.col("end").alias("_order2"),
            pl.col("kind").alias("_order3"),
            "kind",
            "start",
            "end",
            "text",
            "detail",
        ),
        "sources": frames.document_sources.select("document_key", "source_key")
        .join(frames.sources.drop("document_key"), on="source_key")
        .select(
            "document_key",
            pl.col("n").alias("_order1"),
            pl.col("source_id").alias("_order2"),
            pl.col("source_key").alias("_order3"),
            "source_key",
            "source_id",
            "n",
            "url",
            "title",
            "status",
            "reason",
            "text_sha256",
        ),
        "ran": frames.fingerprints.filter(pl.col("stage").is_in(list(run.stages)))
        .select(pl.col("key").alias("document_key"), "stage")
        .unique()
        .with_columns(pl.col("stage").alias("_order")),
    }


def _pairs(frames: ReceiptInputs, names: pl.DataFrame) -> pl.DataFrame:
    """Every pair with its outcome, span and reason. The span is that of the rule that passed it or of the verdict."""
    span = list(_EVIDENCE)
    triage = frames.triage.select(
        "pair_id", "rule", "refused_by", pl.col("outcome").alias("_triage"), *(pl.col(c).alias(f"_t_{c}") for c in span)
    )
    batches = frames.batches.select("pair_id", "selected", "stratum", "probability", pl.lit(True).alias("_batched"))
    verdicts = frames.verdicts.drop("document_key").with_columns(pl.lit(True).alias("_answered"))
    passed = pl.col("_triage") == "auto-passed"
    dangling = pl.col("status") == "dangling"
    checked = pl.col("checked").fill_null(False)
    outcome = (
        pl.when(dangling)
        .then(pl.lit("dangling"))
        .when(passed)
        .then(pl.lit("auto-passed"))
        .when(checked)
        .then(pl.lit("checked"))
        .otherwise(pl.lit("not-checked"))
    )
    joined = (
        frames.pairs.join(triage, on="pair_id", how="left")
        .join(batches, on="pair_id", how="left")
        .join(verdicts, on="pair_id", how="left")
        .join(names, on="source_key", how="left")
        .join(
            names.rename({"source_key": "correct_source_key", "source_id": "correct_source_id"}),
            on="correct_source_key",
            how="left",
        )
        .with_columns(outcome.alias("outcome"))
    )
    settled = pl.col("outcome") == "auto-passed"
    ungraded = pl.col("outcome") == "not-checked"
    return joined.select(
        "document_key",
        pl.col("pair_index").alias("_order"),
        "pair_index",
        "pair_id",
        "sentence",
        "sentence_start",
        "sentence_end",
        "claim",
        "context",
        "marker",
        "n",
        "note_id",
        "target",
        "locator",
        "source_key",
        "source_id",
        "outcome",
        pl.when(ungraded)
        .then(pl.coalesce("not_checked_reason", "reason", pl.lit("missing-answer")))
        .when(pl.col("outcome") == "dangling")
        .then(pl.coalesce("reason", pl.lit("no-source")))
        .alias("reason"),
        "rule",
        "refused_by",
        "strong",
        "strong_markers",
        "selected",
        "stratum",
        "probability",
        (pl.col("outcome") == "checked").alias("checked"),
        pl.when(settled)
        .then(pl.lit("supported"))
        .when(pl.col("outcome") == "checked")
        .then("verdict")
        .alias("verdict"),
        pl.col("contradicted").fill_null(False),
        "severity",
        "suggested_fix",
        "rationale",
        "correct_source_key",
        "correct_source_id",
        "confidence",
        "checker",
        "model",
        "prompt_version",
        "first_checker",
        "first_confidence",
        *(pl.when(settled).then(f"_t_{c}").otherwise(c).alias(c) for c in span),
        pl.when(pl.col("outcome") == "checked").then("request_key").alias("request_key"),
        pl.col("_triage").is_null().alias("_untriaged"),
        ((pl.col("_triage") == "needs-checker") & pl.col("_batched").is_null()).fill_null(False).alias("_unsampled"),
        (ungraded & pl.col("_answered").is_null()).alias("_unanswered"),
    )


_BESIDE = ("request_key", "_untriaged", "_unsampled", "_unanswered")
"""Columns of a pair that are not in its row of the receipt."""


def _quotes(frames: ReceiptInputs, names: pl.DataFrame) -> pl.DataFrame:
    return (
        frames.quotes.join(names.rename({"source_id": "note_id"}), on="source_key", how="left")
        .join(
            names.rename({"source_key": "found_in_source_key", "source_id": "found_in_note_id"}),
            on="found_in_source_key",
            how="left",
        )
        .select(
            "document_key",
            pl.col("start").alias("_order1"),
            pl.col("end").alias("_order2"),
            pl.col("quote_id").alias("_order3"),
            "quote_id",
            "quote",
            "start",
            "end",
            "note_id",
            "source_key",
            "status",
            "reason",
            "found_in_note_id",
            "found_in_source_key",
            "closest_span",
            "edit_distance",
            "edits",
            *_EVIDENCE,
        )
    )


def _works(frames: ReceiptInputs) -> pl.DataFrame:
    """Every cited work with its status; a work that nobody was asked about is unavailable, and counted as unchecked."""
    statuses = frames.doi_statuses.drop("doi", "valid_from", "valid_to")
    asked = pl.col("status").is_not_null()
    why = (
        pl.when(pl.col("work_id").str.starts_with("source:"))
        .then(pl.lit(NEVER_ASKED[0]))
        .otherwise(pl.lit(NEVER_ASKED[1]))
    )
    return frames.doi_mentions.join(statuses, on="work_id", how="left").select(
        "document_key",
        pl.col("work_id").alias("_order"),
        "work_id",
        "doi",
        "pmid",
        "title",
        "source_key",
        pl.col("status").fill_null("unavailable"),
        pl.col("date").dt.to_string("iso"),
        "notice_url",
        pl.col("flags").fill_null(pl.lit([], dtype=pl.List(pl.String()))),
        pl.col("registers").fill_null(pl.lit([], dtype=pl.List(pl.String()))),
        "disagreement",
        pl.col("stale").fill_null(False),
        pl.when(asked).then("reason").otherwise(why).alias("reason"),
        "cited",
        "start",
        "noted_in_document",
        "noted_span",
    )


def _clusters(frames: ReceiptInputs, names: pl.DataFrame) -> pl.DataFrame:
    own = frames.clusters.filter(pl.col("document_key").is_not_null())
    return (
        own.join(names, on="source_key", how="left")
        .sort("document_key", "cluster_id", "source_id", "source_key")
        .group_by("document_key", "cluster_id", maintain_order=True)
        .agg(
            pl.col("kind").first(),
            pl.col("root").first().alias("root_source_key"),
            pl.col("source_id").alias("members"),
            pl.col("source_key").alias("member_source_keys"),
            pl.col("weakest_link").first(),
        )
        .join(names.rename({"source_key": "root_source_key", "source_id": "root"}), on="root_source_key", how="left")
        .with_columns(pl.col("cluster_id").alias("_order"))
    )
