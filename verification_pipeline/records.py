"""The records that stages hand to each other inside one document: what was read, before it is judged.

Only records that two or more rooms share stand here. Rows that a single stage makes are defined in that stage's
module, with attributes named like the columns of its table (`tables.frame`).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from verification_pipeline.text.index import IndexedText


@dataclass(frozen=True, slots=True)
class Document:
    """One readable document and its text (markdown; offsets of every stage are code points into `text`)."""

    document_key: str
    corpus: str
    document_id: str
    text: str
    text_sha256: str
    title: str | None = None
    date: str | None = None
    url: str | None = None
    language: str | None = None
    body_start: int = 0
    """First code point after front matter: what stands before is kept in the text but is not prose."""


@dataclass(frozen=True, slots=True)
class Source:
    """One source's metadata, as far as citations, works and addresses need it. `status` ok = usable text."""

    source_key: str
    source_id: str
    document_id: str | None = None
    n: int | None = None
    url: str | None = None
    canonical_url: str | None = None
    title: str | None = None
    aliases: tuple[str, ...] = ()
    doi: str | None = None
    pmid: str | None = None
    publisher: str | None = None
    comment: str | None = None
    published_at: str | None = None
    fetched_at: str | None = None
    status: str = "ok"
    reason: str | None = None
    text_sha256: str | None = None


@dataclass(frozen=True, slots=True)
class Evidence:
    """A source whose text is usable, with that text and its word index."""

    source: Source
    body: IndexedText


@dataclass(frozen=True, slots=True)
class Marker:
    """One cited target of a marker occurrence: a row of `markers`."""

    document_key: str
    marker_index: int
    text: str
    start: int
    end: int
    kind: str
    target: str | None
    source_key: str | None
    status: str
    pair_id: str | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Reference:
    """One entry of a reference list: a row of `references`."""

    document_key: str
    n: str | None
    entry: str
    start: int
    end: int
    title: str | None = None
    url: str | None = None
    doi: str | None = None
    source_key: str | None = None
    resolved_by: str | None = None
    conflict: str | None = None


@dataclass(frozen=True, slots=True)
class Pair:
    """A claim and the source it cites: a row of `pairs`."""

    pair_id: str
    document_key: str
    pair_index: int
    sentence: str
    sentence_start: int
    sentence_end: int
    claim: str
    claim_spans: tuple[tuple[int, int], ...]
    context: str | None
    marker: str
    n: str | None
    note_id: str | None
    target: str
    source_key: str | None
    locator: str | None
    scope: str
    status: str
    reason: str | None
    strong: bool
    strong_markers: tuple[str, ...]
    numbers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Citations:
    """What one document cites, in document order.

    `prose` are the half-open code-point ranges of the document that are sentences (neither code, nor the
    reference list, nor front matter): what quotes and number checks read besides pairs.
    """

    references: tuple[Reference, ...]
    markers: tuple[Marker, ...]
    pairs: tuple[Pair, ...]
    prose: tuple[tuple[int, int], ...] = field(default=())
