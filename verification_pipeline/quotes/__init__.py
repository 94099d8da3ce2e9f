"""Quote integrity: every quoted span of a document against the words of its sources.

`check_quotes` is the stage: spans (`spans`), what each cites (`citing`), and how it compares (`compare`) become rows of
table `quotes`. Sources of other documents are not looked at here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from verification_pipeline.config import Quotes
from verification_pipeline.keys import normalised, quote_id
from verification_pipeline.quotes.citing import Cited, CitedSources
from verification_pipeline.quotes.compare import Match, Searchable, Shelf, find
from verification_pipeline.quotes.quotation import Quotation
from verification_pipeline.quotes.spans import Kind, QuotedSpan, quoted_spans, size_in_words
from verification_pipeline.records import Citations, Document, Evidence
from verification_pipeline.tables import Span

__all__ = ["SHORT", "QuoteRow", "Status", "check_quotes"]

Status = Literal["verified", "altered", "not-found", "not-checked"]

_SET_OFF = {"aside": "block", "coined": "phrase"}

SHORT = "shorter than a quotation that is checked"
"""Reason of a verified row that proves nothing by itself: where such a span fails, it gets no row."""


@dataclass(frozen=True, slots=True)
class QuoteRow:
    """A quoted span and what became of it: a row of `quotes`."""

    quote_id: str
    document_key: str
    quote: str
    start: int
    end: int
    source_key: str | None
    status: Status
    reason: str | None = None
    found_in_source_key: str | None = None
    closest_span: str | None = None
    span: Span | None = None
    edit_distance: int | None = None
    edits: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class _Outcome:
    """A quote's status before it becomes a row."""

    status: Status
    source_key: str | None = None
    reason: str | None = None
    found_in: str | None = None
    match: tuple[str, Match] | None = None
    """Source and place of the evidence or closest span."""


def check_quotes(
    document: Document,
    citations: Citations,
    own: Mapping[str, Evidence],
    unreadable: Collection[str],
    settings: Quotes,
) -> list[QuoteRow]:
    """One row a quotation, in document order.

    `own` are the document's own sources with usable text by source key, `unreadable` the keys of those without. Other
    documents' sources never count. Short quotations and titles get no row, but a short one that its cited source holds.
    """
    shelf = Shelf({key: Searchable(own[key].body) for key in sorted(own)})
    cited_sources = CitedSources(document.text, citations, settings.marker_gap_chars)
    titles = _titles(own, citations)
    seen: Counter[str] = Counter()
    rows: list[QuoteRow] = []
    answered: dict[tuple[Kind, str, Cited], _Outcome] = {}
    for span in quoted_spans(document.text, citations.prose, settings):
        words = document.text[span.start : span.end]
        size = size_in_words(words, settings)
        if size < settings.short_words or normalised(words) in titles:
            continue
        cited = cited_sources.of(span)
        asked = (span.kind, cited_sources.words(span), cited)
        if asked not in answered:
            answered[asked] = _check(*asked, shelf, frozenset(unreadable), settings)
        outcome = answered[asked]
        if span.kind in ("aside", "coined") and outcome.status == "not-found" and outcome.found_in is None:
            outcome = _Outcome("not-checked", reason=f"{_SET_OFF[span.kind]} that nothing announces as another's words")
        if size < settings.min_words:
            if outcome.status != "verified" or not cited.anything:
                continue
            outcome = replace(outcome, reason=SHORT)
        name = normalised(words)
        rows.append(_row(document, span, outcome, own, seen[name]))
        seen[name] += 1
    return rows


def _titles(own: Mapping[str, Evidence], citations: Citations) -> set[str]:
    """Titles of sources and reference entries, as quotes are identified: naming a work is not quoting it."""
    named = {evidence.source.title for evidence in own.values()} | {entry.title for entry in citations.references}
    return {normalised(title).strip(".,") for title in named if title}


def _check(
    kind: Kind,
    words: str,
    cited: Cited,
    shelf: Shelf,
    unreadable: frozenset[str],
    settings: Quotes,
) -> _Outcome:
    if kind == "unclosed":
        return _Outcome("not-checked", reason="quotation mark never closed")
    quotation = Quotation.parse(words)
    if not quotation.readings:
        return _Outcome("not-checked", reason="no words to compare")
    if not cited.anything:
        return _uncited(quotation, shelf, unreadable, settings)
    return _cited(quotation, cited, shelf, settings)


def _cited(quotation: Quotation, cited: Cited, shelf: Shelf, settings: Quotes) -> _Outcome:
    """Cited sources first; another own source that holds the words makes the quote misattributed."""
    readable = [key for key in cited.keys if key in shelf.sources]
    best = _best(quotation, readable, shelf, settings, near=True)
    if best is not None and best[1].distance == 0:
        return _verified(best)
    source_key = best[0] if best else next(iter((*readable, *cited.keys)), None)
    elsewhere = _best(quotation, [key for key in shelf.sources if key not in readable], shelf, settings, near=False)
    if elsewhere is not None:
        return _Outcome("not-found", source_key, "stands in another source", elsewhere[0], elsewhere)
    if best is not None:
        return _Outcome("altered", source_key, match=best)
    if len(readable) < len(cited.keys) or cited.dangling:
        return _Outcome("not-checked", source_key, "a cited source has no text" if cited.keys else "dangling citation")
    return _Outcome("not-found", source_key)


def _uncited(quotation: Quotation, shelf: Shelf, unreadable: frozenset[str], settings: Quotes) -> _Outcome:
    """Every own source; absent only if all of them were read."""
    best = _best(quotation, shelf.sources, shelf, settings, near=True)
    if best is not None and best[1].distance == 0:
        return _verified(best)
    if best is not None:
        return _Outcome("altered", best[0], match=best)
    if unreadable or not shelf.sources:
        return _Outcome(
            "not-checked", reason="no citation, and a source has no text" if shelf.sources else "no source has text"
        )
    return _Outcome("not-found", reason="no citation")


def _best(
    quotation: Quotation,
    keys: Collection[str],
    shelf: Shelf,
    settings: Quotes,
    *,
    near: bool,
) -> tuple[str, Match] | None:
    """The first source that holds the quote, else the one that comes closest."""
    if near and len(keys) > 1 and (holder := _best(quotation, keys, shelf, settings, near=False)) is not None:
        return holder
    best: tuple[str, Match] | None = None
    if not near:
        may_hold = shelf.may_hold(quotation)
        keys = [key for key in keys if key in may_hold]
    for key in keys:
        match = find(quotation, shelf.sources[key], settings, near=near)
        if match is not None and (best is None or match.distance < best[1].distance):
            best = (key, match)
            if match.distance == 0:
                break
    return best


def _verified(found: tuple[str, Match]) -> _Outcome:
    key, match = found
    return _Outcome("verified", key, "; ".join(match.allowed) or None, match=found)


def _row(
    document: Document, span: QuotedSpan, outcome: _Outcome, own: Mapping[str, Evidence], occurrence: int
) -> QuoteRow:
    words = document.text[span.start : span.end]
    evidence, closest, match = None, None, None
    if outcome.match is not None:
        key, match = outcome.match
        body = own[key].body
        evidence = Span(key, body.sha256, match.start, match.end, body.text[match.start : match.end])
        closest = evidence.text if outcome.status == "altered" else None
    return QuoteRow(
        quote_id(document.document_key, words, occurrence),
        document.document_key,
        words,
        span.start,
        span.end,
        outcome.source_key,
        outcome.status,
        outcome.reason,
        outcome.found_in,
        closest,
        evidence,
        match.distance if match is not None else None,
        match.edits if match is not None else None,
    )
