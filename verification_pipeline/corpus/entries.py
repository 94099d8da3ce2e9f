"""One raw entry (a file, a row) into checked documents and sources: the border of the domain.

Whatever is wrong with an entry becomes a problem with file, line and id; what can still be used is used. Ids stay
the caller's words. Source `claims` are not read: only a source's text is evidence.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from pathlib import Path, PurePosixPath
from typing import Any

import orjson

from verification_pipeline.config import Settings
from verification_pipeline.corpus import bodies


@dataclass(frozen=True, slots=True)
class RawEntry:
    """Where an entry came from. `payload` is a row's JSON; None for an entry that is a whole file (`path`)."""

    corpus: str
    kind: str
    file: str
    line: int | None
    path: str
    payload: bytes | None


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
    """What one raw entry gave."""

    documents: list[DocumentEntry] = field(default_factory=list)
    sources: list[SourceEntry] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)


def parse(raw: RawEntry, settings: Settings) -> Parsed:
    """Parse one entry; never raises for what the entry holds."""
    parsed = Parsed()
    if raw.payload is None:
        _parse_file(raw, settings, parsed)
        return parsed
    row = row_of(raw.payload)
    if row is None:
        parsed.problems.append(_problem(raw, None, raw.kind.split("-")[0], "not a JSON object; the line was left out"))
    elif raw.kind == "bundle-rows":
        _parse_bundle(raw, row, settings, parsed)
    else:
        _add_source(raw, row, settings, parsed)
    return parsed


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


def file_id(relative: str, folder: str) -> str:
    """Id of a document or source that is a file: its path below `folder`, without suffix."""
    return PurePosixPath(relative).relative_to(folder).with_suffix("").as_posix()


def _problem(raw: RawEntry, entry_id: str | None, what: str, reason: str) -> Problem:
    return Problem(raw.corpus, raw.file, raw.line, entry_id, what, reason)


def _parse_file(raw: RawEntry, settings: Settings, parsed: Parsed) -> None:
    document = raw.kind == "document-file"
    folder = {"document-file": "documents", "source-file": "sources"}.get(raw.kind, "research/notes")
    if raw.file.startswith("research/notes/"):
        folder = "research/notes"
    entry_id = bodies.tidy(file_id(raw.file, folder))
    what = "document" if document else "source"
    text, reason, status = _read_body(raw, settings, document, parsed, entry_id, what)
    fields: dict[str, Any] = {}
    start = 0
    if text is not None:
        fields, start, fault = bodies.front_matter(text)
        if fault:
            parsed.problems.append(_problem(raw, entry_id, what, fault))
    if document:
        title = _text(fields.get("title")) or (bodies.first_heading(text, start) if text else None)
        _add_document(raw, entry_id, text, status, reason, {**fields, "title": title}, settings, parsed, start)
    else:
        named = id_of(fields, "id") if raw.kind == "note-file" else None
        url = fields.get("url") or fields.get("source")
        body = None if text is None else text[start:].lstrip("\n")
        row = {**fields, "id": named or entry_id, "text": body, "url": url}
        _add_source(raw, row, settings, parsed, unreadable=reason)


def _read_body(
    raw: RawEntry, settings: Settings, document: bool, parsed: Parsed, entry_id: str, what: str
) -> tuple[str | None, str | None, str]:
    """Text, reason and status of a body file."""
    path = Path(raw.path)
    try:
        size = path.stat().st_size
        if size > settings.limits.file_bytes:
            reason = f"file of {size} bytes is over the limit of {settings.limits.file_bytes}"
            return None, reason, "too-large"
        content = path.read_bytes()
        if path.suffix.lower() == ".pdf":
            return bodies.text_from_pdf(content), None, "ok"
        text, guessed = bodies.decode(content)
        if guessed:
            parsed.problems.append(_problem(raw, entry_id, what, f"not UTF-8: read as {guessed}"))
        if path.suffix.lower() in (".html", ".htm"):
            text = bodies.document_from_html(text) if document else bodies.source_from_html(text)
        return text, None, "ok"
    except bodies.UnreadableBody as error:
        return None, str(error), "unreadable"
    except OSError as error:
        return None, f"cannot be read: {error.strerror}", "unreadable"


def _parse_bundle(raw: RawEntry, row: Mapping[str, Any], settings: Settings, parsed: Parsed) -> None:
    document_id = id_of(row, "id")
    if document_id is None:
        parsed.problems.append(_problem(raw, None, "document", "a row without an id; it was left out"))
        return
    markdown = row.get("markdown")
    text = bodies.tidy(markdown) if isinstance(markdown, str) else None
    reason = None if text is not None else "a row without markdown text"
    start = bodies.front_matter(text)[1] if text else 0
    fields = {"title": row.get("title"), "date": row.get("date"), "url": row.get("url")}
    if not fields["title"] and text:
        fields["title"] = bodies.first_heading(text, start)
    _add_document(raw, document_id, text, "unreadable" if reason else "ok", reason, fields, settings, parsed, start)
    sources = row.get("sources")
    if sources is not None and not isinstance(sources, list):
        parsed.problems.append(_problem(raw, document_id, "source", "sources is not a list; it was left out"))
        return
    for source in sources or ():
        if isinstance(source, dict):
            _add_source(raw, {**source, "document_id": document_id}, settings, parsed)
        else:
            parsed.problems.append(_problem(raw, document_id, "source", "a source that is no object; left out"))


def _add_document(
    raw: RawEntry,
    document_id: str,
    text: str | None,
    status: str,
    reason: str | None,
    fields: Mapping[str, Any],
    settings: Settings,
    parsed: Parsed,
    body_start: int,
) -> None:
    limit = settings.limits.document_chars
    if text is not None and len(text) > limit:
        status, reason = "too-large", f"{len(text)} characters are over the limit of {limit}"
        text = None
    elif text is not None and not text[body_start:].strip():
        status, reason = "empty", "no text"
    if status != "ok":
        parsed.problems.append(_problem(raw, document_id, "document", reason or status))
    day, fault = _day(fields.get("date"))
    if fault:
        parsed.problems.append(_problem(raw, document_id, "document", fault))
    parsed.documents.append(
        DocumentEntry(document_id, text, status, reason, _text(fields.get("title")), day, _text(fields.get("url")))
    )


def _add_source(
    raw: RawEntry, row: Mapping[str, Any], settings: Settings, parsed: Parsed, unreadable: str | None = None
) -> None:
    source_id = id_of(row, "id")
    if source_id is None:
        parsed.problems.append(_problem(raw, None, "source", "a source without an id; it was left out"))
        return
    title = _text(row.get("title"))
    text = row.get("text")
    if isinstance(text, str):
        text = bodies.tidy(text)
    elif text is not None and not (isinstance(text, float) and math.isnan(text)):
        unreadable, text = unreadable or "text is not a string", None
    else:
        text = None
    status, reason = ("unreadable", unreadable) if unreadable else _usable(text, title, settings)
    if status == "unreadable":
        parsed.problems.append(_problem(raw, source_id, "source", reason or status))
        text = None
    number = row.get("n")
    aliases = row.get("aliases")
    parsed.sources.append(
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
