"""From tables to receipts: one canonical JSON object a document, a row only where its digest changed.

Joins and order are polars' work; the object itself is built from plain rows, since a receipt is a tree. What a
receipt holds is said in `models`, what passes in `gate`; nothing here decides either.
"""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import orjson
import polars as pl

from verification_pipeline.config import Settings
from verification_pipeline.errors import ContractError
from verification_pipeline.receipts import digest as digests
from verification_pipeline.receipts.gate import Facts, judge
from verification_pipeline.receipts.models import SCHEMA_VERSION
from verification_pipeline.receipts.waivers import Waiver
from verification_pipeline.tables import TABLES

Row = dict[str, Any]

_CHUNK = 1_000  # documents whose rows are Python objects at one time


@dataclass(frozen=True, slots=True)
class ReceiptInputs:
    """Frames with the registered schemas, for the documents in `documents` (other documents' rows are ignored).

    `sources` must hold every source that `document_sources` and the rows name; `doi_statuses` at most one row a work:
    the statuses of the day in question; `clusters` those of document scope; `fingerprints` may be empty when
    `RunInfo.stages` is.
    """

    documents: pl.DataFrame
    sources: pl.DataFrame
    document_sources: pl.DataFrame
    references: pl.DataFrame
    markers: pl.DataFrame
    pairs: pl.DataFrame
    triage: pl.DataFrame
    batches: pl.DataFrame
    verdicts: pl.DataFrame
    quotes: pl.DataFrame
    uncited_numbers: pl.DataFrame
    doi_mentions: pl.DataFrame
    doi_statuses: pl.DataFrame
    clusters: pl.DataFrame
    findings_in_text: pl.DataFrame
    fingerprints: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=TABLES["fingerprints"].schema))


@dataclass(frozen=True, slots=True)
class RunInfo:
    """What the run adds to a receipt. `as_of`: the day of the statuses; `day`: the night, on which waivers hold."""

    run_id: str
    created_at: dt.datetime
    day: dt.date
    as_of: dt.date
    engine: str
    stages: tuple[str, ...] = ()
    """Stages that were supposed to run on every readable document (their fingerprints say whether they did)."""
    registers: tuple[str, ...] = ()
    """Registers known to this package: those that answered nothing are named as not asked."""
    waivers: tuple[Waiver, ...] = ()
    price_cents: Mapping[str, float] = field(default_factory=dict)
    """document_key to what this run paid for it."""


def assemble(frames: ReceiptInputs, run: RunInfo, settings: Settings, previous_receipts: pl.DataFrame) -> pl.DataFrame:
    """Rows of table `receipts` for the documents whose digest differs from their current receipt's.

    `previous_receipts` needs the columns document_key, digest and current (the JSON may be left out).
    """
    current = previous_receipts.filter(pl.col("current")).select("document_key", "digest")
    known: dict[str, str] = dict(current.iter_rows())
    made = [pl.DataFrame(schema=TABLES["receipts"].schema)]
    for documents in _documents(frames, run):
        rows = [_stored(parts, known.get(parts.document["document_key"]), run, settings) for parts in documents]
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


def _stored(parts: _Parts, known: str | None, run: RunInfo, settings: Settings) -> Row | None:
    """The row of a document's receipt; None when its digest is the known one. Each part is serialised once."""
    receipt = _receipt(parts, run, settings)
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


def _circumstances(parts: _Parts, run: RunInfo) -> Row:
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


# --- rows of one document -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Parts:
    """The rows of one document, table by table, in the order of the receipt."""

    document: Row
    tables: Mapping[str, list[Row]]

    def rows(self, table: str) -> list[Row]:
        return self.tables[table]


def _documents(frames: ReceiptInputs, run: RunInfo) -> Iterator[list[_Parts]]:
    """The documents in order of their key, each with its rows, a chunk at a time."""
    documents = frames.documents.sort("document_key").with_columns(pl.col("date").dt.to_string("iso"))
    keys = documents.select("document_key")
    prepared = {name: _grouped(keys, frame) for name, frame in _prepared(frames, run).items()}
    for first in range(0, len(keys), _CHUNK):
        heads = documents.slice(first, _CHUNK).to_dicts()
        chunk = {name: _chunk(frame, offsets, first, len(heads)) for name, (frame, offsets) in prepared.items()}
        yield [_Parts(head, {name: rows[i] for name, rows in chunk.items()}) for i, head in enumerate(heads)]


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


_NEVER_ASKED = ("no identifier", "not asked", "no register asked")


