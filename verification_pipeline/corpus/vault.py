"""The vault as Hyperresearch keeps it: `research/notes/*.md` with front matter, `[[note-id]]` links, final reports.

Notes are sources shared by the whole vault; a final report is a document.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from verification_pipeline import keys
from verification_pipeline.corpus import bodies
from verification_pipeline.corpus.entries import Parsed, id_of, source_owner
from verification_pipeline.corpus.files import InputFile, RawEntry, file_id, head_of, input_files_of, read_body, walk

DOCUMENT, NOTE = "document", "note"
_NOTES = "research/notes"


def recognises(path: Path) -> bool:
    """Whether a path is a vault."""
    return (path / _NOTES).is_dir()


def input_files(path: Path) -> Iterator[InputFile]:
    """Every note, reports among them (Hyperresearch names them `final_report*.md`)."""
    for file in walk(path / _NOTES, (".md",)):
        yield from input_files_of(path, [file], DOCUMENT if file.stem.startswith("final_report") else NOTE)


def owner_of(raw: RawEntry) -> str:
    """Key that decides the shard of an entry."""
    name = file_id(raw.file, _NOTES)
    if raw.kind == DOCUMENT:
        return keys.document_key(raw.corpus, name)
    fields, _, _ = bodies.front_matter(head_of(Path(raw.path)))
    return source_owner(raw.corpus, fields, name)


def parse(parsed: Parsed) -> None:
    """The report or note of one file. A note's address is its `url`, else its `source`."""
    raw = parsed.raw
    name = file_id(raw.file, _NOTES)
    what = "document" if raw.kind == DOCUMENT else "source"
    body = read_body(Path(raw.path), parsed.settings.limits.file_bytes, whole_page=True)
    fields, start = parsed.front_matter(body, what, name)
    if raw.kind == DOCUMENT:
        parsed.add_document(name, body, fields, start)
        return
    text = None if body.text is None else body.text[start:].lstrip("\n")
    note = {"id": id_of(fields, "id") or name, "text": text, "url": fields.get("url") or fields.get("source")}
    parsed.add_source({**fields, **note}, body.reason)
