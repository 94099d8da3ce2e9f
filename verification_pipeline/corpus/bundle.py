"""The bundle: a JSONL or Parquet file with one document a row, `{id, markdown, sources, title?, date?, url?}`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from verification_pipeline import keys
from verification_pipeline.corpus import bodies
from verification_pipeline.corpus.entries import Parsed, id_of, row_of
from verification_pipeline.corpus.files import ROW_SUFFIXES, Body, InputFile, RawEntry, input_files_of

ROWS = "rows"


def recognises(path: Path) -> bool:
    """Whether a path is a bundle."""
    return path.is_file() and path.suffix in ROW_SUFFIXES


def input_files(path: Path) -> Iterator[InputFile]:
    """The file itself."""
    yield from input_files_of(path.parent, [path], ROWS)


def owner_of(raw: RawEntry) -> str:
    """Key that decides the shard of an entry: its document's."""
    row = row_of(raw.payload or b"") or {}
    return keys.document_key(raw.corpus, id_of(row, "id") or "")


def parse(parsed: Parsed) -> None:
    """The document of one row and its sources."""
    row = row_of(parsed.raw.payload or b"")
    if row is None:
        parsed.report("document", None, "not a JSON object; the line was left out")
        return
    document_id = id_of(row, "id")
    if document_id is None:
        parsed.report("document", None, "a row without an id; it was left out")
        return
    markdown = row.get("markdown")
    if isinstance(markdown, str):
        body = Body(bodies.tidy(markdown))
    else:
        body = Body(None, "unreadable", "a row without markdown text")
    _, start, _ = bodies.front_matter(body.text or "")
    parsed.add_document(document_id, body, row, start)
    sources = row.get("sources")
    if sources is not None and not isinstance(sources, list):
        parsed.report("source", document_id, "sources is not a list; it was left out")
        return
    for source in sources or ():
        if isinstance(source, dict):
            parsed.add_source({**source, "document_id": document_id})
        else:
            parsed.report("source", document_id, "a source that is no object; it was left out")