def _works(frames: ReceiptInputs) -> pl.DataFrame:
    """Every cited work with its status; a work that nobody was asked about is unavailable, and counted as unchecked."""
    statuses = frames.doi_statuses.drop("doi", "valid_from", "valid_to")
    asked = pl.col("status").is_not_null()
    why = (
        pl.when(pl.col("work_id").str.starts_with("source:"))
        .then(pl.lit(_NEVER_ASKED[0]))
        .otherwise(pl.lit(_NEVER_ASKED[1]))
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


# --- the receipt ----------------------------------------------------------------------------------------------


def _receipt(parts: _Parts, run: RunInfo, settings: Settings) -> Row:
    """The receipt of one document without what the run adds (`digest.OUTSIDE`)."""
    document = parts.document
    waivers = [w for w in run.waivers if w.applies(document["corpus"], document["document_id"], run.day)]
    judgement = judge(_facts(parts, run), settings.policy, waivers)
    return {
        "version": SCHEMA_VERSION,
        "passed": judgement.passed,
        "state": judgement.state,
        "corpus": document["corpus"],
        "document_id": document["document_id"],
        "document": {name: document[name] for name in _DOCUMENT_FIELDS},
        "checks": judgement.checks,
        "cite_check": _cite_check(parts.rows("pairs")),
        "quote_integrity": _quote_integrity(parts.rows("quotes")),
        "retraction_sweep": _retraction_sweep(parts.rows("works"), run.registers),
        "independence": _independence(parts.rows("clusters"), len(parts.rows("sources"))),
        "markers": _markers(parts.rows("markers")),
        "references": _references(parts.rows("references")),
        "uncited_numbers": parts.rows("numbers"),
        "text_findings": parts.rows("findings"),
        "sources": parts.rows("sources"),
    }


_DOCUMENT_FIELDS = ("document_key", "title", "date", "url", "language", "status", "reason", "text_sha256", "n_chars")


def _cite_check(pairs: list[Row]) -> Row:
    outcomes = Counter(pair["outcome"] for pair in pairs)
    graded = [pair for pair in pairs if pair["checked"]]
    verdicts = Counter(pair["verdict"] for pair in graded)
    readable = len(pairs) - outcomes["auto-passed"] - outcomes["dangling"]
    return {
        "pairs": len(pairs),
        "auto_passed": outcomes["auto-passed"],
        "dangling": outcomes["dangling"],
        "sampled_for_llm": sum(pair["selected"] is True for pair in pairs),
        "checked": outcomes["checked"],
        "not_checked": outcomes["not-checked"],
        "verdicts": {v: verdicts[v] for v in ("supported", "partially-supported", "unsupported", "wrong-source")},
        "contradicted": sum(pair["contradicted"] for pair in graded),
        "coverage": {
            "settled": _share(outcomes["auto-passed"] + outcomes["checked"], len(pairs)),
            "read": _share(outcomes["checked"], readable),
            "not_checked_reasons": dict(Counter(p["reason"] for p in pairs if p["outcome"] == "not-checked")),
        },
        "rows": pairs,
    }


def _quote_integrity(quotes: list[Row]) -> Row:
    statuses = Counter(quote["status"] for quote in quotes)
    return {
        "quotes": len(quotes),
        "verified": statuses["verified"],
        "altered": statuses["altered"],
        "not_found": statuses["not-found"],
        "not_checked": statuses["not-checked"],
        "misattributed": sum(_misattributed(quote) for quote in quotes),
        "rows": quotes,
    }


def _misattributed(quote: Row) -> bool:
    return quote["status"] == "not-found" and quote["found_in_source_key"] is not None


def _retraction_sweep(works: list[Row], known: Sequence[str]) -> Row:
    asked = [work for work in works if work["status"] != "unavailable" or work["reason"] not in _NEVER_ASKED]
    statuses = Counter(work["status"] for work in asked)
    answered = sorted({register for work in asked for register in work["registers"]})
    return {
        "works": len(works),
        "dois_checked": len(asked) - statuses["unavailable"],
        "retracted": statuses["retracted"],
        "concerns": statuses["expression-of-concern"],
        "corrected": statuses["corrected"],
        "unavailable": statuses["unavailable"],
        "unchecked": len(works) - len(asked),
        "registers": answered,
        "registers_not_asked": sorted(set(known) - set(answered)),
        "rows": works,
    }


def _independence(clusters: list[Row], sources: int) -> Row:
    repeats = sum(len(cluster["members"]) - 1 for cluster in clusters)
    return {
        "sources": sources,
        "clusters": len(clusters),
        "effective_sources": sources - repeats,
        "rows": clusters,
    }


def _markers(markers: list[Row]) -> Row:
    statuses = Counter(marker["status"] for marker in markers)
    return {
        "total": len(markers),
        "bound": statuses["bound"],
        "dangling": statuses["dangling"],
        "unsupported_style": statuses["unsupported-style"],
        "not_a_citation": statuses["not-a-citation"],
        "rows": markers,
    }


def _references(entries: list[Row]) -> Row:
    conflicts = [entry for entry in entries if entry["conflict"] is not None]
    return {
        "entries": len(entries),
        "resolved": sum(entry["source_key"] is not None for entry in entries),
        "conflicts": len(conflicts),
        "rows": [{name: entry[name] for name in ("n", "entry", "start", "end", "conflict")} for entry in conflicts],
    }


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None


# --- the gate's facts -----------------------------------------------------------------------------------------


def _facts(parts: _Parts, run: RunInfo) -> Facts:
    pairs, quotes, works = parts.rows("pairs"), parts.rows("quotes"), parts.rows("works")
    outcomes = Counter(pair["outcome"] for pair in pairs)
    graded: dict[str, list[str]] = {}
    for pair in pairs:
        if pair["checked"]:
            graded.setdefault(pair["verdict"], []).append(pair["pair_id"])
    by_status: dict[str, list[str]] = {}
    for quote in quotes:
        by_status.setdefault(quote["status"], []).append(quote["quote_id"])
    retracted = [work for work in works if work["status"] == "retracted"]
    in_text = [work for work in retracted if work["cited"] or work["start"] is not None]
    known = [work for work in works if work["status"] != "unavailable"]
    leaks = [finding for finding in parts.rows("findings") if finding["kind"] == "scaffold-leak"]
    sources = len(parts.rows("sources"))
    return Facts(
        readable=parts.document["status"] == "ok",
        pairs=len(pairs),
        auto_passed=outcomes["auto-passed"],
        checked=outcomes["checked"],
        partially_supported=len(graded.get("partially-supported", ())),
        not_checked=outcomes["not-checked"],
        selected_ungraded=sum(pair["selected"] is True and not pair["checked"] for pair in pairs),
        unsupported=tuple(graded.get("unsupported", ())),
        wrong_source=tuple(graded.get("wrong-source", ())),
        dangling=tuple(pair["pair_id"] for pair in pairs if pair["outcome"] == "dangling"),
        quotes_verified=len(by_status.get("verified", ())),
        quotes_not_checked=len(by_status.get("not-checked", ())),
        altered=tuple(by_status.get("altered", ())),
        not_found=tuple(by_status.get("not-found", ())),
        misattributed=sum(_misattributed(quote) for quote in quotes),
        works=len(works),
        works_with_status=len(known),
        works_without_status=len(works) - len(known),
        works_stale=sum(work["stale"] for work in works),
        retracted_noted=sum(work["noted_in_document"] for work in in_text),
        retracted_unnoted=tuple(work["work_id"] for work in in_text if not work["noted_in_document"]),
        retracted_uncited=len(retracted) - len(in_text),
        code_unattributed=sum(finding["kind"] == "code-unattributed" for finding in parts.rows("findings")),
        leaks=len(leaks),
        first_leak=leaks[0]["detail"] if leaks else None,
        uncited_numbers=len(parts.rows("numbers")),
        markers=len(parts.rows("markers")),
        markers_unparsed=sum(marker["status"] == "unsupported-style" for marker in parts.rows("markers")),
        sources=sources,
        effective_sources=sources - sum(len(cluster["members"]) - 1 for cluster in parts.rows("clusters")),
        stages=[(stage, _missing(stage, parts)) for stage in run.stages],
    )


_ROWS_OF = {
    "reading": ("_untriaged", "without a triage row"),
    "selection": ("_unsampled", "without a sampling row"),
    "grading": ("_unanswered", "without a verdict row"),
}


def _missing(stage: str, parts: _Parts) -> str | None:
    """Why a stage counts as not run on a document: no fingerprint of it, or pairs that it left without a row."""
    if all(row["stage"] != stage for row in parts.rows("ran")):
        return "no trace of it on this document"
    flag, what = _ROWS_OF.get(stage, (None, ""))
    lacking = sum(answer[flag] for answer in parts.rows("answers")) if flag else 0
    return f"{lacking} {'pair' if lacking == 1 else 'pairs'} {what}" if lacking else None


def input_tables() -> tuple[str, ...]:
    """Names of the tables a receipt is made from."""
    return tuple(f.name for f in fields(ReceiptInputs))
