"""The planted archive of the shared cases: generated, checked for quotes and voices, scored by its own scorer.

python -m tests.acceptance.planted_quotes_voices --docs 300 --seed 11
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

from verification_pipeline import keys, tables
from verification_pipeline.config import Settings
from verification_pipeline.independence import ClusterRow, Member, cluster_archive, cluster_document, measuring, sketch
from verification_pipeline.quotes import check_quotes
from verification_pipeline.records import Citations, Document, Evidence, Marker, Source
from verification_pipeline.stages.voices import SketchRow
from verification_pipeline.text.addresses import canonical_url
from verification_pipeline.text.index import IndexedText

_MARKER = re.compile(r"\[\^?(\d+)(?:-(\d+))?((?:, \d+)*)\](?!:)")
_LISTED = re.compile(r"^\[\^?(\d+)\]:? .*\. (\S+)$", re.MULTILINE)


def read_lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def sources_of(archive: Path) -> dict[str, list[Evidence]]:
    """Evidence of each document, in file order."""
    by_document: dict[str, list[Evidence]] = {}
    for row in read_lines(archive / "sources.jsonl"):
        sha = keys.text_sha256(row["text"])
        source = Source(
            keys.source_key("planted", row["document_id"], row["id"]),
            row["id"],
            row["document_id"],
            url=row["url"],
            canonical_url=canonical_url(row["url"]),
            title=row["title"],
            fetched_at=row["fetched_at"],
            text_sha256=sha,
        )
        by_document.setdefault(row["document_id"], []).append(Evidence(source, IndexedText(sha, row["text"])))
    return by_document


def citations_of(document: Document, own: dict[str, Evidence]) -> Citations:
    """The numbered markers of a planted document, bound by address through its list: enough for quotes."""
    body_end = document.text.index("\n## Sources\n")
    by_address = {evidence.source.url: key for key, evidence in own.items()}
    listed = {n: by_address.get(url) for n, url in _LISTED.findall(document.text, body_end)}
    markers: list[Marker] = []
    for k, match in enumerate(_MARKER.finditer(document.text, 0, body_end)):
        first, last = int(match[1]), int(match[2] or match[1])
        numbers = [*map(str, range(first, last + 1)), *re.findall(r"\d+", match[3])]
        for n in numbers:
            key = listed.get(n)
            status = "bound" if key else "dangling"
            markers.append(
                Marker(document.document_key, k, match[0], match.start(), match.end(), "number", n, key, status)
            )
    return Citations((), tuple(markers), (), ((0, body_end),))


def documents_of(archive: Path) -> Iterator[Document]:
    for path in sorted((archive / "documents").glob("*.md")):
        text = path.read_text("utf-8")
        yield Document(keys.document_key("planted", path.stem), "planted", path.stem, text, keys.text_sha256(text))


def predict(archive: Path, out: Path, settings: Settings) -> None:
    """Write what the scorer reads: every quote examined and every cluster found."""
    out.mkdir(exist_ok=True)
    sources = sources_of(archive)
    names = {evidence.source.source_key: evidence.source.source_id for own in sources.values() for evidence in own}
    with (out / "pred_quotes.jsonl").open("w", encoding="utf-8") as file:
        for document in documents_of(archive):
            own = {evidence.source.source_key: evidence for evidence in sources[document.document_id]}
            for row in check_quotes(document, citations_of(document, own), own, (), settings.quotes):
                found = names.get(row.found_in_source_key or "")
                said = {"document_id": document.document_id, "quote": row.quote, "status": row.status}
                file.write(json.dumps({**said, "found_in_source_id": found, "edits": row.edits}) + "\n")
    everything = {one.source.source_key: one for own in sources.values() for one in own}
    sketches = {key: sketch(one, settings.independence) for key, one in everything.items()}
    with (out / "pred_clusters_doc.jsonl").open("w", encoding="utf-8") as file:
        for document_id, evidence in sources.items():
            own = {one.source.source_key: one for one in evidence}
            rows = cluster_document(
                keys.document_key("planted", document_id),
                [one.source for one in evidence],
                own,
                {key: sketches[key] for key in own},
                settings.independence,
            )
            write_clusters(file, document_id, rows, names)
    table = tables.frame("sketches", [SketchRow.of(one, None) for one in sketches.values()])
    measure = measuring(lambda key: everything[key].body, settings.independence)
    members = [Member.of(one.source, settings.independence) for one in everything.values()]
    all_rows = cluster_archive(members, table, measure, settings.independence)
    with (out / "pred_clusters_all.jsonl").open("w", encoding="utf-8") as file:
        write_clusters(file, None, all_rows, names)


def write_clusters(file: TextIO, document_id: str | None, rows: list[ClusterRow], names: dict[str, str]) -> None:
    members: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        members.setdefault((row.cluster_id, row.kind), []).append(names[row.source_key])
    for (_, kind), inside in members.items():
        file.write(json.dumps({"document_id": document_id, "kind": kind, "members": inside}) + "\n")


def run(shared: Path, docs: int, seed: int, folder: Path) -> dict[str, Any]:
    """Generate, predict and score; the scorer's figures."""
    archive, out = folder / "archive", folder / "out"
    generate = [sys.executable, shared / "planted" / "generate.py", archive, "--docs", str(docs), "--seed", str(seed)]
    subprocess.run(generate, check=True, capture_output=True)
    predict(archive, out, Settings())
    score = [sys.executable, shared / "planted" / "score.py", archive, out]
    figures: dict[str, Any] = json.loads(subprocess.run(score, check=True, capture_output=True).stdout)
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--docs", type=int, default=300)
    parser.add_argument("--seed", type=int, default=11)
    options = parser.parse_args()
    shared = Path(__file__).resolve().parents[3] / "shared"
    with tempfile.TemporaryDirectory() as folder:
        print(json.dumps(run(shared, options.docs, options.seed, Path(folder)), indent=1, ensure_ascii=False))


if __name__ == "__main__":
    main()
