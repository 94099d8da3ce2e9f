"""A planted archive (documents/*.md and sources.jsonl) as the records that the domain works on, one document at a time.

No store is needed and memory stays flat. `made` has an archive made by the generator in the shared folder,
`first_documents` cuts a smaller archive from a larger one.
"""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from verification_pipeline import keys
from verification_pipeline.records import Document, Evidence, Source
from verification_pipeline.text.addresses import canonical_url
from verification_pipeline.text.index import IndexedText

_GENERATOR = Path(__file__).resolve().parents[3] / "shared" / "planted" / "generate.py"


def made(target: Path, count: int, seed: int = 7) -> Path | None:
    """A planted archive of so many documents in `target`; None where the shared folder is not beside the checkout."""
    if not _GENERATOR.is_file():
        return None
    command = [sys.executable, str(_GENERATOR), str(target), "--docs", str(count), "--seed", str(seed)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return target


@dataclass(frozen=True, slots=True)
class Planted:
    """A document with its own sources; every source has a text."""

    document: Document
    sources: list[Source]
    evidence: dict[str, Evidence]


def documents(archive: Path, count: int) -> Iterator[Planted]:
    """The first `count` documents, read as they are asked for, without word indexes."""
    for document_id, lines in itertools.islice(_by_document(archive), count):
        text = (archive / "documents" / f"{document_id}.md").read_text("utf-8")
        key = keys.document_key(archive.name, document_id)
        document = Document(key, archive.name, document_id, text, keys.text_sha256(text), language="en")
        evidence = {}
        for line in lines:
            row = json.loads(line)
            source = Source(
                keys.source_key(archive.name, document_id, row["id"]),
                row["id"],
                document_id,
                url=row["url"],
                canonical_url=canonical_url(row["url"]),
                title=row["title"],
                fetched_at=row["fetched_at"],
                text_sha256=keys.text_sha256(row["text"]),
            )
            evidence[source.source_key] = Evidence(source, IndexedText(source.text_sha256 or "", row["text"]))
        yield Planted(document, [one.source for one in evidence.values()], evidence)


def first_documents(archive: Path, count: int, target: Path) -> Path:
    """The first `count` documents and their sources as an archive of its own in `target`."""
    (target / "documents").mkdir(parents=True)
    with (target / "sources.jsonl").open("w", encoding="utf-8") as rows:
        for document_id, lines in itertools.islice(_by_document(archive), count):
            name = f"{document_id}.md"
            (target / "documents" / name).write_bytes((archive / "documents" / name).read_bytes())
            rows.writelines(lines)
    return target


def _by_document(archive: Path) -> Iterator[tuple[str, list[str]]]:
    """Document ids with the lines of their sources, in the archive's order."""
    with (archive / "sources.jsonl").open(encoding="utf-8") as rows:
        owners = ((str(json.loads(line)["document_id"]), line) for line in rows)
        for document_id, group in itertools.groupby(owners, key=lambda row: row[0]):
            yield document_id, [line for _, line in group]
