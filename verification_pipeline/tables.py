"""The registry of tables: grain, key, partitioning, columns, types, one line on each column.

One registry drives writing, the blocking schema checks, the column docs in the orchestrator's metadata, DuckDB's
column comments and the generated data dictionary. It says nothing about where tables live (`store`) nor how
their rows come about (the stage's own module).

Rows are made as frozen dataclasses whose attributes are named like the columns; `frame` turns them into a
checked polars frame. A row's `span` attribute (a `Span` or None) fills the five span columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, Literal

import numpy as np
import polars as pl
import pyarrow as pa

from verification_pipeline.errors import ContractError

Partitioning = Literal["document", "archive"]

TEXT = pl.String()
INTEGER = pl.Int64()
REAL = pl.Float64()
FLAG = pl.Boolean()
DAY = pl.Date()
MOMENT = pl.Datetime("us", "UTC")
TEXTS = pl.List(pl.String())
INTEGERS = pl.List(pl.Int64())
HASHES = pl.List(pl.UInt32())
SPANS = pl.List(pl.Struct({"start": pl.Int64(), "end": pl.Int64()}))


@dataclass(frozen=True, slots=True)
class Span:
    """An exact place in a stored text: slicing the text named `text_sha256` by code points gives `text`."""

    source_key: str
    text_sha256: str
    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Column:
    """One column: name, polars type, whether it may be null, what it says."""

    name: str
    dtype: pl.DataType
    doc: str
    nullable: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """One table. `key` columns are unique together (empty: no key); `partitioning` says how it is split."""

    name: str
    grain: str
    partitioning: Partitioning
    key: tuple[str, ...]
    columns: tuple[Column, ...]

    @property
    def schema(self) -> pl.Schema:
        """Column names and types, in order."""
        return pl.Schema({column.name: column.dtype for column in self.columns})


def _c(name: str, dtype: pl.DataType, doc: str) -> Column:
    return Column(name, dtype, doc)


def _n(name: str, dtype: pl.DataType, doc: str) -> Column:
    return Column(name, dtype, doc, nullable=True)


SPAN_COLUMNS = (
    _n("evidence_source_key", TEXT, "Source that holds the evidence span."),
    _n("evidence_text_sha256", TEXT, "Stored text the span was read in."),
    _n("evidence_start", INTEGER, "First code point of the span in that text."),
    _n("evidence_end", INTEGER, "Code point after the span."),
    _n("evidence", TEXT, "The span itself: exactly text[evidence_start:evidence_end]."),
)

_DOCUMENT_KEY = _c("document_key", TEXT, "Document the row belongs to.")
_PAIR_ID = _c("pair_id", TEXT, "Pair the row belongs to; joins `pairs`.")

_ALL = (
    Table(
        "documents",
        "document",
        "document",
        ("document_key",),
        (
            _c("document_key", TEXT, "Hash of corpus and document_id."),
            _c("corpus", TEXT, "Corpus the document came from."),
            _c("document_id", TEXT, "The caller's own id, unchanged."),
            _n("title", TEXT, "Title: front matter, else first heading."),
            _n("date", DAY, "Day of the document as it states it."),
            _n("url", TEXT, "The document's own address; a source with it is a self-citation."),
            _n("language", TEXT, "Detected language, ISO 639-1."),
            _c("status", TEXT, "ok, unreadable, empty or too-large."),
            _n("reason", TEXT, "Why the status is not ok."),
            _n("text_sha256", TEXT, "Stored text; null when there is none."),
            _c("n_chars", INTEGER, "Length of that text in code points."),
            _c("file", TEXT, "Input file, relative to the corpus."),
            _n("line", INTEGER, "Line or row of that file, from 1."),
            _n("entry_hash", TEXT, "Hash of that row, where it can stand for what was read; null for whole files."),
        ),
    ),
    Table(
        "sources",
        "source",
        "document",
        ("source_key",),
        (
            _c("source_key", TEXT, "Hash of corpus, owning document (or nothing) and source_id."),
            _c("corpus", TEXT, "Corpus the source came from."),
            _n("document_key", TEXT, "Key of the owning document; null when shared by the corpus."),
            _n("document_id", TEXT, "Id of the owning document; null when shared by the corpus."),
            _c("source_id", TEXT, "The caller's own id, unchanged."),
            _n("n", INTEGER, "Citation number the archive gives the source."),
            _n("url", TEXT, "Address as given."),
            _n("canonical_url", TEXT, "Address in canonical form; equal for one page or work."),
            _n("title", TEXT, "Title as given."),
            _n("aliases", TEXTS, "Other names a [[link]] may use."),
            _n("doi", TEXT, "DOI as given."),
            _n("pmid", TEXT, "PubMed id as given."),
            _n("publisher", TEXT, "Publisher as given."),
            _n("comment", TEXT, "Comment as given (withdrawal remarks stand here)."),
            _n("published_at", TEXT, "Publication moment as given."),
            _n("fetched_at", TEXT, "Fetch moment as given."),
            _c("status", TEXT, "ok, empty, title-only, challenge-page or unreadable."),
            _n("reason", TEXT, "Why the status is not ok."),
            _n("text_sha256", TEXT, "Stored text; null when there is none."),
            _c("n_chars", INTEGER, "Length of that text in code points."),
            _c("metadata_hash", TEXT, "Hash of everything but the text: what binding depends on."),
            _c("file", TEXT, "Input file, relative to the corpus."),
            _n("line", INTEGER, "Line or row of that file, from 1."),
            _n("entry_hash", TEXT, "Hash of that row, where it can stand for what was read; null for whole files."),
        ),
    ),
    Table(
        "texts",
        "text",
        "document",
        ("text_sha256",),
        (
            _c("text_sha256", TEXT, "SHA-256 of the text's UTF-8 form."),
            _c("text", TEXT, "The text: decoded, no byte-order mark, LF newlines."),
        ),
    ),
    Table(
        "fingerprints",
        "(stage, key, component)",
        "document",
        ("stage", "key", "component"),
        (
            _c("stage", TEXT, "Stage the component belongs to."),
            _c("key", TEXT, "Document (or archive-wide) key."),
            _c("component", TEXT, "document, sources, engine, checker, configuration, register or policy."),
            _c("hash", TEXT, "Hash of that component when the stage last ran on the key."),
        ),
    ),
    Table(
        "inputs",
        "input file",
        "archive",
        ("corpus", "file"),
        (
            _c("corpus", TEXT, "Corpus the file belongs to."),
            _c("file", TEXT, "Input file, relative to the corpus."),
            _c("size", INTEGER, "Size in bytes when it was last read."),
            _c("modified_ns", INTEGER, "Modification time when it was last read, nanoseconds since 1970."),
            _c("reader", TEXT, "Hash of the reader's code and settings when it was last read."),
        ),
    ),
    Table(
        "problems",
        "problem",
        "archive",
        (),
        (
            _c("corpus", TEXT, "Corpus the problem was met in."),
            _c("file", TEXT, "Input file, relative to the corpus."),
            _n("line", INTEGER, "Line of the file, from 1."),
            _n("id", TEXT, "Id of the document or source concerned."),
            _c("what", TEXT, "document, source, file or setting."),
            _c("reason", TEXT, "What is wrong and what was done about it."),
        ),
    ),
    Table(
        "references",
        "entry of a reference list",
        "document",
        (),
        (
            _DOCUMENT_KEY,
            _n("n", TEXT, "Number or label of the entry, as written."),
            _c("entry", TEXT, "The entry as written."),
            _c("start", INTEGER, "First code point of the entry in the document."),
            _c("end", INTEGER, "Code point after the entry."),
            _n("title", TEXT, "Title read from the entry."),
            _n("url", TEXT, "Address read from the entry."),
            _n("doi", TEXT, "DOI read from the entry."),
            _n("source_key", TEXT, "Source the entry was resolved to."),
            _n("resolved_by", TEXT, "number, id, doi, url or title."),
            _n("conflict", TEXT, "Why the entry could not be resolved to one source."),
        ),
    ),
    Table(
        "markers",
        "one cited target of a marker occurrence",
        "document",
        ("document_key", "marker_index"),
        (
            _DOCUMENT_KEY,
            _c("marker_index", INTEGER, "Position among the document's marker rows, from 0."),
            _n("pair_id", TEXT, "Pair that this marker names; null when it names none."),
            _c("text", TEXT, "The marker as written: exactly document[start:end]."),
            _c("start", INTEGER, "First code point of the marker in the document."),
            _c("end", INTEGER, "Code point after the marker."),
            _c("kind", TEXT, "Style: bracket, footnote, wikilink, link, superscript, cjk, author-year …"),
            _n("target", TEXT, "What it points to: source_id where bound, else the text as written."),
            _n("source_key", TEXT, "Source it is bound to."),
            _c("status", TEXT, "bound, dangling, unsupported-style or not-a-citation."),
            _n("reason", TEXT, "Why it is not bound."),
        ),
    ),
    Table(
        "pairs",
        "(claim, target)",
        "document",
        ("pair_id",),
        (
            _c("pair_id", TEXT, "Hash of document, normalised claim, target and occurrence."),
            _DOCUMENT_KEY,
            _c("pair_index", INTEGER, "Position among the document's pairs, from 0."),
            _c("sentence", TEXT, "The sentence: exactly document[sentence_start:sentence_end]."),
            _c("sentence_start", INTEGER, "First code point of the sentence."),
            _c("sentence_end", INTEGER, "Code point after the sentence."),
            _c("claim", TEXT, "What this citation covers: sentence, clause or cell, markers blanked."),
            _c("claim_spans", SPANS, "Places of the claim in the document."),
            _n("context", TEXT, "Headings, table row and column names, lead-in of a list."),
            _c("marker", TEXT, "Marker as written."),
            _n("n", TEXT, "Citation number, when the marker is a number."),
            _n("note_id", TEXT, "Id of a [[wikilink]]."),
            _c("target", TEXT, "source_id where bound, else the text as written."),
            _n("source_key", TEXT, "Source the pair is bound to."),
            _n("locator", TEXT, "Page or passage named in the marker."),
            _c("scope", TEXT, "What the marker covers: sentence, clause, cell, row, paragraph or list-item."),
            _c("status", TEXT, "bound, dangling or uncheckable."),
            _n("reason", TEXT, "Why it is dangling or uncheckable."),
            _c("strong", FLAG, "Whether the claim holds a strong marker."),
            _c("strong_markers", TEXTS, "The strong markers found, as written."),
            _c("numbers", TEXTS, "Typed numbers of the claim, as written."),
        ),
    ),
    Table(
        "failures",
        "document that a stage could not read",
        "document",
        ("document_key", "stage"),
        (
            _DOCUMENT_KEY,
            _c("stage", TEXT, "Stage that failed on it."),
            _c("reason", TEXT, "The error, with its place in the code; the document is taken up again next night."),
        ),
    ),
    Table(
        "census",
        "readable document",
        "document",
        ("document_key",),
        (
            _DOCUMENT_KEY,
            _c("marker_like", INTEGER, "Tokens of its prose that look like citations, counted independently."),
            _c("marker_rows", INTEGER, "Rows of `markers`: never fewer than that."),
        ),
    ),
    Table(
        "document_sources",
        "source that a document may rest on",
        "document",
        ("document_key", "source_key"),
        (
            _DOCUMENT_KEY,
            _c("source_key", TEXT, "One of the document's own sources."),
            _c("source_shard", INTEGER, "Shard in which the source and its text lie."),
            _c("owned", FLAG, "Whether the source row names this document (else it is shared)."),
        ),
    ),
    Table(
        "triage",
        "pair",
        "document",
        ("pair_id",),
        (
            _PAIR_ID,
            _DOCUMENT_KEY,
            _c("outcome", TEXT, "auto-passed, needs-checker, dangling or uncheckable."),
            _n("rule", TEXT, "Rule that passed it: numbers or words."),
            *SPAN_COLUMNS,
            _n("refused_by", TEXT, "Guard that refused a pass."),
        ),
    ),
    Table(
        "batches",
        "pair that needs a checker",
        "document",
        ("pair_id",),
        (
            _PAIR_ID,
            _DOCUMENT_KEY,
            _c("selected", FLAG, "Whether the sample holds the pair."),
            _c("stratum", TEXT, "strong or rest."),
            _c("probability", REAL, "Probability with which the pair was selected."),
            _n("batch_id", TEXT, "Batch the pair is read in; at most 25 pairs."),
            _n("position", INTEGER, "Place in that batch, from 0."),
        ),
    ),
    Table(
        "verdicts",
        "pair that is neither auto-passed nor dangling",
        "document",
        ("pair_id",),
        (
            _PAIR_ID,
            _DOCUMENT_KEY,
            _c("checked", FLAG, "Whether a checker graded the pair."),
            _n("verdict", TEXT, "supported, partially-supported, unsupported or wrong-source."),
            _c("contradicted", FLAG, "Whether the source says otherwise."),
            *SPAN_COLUMNS,
            _n("correct_source_key", TEXT, "Source that does hold the claim, for wrong-source."),
            _n("severity", TEXT, "critical or major, for findings."),
            _n("suggested_fix", TEXT, "swap citation, soften claim … or delete sentence, for findings."),
            _n("rationale", TEXT, "One sentence: what the source says or lacks."),
            _n("confidence", REAL, "Checker's probability of its verdict, 0 to 1."),
            _n("checker", TEXT, "Checker that graded it, or did not; of two in a row the one that spoke last."),
            _n("model", TEXT, "Model behind that checker."),
            _n("prompt_version", TEXT, "Version of prompt, schema and parser."),
            _n("request_key", TEXT, "Ledger key of the request."),
            _n("first_checker", TEXT, "Checker that read it first and abstained."),
            _n("first_confidence", REAL, "Confidence of that first reading."),
            _n("not_checked_reason", TEXT, "Why no verdict was given."),
        ),
    ),
    Table(
        "quotes",
        "quoted span",
        "document",
        ("quote_id",),
        (
            _c("quote_id", TEXT, "Hash of document, normalised quote and occurrence."),
            _DOCUMENT_KEY,
            _c("quote", TEXT, "The quoted words: exactly document[start:end]."),
            _c("start", INTEGER, "First code point of the quoted words in the document."),
            _c("end", INTEGER, "Code point after them."),
            _n("source_key", TEXT, "Cited source with the best match."),
            _c("status", TEXT, "verified, altered, not-found or not-checked."),
            _n("reason", TEXT, "Why it was not checked, or what was allowed for."),
            _n("found_in_source_key", TEXT, "Other own source that holds the words verbatim."),
            _n("closest_span", TEXT, "Nearest span of the source, for a near miss."),
            *SPAN_COLUMNS,
            _n("edit_distance", INTEGER, "Character edits between quote and closest span."),
            _n("edits", TEXTS, "Those edits in words."),
        ),
    ),
    Table(
        "uncited_numbers",
        "number in an uncited sentence that no source of the document holds",
        "document",
        (),
        (
            _DOCUMENT_KEY,
            _c("start", INTEGER, "First code point of the number in the document."),
            _c("end", INTEGER, "Code point after it."),
            _c("number", TEXT, "The number as written."),
        ),
    ),
    Table(
        "doi_mentions",
        "(document, cited work)",
        "document",
        ("document_key", "work_id"),
        (
            _DOCUMENT_KEY,
            _c("work_id", TEXT, "doi:…, pmid:…, arxiv:… or source:<source_key>."),
            _n("doi", TEXT, "DOI in normal form."),
            _n("pmid", TEXT, "PubMed id."),
            _c("raw", TEXT, "The identifier as it was written where it was found."),
            _n(
                "start",
                INTEGER,
                "First code point of the mention in the document; null when in a source row.",
            ),
            _n("source_key", TEXT, "Source that is this work."),
            _n("title", TEXT, "Title of the cited work, for title-only retraction signs."),
            _n("comment", TEXT, "Comment of the source, for withdrawal remarks."),
            _c("cited", FLAG, "Whether a marker cites it (else it only stands in the list)."),
            _c("noted_in_document", FLAG, "Whether the document says this work was retracted."),
            _n("noted_span", TEXT, "The words that say so."),
        ),
    ),
    Table(
        "doi_lookups",
        "question put to a register",
        "archive",
        (),
        (
            _c("work_id", TEXT, "Work asked about."),
            _c("register", TEXT, "Register asked."),
            _n("snapshot", TEXT, "Snapshot id of the register (file hash) or null when live."),
            _c("asked_at", MOMENT, "When it was asked."),
            _c("outcome", TEXT, "found, clean, unknown or failed:<reason>."),
        ),
    ),
    Table(
        "doi_notices",
        "notice",
        "archive",
        ("notice_id",),
        (
            _c("notice_id", TEXT, "Hash of register and record (or content)."),
            _c("work_id", TEXT, "Work the notice is about."),
            _n("pmid", TEXT, "PubMed id of that work."),
            _n("work_date", DAY, "Day that work was published, as the register gives it."),
            _c("register", TEXT, "Register it was read from."),
            _n("witness", TEXT, "Who says so, where a register passes on others' notices."),
            _c("nature", TEXT, "Nature of the notice in the register's own words."),
            _n("notice_date", DAY, "Day of the notice."),
            _n("notice_doi", TEXT, "DOI of the notice."),
            _n("notice_pmid", TEXT, "PubMed id of the notice."),
            _n("notice_url", TEXT, "Address of the notice."),
            _n("reason", TEXT, "Reasons the register gives."),
            _c("observed_at", MOMENT, "First snapshot that held it."),
            _n("observed_until", MOMENT, "First snapshot without it; null while live."),
            _c("raw", TEXT, "The record as read, JSON."),
        ),
    ),
    Table(
        "doi_statuses",
        "(cited work, period)",
        "archive",
        ("work_id", "valid_from"),
        (
            _c("work_id", TEXT, "Work."),
            _n("doi", TEXT, "DOI in normal form."),
            _c("valid_from", DAY, "First day of the period."),
            _n("valid_to", DAY, "First day after the period; null while it lasts."),
            _c("status", TEXT, "ok, retracted, expression-of-concern, corrected or unavailable."),
            _n("date", DAY, "Day of the notice that decides."),
            _n("notice_url", TEXT, "Address of that notice."),
            _c("flags", TEXTS, "partial, reinstated, superseded, is_notice, suspect, title_only …"),
            _c("registers", TEXTS, "Registers that were asked and answered."),
            _n("disagreement", TEXT, "Which registers say otherwise."),
            _c("stale", FLAG, "Whether a required register failed and an older answer stands."),
            _n("reason", TEXT, "Why it is unavailable."),
        ),
    ),
    Table(
        "sketches",
        "source with usable text",
        "document",
        ("source_key",),
        (
            _c("source_key", TEXT, "Source whose text was sketched."),
            _n("document_key", TEXT, "Document that owns the source; null when shared by the corpus."),
            _c("text_sha256", TEXT, "Stored text the sketch was made of."),
            _c("n_shingles", INTEGER, "Shingles of prose in that text, repetitions included."),
            _c("limit", INTEGER, "The sampled hashes are complete below this."),
            _c("hashes", INTEGERS, "Sampled shingle hashes, ascending."),
            _n("agency", TEXT, "Wire agency that the text's dateline or credit names."),
        ),
    ),
    Table(
        "phrases",
        "source with usable text",
        "document",
        ("source_key",),
        (
            _c("source_key", TEXT, "Source whose text it is."),
            _n("document_key", TEXT, "Document that owns the source; null when shared by the corpus."),
            _c("text_sha256", TEXT, "Stored text the phrases were taken from."),
            _c("hashes", HASHES, "Hashes of runs of six words, of every three neighbours the smallest, ascending."),
        ),
    ),
    Table(
        "overlaps",
        "two texts that were compared for a clustering",
        "document",
        (),
        (
            _n("document_key", TEXT, "Document in whose scope they were compared; null = whole archive."),
            _c("first_text_sha256", TEXT, "One text."),
            _c("second_text_sha256", TEXT, "The other; the smaller name comes first."),
            _c("share", REAL, "Share of the smaller text's shingles of prose that the larger has."),
            _c("rules", TEXT, "Hash of the settings by which they were compared."),
        ),
    ),
    Table(
        "clusters",
        "source in a cluster",
        "document",
        (),
        (
            _c("cluster_id", TEXT, "Hash of scope and root."),
            _n("document_key", TEXT, "Document in whose scope the cluster stands; null = whole archive."),
            _c("kind", TEXT, "url, body or wire."),
            _c("root", TEXT, "source_key of the root: earliest published, then fetched, then smallest."),
            _c("source_key", TEXT, "Member."),
            _n("similarity", REAL, "Best similarity of the member to another member."),
            _n("weakest_link", REAL, "Weakest edge that holds the cluster together."),
        ),
    ),
    Table(
        "found_elsewhere",
        "pair or quote whose support stands in another document's source",
        "archive",
        (),
        (
            _n("pair_id", TEXT, "Pair, or null for a quote."),
            _n("quote_id", TEXT, "Quote, or null for a pair."),
            _DOCUMENT_KEY,
            _c("source_key", TEXT, "Source of the rest of the archive that holds it."),
            *SPAN_COLUMNS,
            _c("score", REAL, "1 for verbatim words, else the share found."),
        ),
    ),
    Table(
        "findings_in_text",
        "finding that needs only the document's text (and its sources' texts)",
        "document",
        ("document_key", "kind", "start", "end"),
        (
            _DOCUMENT_KEY,
            _c("kind", TEXT, "scaffold-leak or code-unattributed."),
            _c("start", INTEGER, "First code point of the finding in the document."),
            _c("end", INTEGER, "Code point after it."),
            _c("text", TEXT, "The words themselves: exactly document[start:end]."),
            _n("detail", TEXT, "What it is, in words."),
        ),
    ),
    Table(
        "receipts",
        "(document, digest)",
        "document",
        ("document_key", "digest"),
        (
            _DOCUMENT_KEY,
            _c("receipt_id", TEXT, "Hash of document and digest."),
            _c("digest", TEXT, "BLAKE2b of the canonical receipt without run-dependent fields."),
            _c("run_id", TEXT, "Run that first produced it."),
            _c("created_at", MOMENT, "When."),
            _c("passed", FLAG, "Whether the document cleared the gate."),
            _c("state", TEXT, "passed, failed or not-verified."),
            _c("current", FLAG, "Whether this is the document's receipt after the last run that held it."),
            _c("receipt", TEXT, "The whole receipt, canonical JSON."),
        ),
    ),
    Table(
        "baselines",
        "document of the last completed night",
        "document",
        ("document_key",),
        (
            _DOCUMENT_KEY,
            _c("digest", TEXT, "Digest of its receipt in that night: what `changes` compares with."),
            _c("components", TEXT, "Its fingerprint in that night, JSON: component to hash."),
        ),
    ),
    Table(
        "changes",
        "what differs from the night before",
        "archive",
        (),
        (
            _c("run_id", TEXT, "Run that saw the change."),
            _DOCUMENT_KEY,
            _n("pair_id", TEXT, "Pair that changed."),
            _n("quote_id", TEXT, "Quote that changed."),
            _n("work_id", TEXT, "Work that changed."),
            _n("source_key", TEXT, "Source that changed, as the document read it."),
            _n("source_id", TEXT, "The caller's own id of that source: it may be gone from `sources`."),
            _c("what", TEXT, "document, source, pair, quote, work, state or independence."),
            _n(
                "before",
                TEXT,
                "Before: a digest, state or outcome; of a source the hash of its text, else its status.",
            ),
            _n("after", TEXT, "After, in the same words."),
            _c("cause", TEXT, "Why, such as `source drifted`; `unexplained` when nothing known moved."),
        ),
    ),
    Table(
        "runs",
        "night",
        "archive",
        ("run_id",),
        (
            _c("run_id", TEXT, "Run."),
            _c("night", DAY, "Night the run belongs to (UTC)."),
            _c("started_at", MOMENT, "Start."),
            _n("finished_at", MOMENT, "End; null while it runs or when it was killed."),
            _c("engine", TEXT, "Version of this package."),
            _c("configuration_hash", TEXT, "Hash of the whole configuration."),
            _c("checker", TEXT, "Checker configured."),
            _c("corpora", TEXTS, "Corpora in scope."),
            _c("complete", FLAG, "Whether nothing was left pending."),
        ),
    ),
    Table(
        "costs",
        "document that a model read in a run that is paid",
        "archive",
        ("run_id", "document_key"),
        (
            _c("run_id", TEXT, "Run that sent the requests; a batch's cost joins it when its answers come."),
            _DOCUMENT_KEY,
            _c("llm_pairs", INTEGER, "Pairs of the document that were put before a model."),
            _c("cents", REAL, "The document's share of those requests; 0 where the model has no configured price."),
        ),
    ),
    Table(
        "metrics",
        "(run, scope, metric)",
        "archive",
        ("run_id", "corpus", "metric"),
        (
            _c("run_id", TEXT, "Run."),
            _c("corpus", TEXT, "Corpus, or `*` for the whole archive."),
            _c("metric", TEXT, "Name of the figure."),
            _n("value", REAL, "Figure; null when its denominator is empty."),
            _n("low", REAL, "Lower end of its 95 % interval."),
            _n("high", REAL, "Upper end."),
            _c("n", INTEGER, "Denominator."),
        ),
    ),
)

TABLES: dict[str, Table] = {table.name: table for table in _ALL}

_SPAN_FIELDS = {
    "evidence_source_key": "source_key",
    "evidence_text_sha256": "text_sha256",
    "evidence_start": "start",
    "evidence_end": "end",
    "evidence": "text",
}


def frame(name: str, rows: Iterable[Any]) -> pl.DataFrame:
    """Rows (objects with one attribute a column) as a frame of table `name`, in registry order, unsorted."""
    rows = list(rows)
    table = TABLES[name]
    spanned = any(column.name == "evidence_source_key" for column in table.columns)
    data: dict[str, Any] = {}
    for column in table.columns:
        if spanned and column.name in _SPAN_FIELDS:
            field = _SPAN_FIELDS[column.name]
            data[column.name] = [None if row.span is None else getattr(row.span, field) for row in rows]
        else:
            values = list(map(attrgetter(column.name), rows))
            data[column.name] = _lists(values, column.dtype) if isinstance(column.dtype, pl.List) else values
    return pl.DataFrame(data, schema=table.schema, strict=True)


def _lists(values: Sequence[Any], dtype: pl.List) -> pl.Series:
    """A column of lists, built whole (polars would make a series of each row)."""
    if dtype == SPANS:
        places = np.array([place for spans in values for place in spans], np.int64).reshape(-1, 2)
        starts_ends = [pa.array(places[:, k]) for k in (0, 1)]
        return _joined(map(len, values), pa.StructArray.from_arrays(starts_ends, ["start", "end"]))
    if values and isinstance(values[0], np.ndarray):
        return _joined(map(len, values), pa.array(np.concatenate(values)))
    return pl.Series(values=pa.array(values, type=pl.Series(dtype=dtype).to_arrow().type))


def _joined(lengths: Iterable[int], items: pa.Array) -> pl.Series:
    """Lists of these lengths, cut out of their items one after the other."""
    offsets = np.cumsum([0, *lengths], dtype=np.int64)
    return pl.Series(values=pa.LargeListArray.from_arrays(pa.array(offsets), items))


def empty(name: str) -> pl.DataFrame:
    """A frame of table `name` without rows."""
    return pl.DataFrame(schema=TABLES[name].schema)


def check(name: str, data: pl.DataFrame, where: str) -> None:
    """Raise ContractError unless `data` has exactly the registered columns, types, non-nulls and a unique key."""
    table = TABLES[name]
    if data.schema != table.schema:
        expected = {k: v for k, v in table.schema.items() if data.schema.get(k) != v}
        foreign = [k for k in data.columns if k not in table.schema]
        raise ContractError(
            f"{where}: table {name} does not match its schema: expected {expected}, foreign columns {foreign}"
        )
    for column in table.columns:
        if not column.nullable and data[column.name].null_count():
            raise ContractError(f"{where}: table {name}, column {column.name} must not hold nulls")
    if table.key and data.select(pl.struct(table.key).is_duplicated().any()).item():
        raise ContractError(f"{where}: table {name} holds two rows with the same {', '.join(table.key)}")


def sort_keys(name: str) -> list[str]:
    """Columns that put a table's rows in the one order in which they are stored."""
    table = TABLES[name]
    simple = [c.name for c in table.columns if not isinstance(c.dtype, pl.List)]
    return [*table.key, *(c for c in simple if c not in table.key)]
