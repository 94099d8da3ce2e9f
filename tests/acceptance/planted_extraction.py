"""Predictions for a planted archive by extraction and triage alone, in the shape that its scorer reads.

Usage: python tests/acceptance/planted_extraction.py ARCHIVE PREDICTIONS. Prints the time spent.
"""

from __future__ import annotations

import sys
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import orjson

from verification_pipeline.citations import SourceCatalogue, count_marker_like, extract
from verification_pipeline.config import Settings
from verification_pipeline.keys import document_key, source_key, text_sha256
from verification_pipeline.records import Document, Evidence, Source
from verification_pipeline.text.addresses import canonical_url
from verification_pipeline.text.index import IndexedText
from verification_pipeline.triage import triage, uncited_numbers

_VERDICTS = {"auto-passed": "pass", "dangling": "flag"}


def source_of(row: dict[str, Any], corpus: str, document_id: str | None) -> Source:
    """A source row of an archive as the reader would hand it over."""
    text, url = row.get("text") or row.get("body") or "", row.get("url")
    return Source(
        source_key=source_key(corpus, document_id, str(row["id"])),
        source_id=str(row["id"]),
        document_id=document_id,
        n=row.get("n"),
        url=url,
        canonical_url=canonical_url(url) if url else None,
        title=row.get("title"),
        doi=row.get("doi"),
        status="ok" if text else "empty",
        text_sha256=text_sha256(text) if text else None,
    )


def evidence_of(rows: list[dict[str, Any]], sources: list[Source]) -> dict[str, Evidence]:
    """The usable texts of these rows."""
    return {
        source.source_key: Evidence(source, IndexedText(source.text_sha256 or "", row.get("text") or row["body"]))
        for row, source in zip(rows, sources, strict=True)
        if source.status == "ok"
    }


def main(archive: Path, out: Path) -> None:
    """Write pred_pairs.jsonl and pred_numbers.jsonl."""
    out.mkdir(parents=True, exist_ok=True)
    settings, shared = Settings(), SourceCatalogue.build(())
    rows: dict[str, list[dict[str, Any]]] = defaultdict(list)
    with (archive / "sources.jsonl").open("rb") as lines:
        for line in lines:
            row = orjson.loads(line)
            rows[row["document_id"]].append(row)
    spent = {"extract": 0.0, "index": 0.0, "triage": 0.0, "numbers": 0.0}
    pairs = 0
    with (out / "pred_pairs.jsonl").open("wb") as found, (out / "pred_numbers.jsonl").open("wb") as numbers:
        for path in sorted((archive / "documents").glob("*.md")):
            text = path.read_text("utf-8")
            document = Document(document_key("planted", path.stem), "planted", path.stem, text, text_sha256(text))
            sources = [source_of(row, "planted", path.stem) for row in rows[path.stem]]
            evidence = evidence_of(rows[path.stem], sources)
            clock = time.perf_counter()
            citations = extract(document, sources, shared, settings)
            spent["extract"] += time.perf_counter() - clock
            assert count_marker_like(text, citations.prose) <= len(citations.markers)
            clock = time.perf_counter()
            for held in evidence.values():
                len(held.body.index)
            spent["index"] += time.perf_counter() - clock
            clock = time.perf_counter()
            triaged = triage(citations.pairs, evidence, settings)
            spent["triage"] += time.perf_counter() - clock
            clock = time.perf_counter()
            uncited = uncited_numbers(document, citations, evidence, settings)
            spent["numbers"] += time.perf_counter() - clock
            pairs += len(triaged)
            ids = {source.source_key: source.source_id for source in sources}
            for pair, row in zip(citations.pairs, triaged, strict=True):
                if row.span is not None:
                    body = evidence[row.span.source_key].body.text
                    assert body[row.span.start : row.span.end] == row.span.text
                line = {
                    "document_id": path.stem,
                    "sentence": pair.sentence,
                    "source_id": ids.get(pair.source_key or ""),
                    "verdict": _VERDICTS.get(row.outcome, "review"),
                    "kind": row.outcome,
                    "refused_by": row.refused_by,
                }
                found.write(orjson.dumps(line) + b"\n")
            for number in uncited:
                numbers.write(orjson.dumps({"document_id": path.stem, "number": number.number}) + b"\n")
    print({name: round(seconds, 3) for name, seconds in spent.items()}, "seconds;", pairs, "pairs;", end=" ")
    print(round(pairs / (spent["extract"] + spent["triage"])), "pairs a second in extraction and triage")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
