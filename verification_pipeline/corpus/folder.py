"""The folder corpus: `documents/**` as files, sources as `sources.jsonl`, `sources.parquet` or files `sources/**`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from verification_pipeline import keys
from verification_pipeline.corpus import bodies
from verification_pipeline.corpus.entries import Parsed, row_of, source_owner
from verification_pipeline.corpus.files import (
    DOCUMENT_SUFFIXES,
    ROW_SUFFIXES,
    SOURCE_SUFFIXES,
    InputFile,
    RawEntry,
    file_id,
    head_of,
    input_files_of,
    read_body,
    walk,
)

DOCUMENT, SOURCE, ROWS = "document", "source", "rows"


def recognises(path: Path) -> bool:
    """Whether a path is a folder corpus."""
    return (path / "documents").is_dir()


def input_files(path: Path) -> Iterator[InputFile]:
    """Documents, then source rows, then source files, each in a fixed order."""
    yield from input_files_of(path, walk(path / "documents", DOCUMENT_SUFFIXES), DOCUMENT)
    rows = (path / f"sources{suffix}" for suffix in ROW_SUFFIXES)
    yield from input_files_of(path, filter(Path.is_file, rows), ROWS)
    yield from input_files_of(path, walk(path / "sources", SOURCE_SUFFIXES), SOURCE)


def owner_of(raw: RawEntry) -> str:
    """Key that decides the shard of an entry."""
    if raw.kind == DOCUMENT:
        return keys.document_key(raw.corpus, file_id(raw.file, "documents"))
    if raw.payload is not None:
        return source_owner(raw.corpus, row_of(raw.payload) or {})
    fields, _, _ = bodies.front_matter(head_of(Path(raw.path)))
    return source_owner(raw.corpus, {**fields, "id": file_id(raw.file, "sources")})


def parse(parsed: Parsed) -> None:
    """Documents and sources of one entry."""
    raw = parsed.raw
    if raw.payload is not None:
        row = row_of(raw.payload)
        if row is None:
            parsed.report("source", None, "not a JSON object; the line was left out")
        else:
            parsed.add_source(row)
        return
    document = raw.kind == DOCUMENT
    what = "document" if document else "source"
    entry_id = file_id(raw.file, "documents" if document else "sources")
    body = read_body(Path(raw.path), parsed.settings.limits.file_bytes, whole_page=document)
    fields, start = parsed.front_matter(body, what, entry_id)
    if document:
        parsed.add_document(entry_id, body, fields, start)
    else:
        text = None if body.text is None else body.text[start:].lstrip("\n")
        parsed.add_source({**fields, "id": entry_id, "text": text}, body.reason)
