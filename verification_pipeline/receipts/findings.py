"""What to repair: the cite-checker's findings as JSON, from any checker's verdicts.

The seven fields of the seed (`cite-checker`) with its names, led by where the finding stands. Supported pairs and
pairs without a verdict are no findings: those are in the receipt.
"""

from __future__ import annotations

from typing import Any

import polars as pl

from verification_pipeline.receipts.assembly import ReceiptInputs


def findings(frames: ReceiptInputs) -> list[dict[str, Any]]:
    """Graded pairs that are not supported, in order of corpus, document and pair. `evidence` is one sentence."""
    names = frames.sources.select("source_key", "source_id").unique("source_key")
    correct = names.rename({"source_key": "correct_source_key", "source_id": "correct_note_id"})
    graded = frames.verdicts.filter(pl.col("checked") & (pl.col("verdict") != "supported")).drop("document_key")
    return (
        frames.pairs.join(graded, on="pair_id")
        .join(frames.documents.select("document_key", "corpus", "document_id"), on="document_key")
        .join(names.rename({"source_id": "cited_note_id"}), on="source_key", how="left")
        .join(correct, on="correct_source_key", how="left")
        .sort("corpus", "document_id", "pair_index")
        .select(
            "corpus",
            "document_id",
            "pair_id",
            "verdict",
            "severity",
            "sentence",
            "cited_note_id",
            "correct_note_id",
            pl.coalesce("rationale", "evidence").alias("evidence"),
            "suggested_fix",
        )
        .to_dicts()
    )
