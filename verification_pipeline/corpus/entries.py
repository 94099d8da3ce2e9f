"""The border of the domain: what a format read becomes checked documents and sources, or a problem.

Whatever is wrong with an entry becomes a problem with file, line and id; what can still be used is used. Ids stay
the caller's words. Source `claims` are not read: only a source's text is evidence.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any

import orjson

from verification_pipeline import keys
from verification_pipeline.config import Settings
from verification_pipeline.corpus import bodies
from verification_pipeline.corpus.files import Body, RawEntry


@dataclass(frozen=True, slots=True)
class Problem:
    """A row of `problems`."""

    corpus: str
    file: str
    line: int | None
    id: str | None
    what: str
    reason: str


@dataclass(frozen=True, slots=True)
class DocumentEntry:
    """A document at the border; `text` is None unless it is usable or merely empty."""

    document_id: str
    text: str | None
    status: str
    reason: str | None = None
    title: str | None = None
    date: date | None = None
    url: str | None = None


@dataclass(frozen=True, slots=True)
class SourceEntry:
    """A source at the border; attributes as the columns of `sources`."""

    source_id: str
    text: str | None
    status: str
    reason: str | None = None
    document_id: str | None = None
    n: int | None = None
    url: str | None = None
    title: str | None = None
    aliases: tuple[str, ...] = ()
    doi: str | None = None
    pmid: str | None = None
    publisher: str | None = None
    comment: str | None = None
    published_at: str | None = None
    fetched_at: str | None = None


@dataclass(slots=True)
class Parsed:
    """What one raw entry gave; formats fill it through `add_document`, `add_source` and `report`."""

    raw: RawEntry
    settings: Settings
    documents: list[DocumentEntry] = field(default_factory=list)
    sources: list[SourceEntry] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)

    def report(self, what: str, entry_id: str | None, reason: str) -> None:
        """Add a problem with the entry's place."""
        self.problems.append(Problem(self.raw.corpus, self.raw.file, self.raw.line, entry_id, what, reason))

    def front_matter(self, body: Body, what: str, entry_id: str) -> tuple[dict[str, Any], int]:
        """Fields and end of a body's front matter; a guessed encoding and broken YAML are reported."""
        if body.guessed_encoding:
            self.report(what, entry_id, f"not UTF-8: read as {body.guessed_encoding}")
        if body.text is None:
            return {}, 0
        fields, start, fault = bodies.front_matter(body.text)
        if fault:
            self.report(what, entry_id, fault)
        return fields, start

    def add_document(self, document_id: str, body: Body, fields: Mapping[str, Any], start: int) -> None:
        """Check a document; `start` is the end of its front matter. Title: the stated one, else the first heading."""
        text, status, reason = body.text, body.status, body.reason
        limit = self.settings.limits.document_chars
        if text is not None and len(text) > limit:
            status, reason = "too-large", f"{len(text)} characters are over the limit of {limit}"
            text = None
        elif text is not None and not text[start:].strip():
            status, reason = "empty", "no text"
        if status != "ok":
            self.report("document", document_id, reason or status)
        day, fault = _day(fields.get("date"))
        if fault:
            self.report("document", document_id, fault)
        title = _text(fields.get("title")) or (bodies.first_heading(text, start) if text else None)
        self.documents.append(DocumentEntry(document_id, text, status, reason, title, day, _text(fields.get("url"))))

    def add_source(self, row: Mapping[str, Any], unreadable: str | None = None) -> None:
        """Check a source row; `unreadable` is why its body could not be read."""
        source_id = id_of(row, "id")
        if source_id is None:
            self.report("source", None, "a source without an id; it was left out")
            return
        title = _text(row.get("title"))
        text = row.get("text")
        if isinstance(text, str):
            text = bodies.tidy(text)
        elif text is not None and not (isinstance(text, float) and math.isnan(text)):
            unreadable, text = unreadable or "text is not a string", None
        else:
            text = None
        status, reason = ("unreadable", unreadable) if unreadable else _usable(text, title, self.settings)
        if status == "unreadable":
            self.report("source", source_id, reason or status)
            text = None
        number = row.get("n")
        aliases = row.get("aliases")
        self.sources.append(
            SourceEntry(
                source_id=source_id,
                text=text,
                status=status,
                reason=reason,
                document_id=id_of(row, "document_id"),
                n=number if isinstance(number, int) and not isinstance(number, bool) else None,
                url=_text(row.get("url")),
                title=title,
                aliases=tuple(filter(None, map(_text, aliases))) if isinstance(aliases, list) else (),
                doi=_text(row.get("doi")),
                pmid=_text(row.get("pmid")),
                publisher=_text(row.get("publisher")),
                comment=_text(row.get("comment")),
                published_at=_text(row.get("published_at")),
                fetched_at=_text(row.get("fetched_at")),
            )
        )


def row_of(payload: bytes) -> dict[str, Any] | None:
    """The JSON object of a line (bare NaN is let through as null), or None."""
    try:
        row = orjson.loads(payload)
    except orjson.JSONDecodeError:
        try:
            row = json.loads(payload, parse_constant=lambda _: None)
        except (ValueError, RecursionError):
            return None
    return row if isinstance(row, dict) else None


def id_of(row: Mapping[str, Any], name: str) -> str | None:
    """An id as text: numbers become their digits, anything but text and whole numbers is no id."""
    value = row.get(name)
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int):
        return str(value)
    return bodies.tidy(value) if isinstance(value, str) and value.strip() else None


def source_owner(corpus: str, row: Mapping[str, Any], default_id: str = "") -> str:
    """Key that decides a source's shard: its document's, or its own when the corpus shares it."""
    document_id = id_of(row, "document_id")
    if document_id is not None:
        return keys.document_key(corpus, document_id)
    return keys.source_key(corpus, None, id_of(row, "id") or default_id)


def _usable(text: str | None, title: str | None, settings: Settings) -> tuple[str, str | None]:
    """Status and reason of a source by its text. A page that only says it cannot be read is no evidence."""
    rules = settings.corpus
    if text is None or text.strip().lower() in ("", *rules.empty_words):
        return "empty", "no text"
    if len(text) > settings.limits.source_chars:
        return "unreadable", f"{len(text)} characters are over the limit of {settings.limits.source_chars}"
    if title and text.strip().casefold().strip(" .#") == title.strip().casefold().strip(" .#"):
        return "title-only", "the text is its title"
    head = text[: 12 * rules.challenge_max_words].casefold()
    if len(text) <= len(head) and len(head.split()) <= rules.challenge_max_words:
        for phrase in rules.challenge_phrases:
            if phrase in head[: rules.challenge_within_chars]:
                return "challenge-page", f"a consent or challenge page: {phrase!r}"
    return "ok", None


def _text(value: Any) -> str | None:
    """A metadata value as text; None for what is absent or no scalar."""
    if isinstance(value, str):
        return bodies.tidy(value).strip() or None
    if isinstance(value, bool) or value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    if isinstance(value, (int, float)):
        return str(value)
    return value.isoformat() if isinstance(value, (date, datetime)) else None


def _day(value: Any) -> tuple[date | None, str | None]:
    """A document's day (ISO 8601), and what is wrong with it."""
    if isinstance(value, datetime):
        return value.date(), None
    if isinstance(value, date):
        return value, None
    stated = _text(value)
    if stated is None:
        return None, None
    try:
        return date.fromisoformat(stated[:10]), None
    except ValueError:
        return None, f"date {stated[:40]!r} is not an ISO day; the document counts as undated"
