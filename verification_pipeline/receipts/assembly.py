"""From tables to receipts: one canonical JSON object a document, a row only where its digest changed.

The order of work: `rows` (joins, one document at a time) → `content` (the parts and their counters) → `facts` and
`gate` (the judgement) → `digest` (the name) → here, the stored row. What a receipt holds is said in `models`.
"""

from __future__ import annotations

from collections.abc import Sequence

import orjson
import polars as pl

from verification_pipeline.config import Policy, Settings
from verification_pipeline.receipts import digest as digests
from verification_pipeline.receipts.content import content_of
from verification_pipeline.receipts.facts import facts_of
from verification_pipeline.receipts.gate import judge
from verification_pipeline.receipts.inputs import ReceiptInputs, RunInfo, input_tables
from verification_pipeline.receipts.rows import DocumentRows, Row, documents
from verification_pipeline.tables import TABLES

__all__ = ["ReceiptInputs", "RunInfo", "assemble", "input_tables", "merge"]


def assemble(frames: ReceiptInputs, run: RunInfo, settings: Settings, previous_receipts: pl.DataFrame) -> pl.DataFrame:
    """Rows of table `receipts` for the documents whose digest differs from their current receipt's.

    `previous_receipts` needs the columns document_key, digest and current (the JSON may be left out).
    """
    current = previous_receipts.filter(pl.col("current")).select("document_key", "digest")
    known: dict[str, str] = dict(current.iter_rows())
    made = [pl.DataFrame(schema=TABLES["receipts"].schema)]
    for chunk in documents(frames, run):
        rows = [_stored(parts, known.get(parts.document["document_key"]), run, settings) for parts in chunk]
        changed = [row for row in rows if row is not None]
        made.append(pl.DataFrame(changed, schema=TABLES["receipts"].schema, orient="row"))
    return pl.concat(made, rechunk=True)


def merge(previous: pl.DataFrame, new: pl.DataFrame, gone: Sequence[str] = ()) -> pl.DataFrame:
    """The table after a run: stored rows stay as they are, new ones join, `current` moves.

    A digest that comes back is not a new receipt: its first row becomes current again. Documents in `gone` keep their
    receipts and have none that is current.
    """
    both = pl.concat([previous, new]).unique(["document_key", "digest"], keep="first", maintain_order=True)
    latest = new.select("document_key", pl.col("digest").alias("_latest"))
    return (
        both.join(latest, on="document_key", how="left")
        .with_columns(
            current=pl.when(pl.col("_latest").is_not_null())
            .then(pl.col("digest") == pl.col("_latest"))
            .otherwise(pl.col("current") & ~pl.col("document_key").is_in(list(gone)))
        )
        .drop("_latest")
        .sort("document_key", "digest")
    )


def _stored(parts: DocumentRows, known: str | None, run: RunInfo, settings: Settings) -> Row | None:
    """The row of a document's receipt; None when its digest is the known one. Each part is serialised once."""
    receipt = _receipt(parts, run, settings.policy)
    sealed = {name: orjson.Fragment(digests.canonical(value)) for name, value in receipt.items()}
    digest = digests.digest_of(sealed)
    if digest == known:
        return None
    key = parts.document["document_key"]
    identity = digests.receipt_id(key, digest)
    whole = {
        **sealed,
        **_circumstances(parts, run),
        "id": identity,
        "digest": digest,
        "created_at": run.created_at.isoformat(),
        "run_id": run.run_id,
    }
    return {
        "document_key": key,
        "receipt_id": identity,
        "digest": digest,
        "run_id": run.run_id,
        "created_at": run.created_at,
        "passed": receipt["passed"],
        "state": receipt["state"],
        "current": True,
        "receipt": digests.canonical(whole).decode(),
    }


def _circumstances(parts: DocumentRows, run: RunInfo) -> Row:
    """Engine, billing and provenance: what belongs to the run and not to the result."""
    requests = {a["pair_id"]: a["request_key"] for a in parts.rows("answers") if a["request_key"] is not None}
    return {
        "engine": {"verification_pipeline": run.engine},
        "billing": {
            "llm_pairs": len(requests),
            "price_cents": float(run.price_cents.get(parts.document["document_key"], 0.0)),
        },
        "provenance": {"as_of": run.as_of.isoformat(), "request_keys": requests},
    }


def _receipt(parts: DocumentRows, run: RunInfo, policy: Policy) -> Row:
    """The receipt of one document without what the run adds (`digest.OUTSIDE`)."""
    content = content_of(parts, run.registers)
    waivers = [w for w in run.waivers if w.applies(content["corpus"], content["document_id"], run.day)]
    stages = [(stage, _missing(stage, parts)) for stage in run.stages]
    judgement = judge(facts_of(content, stages), policy, waivers)
    return {
        **content,
        "passed": judgement.passed,
        "state": judgement.state,
        "policy": {"allow_unsupported": policy.allow_unsupported},
        "checks": judgement.checks,
    }


_ROWS_OF = {
    "reading": ("_untriaged", "without a triage row"),
    "selection": ("_unsampled", "without a sampling row"),
    "grading": ("_unanswered", "without a verdict row"),
}


def _missing(stage: str, parts: DocumentRows) -> str | None:
    """Why a stage counts as not run on a document: no fingerprint of it, or pairs that it left without a row."""
    if all(row["stage"] != stage for row in parts.rows("ran")):
        return "no trace of it on this document"
    flag, what = _ROWS_OF.get(stage, (None, ""))
    lacking = sum(answer[flag] for answer in parts.rows("answers")) if flag else 0
    return f"{lacking} {'pair' if lacking == 1 else 'pairs'} {what}" if lacking else None
