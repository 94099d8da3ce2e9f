"""The embedded checker on a planted archive, every bound pair given to it (none passed by triage), scored.

python -m tests.acceptance.planted_checker [--docs 300] [--seed 11]
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

from tests.acceptance.planted_extraction import evidence_of, source_of
from verification_pipeline.checkers.embedded import EmbeddedChecker
from verification_pipeline.checkers.protocol import Item, Judgement, Outcome
from verification_pipeline.checkers.retrieval import WordRetriever
from verification_pipeline.citations import SourceCatalogue, extract
from verification_pipeline.config import Settings
from verification_pipeline.keys import document_key, text_sha256
from verification_pipeline.records import Document

VERDICTS = {"supported": "pass", "wrong-source": "flag", "unsupported": "flag"}


def said(outcome: Outcome | None, status: str, ids: dict[str, str]) -> dict[str, Any]:
    """What the scorer reads of one pair."""
    if status == "dangling":
        return {"verdict": "flag", "kind": "dangling"}
    if not isinstance(outcome, Judgement):
        return {"verdict": "review", "kind": "not-checked"}
    correct = ids.get(outcome.correct_source_key or "")
    return {"verdict": VERDICTS.get(outcome.verdict, "review"), "kind": outcome.verdict, "correct_source_id": correct}


def predict(archive: Path, out: Path, settings: Settings) -> tuple[int, float]:
    """Write pred_pairs.jsonl; the number of pairs judged and the CPU seconds they took."""
    out.mkdir(parents=True, exist_ok=True)
    checker, retriever = EmbeddedChecker(settings.checker.embedded), WordRetriever()
    rows: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for line in (archive / "sources.jsonl").open(encoding="utf-8"):
        row = json.loads(line)
        rows[row["document_id"]].append(row)
    judged, spent = 0, 0.0
    with (out / "pred_pairs.jsonl").open("w", encoding="utf-8") as file:
        for path in sorted((archive / "documents").glob("*.md")):
            text = path.read_text("utf-8")
            document = Document(document_key("planted", path.stem), "planted", path.stem, text, text_sha256(text))
            sources = [source_of(row, "planted", path.stem) for row in rows[path.stem]]
            own = evidence_of(rows[path.stem], sources)
            pairs = extract(document, sources, SourceCatalogue.build(()), settings).pairs
            items = [Item(pair, document, own[pair.source_key], own) for pair in pairs if pair.source_key in own]
            began = time.process_time()
            outcomes = dict(zip((i.pair.pair_id for i in items), checker.check(items, retriever), strict=True))
            spent += time.process_time() - began
            judged += len(items)
            ids = {source.source_key: source.source_id for source in sources}
            for pair in pairs:
                line = {
                    "document_id": path.stem,
                    "sentence": pair.sentence,
                    "source_id": ids.get(pair.source_key or ""),
                }
                file.write(json.dumps(line | said(outcomes.get(pair.pair_id), pair.status, ids)) + "\n")
    return judged, spent


def main() -> None:
    """Generate, judge, score, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--docs", type=int, default=300)
    parser.add_argument("--seed", type=int, default=11)
    options = parser.parse_args()
    planted = Path(__file__).resolve().parents[3] / "shared" / "planted"
    with tempfile.TemporaryDirectory() as folder:
        archive, out = Path(folder) / "archive", Path(folder) / "out"
        make = [planted / "generate.py", archive, "--docs", str(options.docs), "--seed", str(options.seed)]
        subprocess.run([sys.executable, *make], check=True, capture_output=True)
        judged, spent = predict(archive, out, Settings())
        scored = subprocess.run([sys.executable, planted / "score.py", archive, out], check=True, capture_output=True)
        figures = json.loads(scored.stdout)["triage"]["ALL"]
    print(f"{judged} pairs judged, {judged / spent:.0f} a CPU second")
    for name, found in figures.items():
        if name == "_summary_without_quotes" or (not name.startswith("_") and "quote" not in name):
            print(f"{name:32}{json.dumps(found)}")


if __name__ == "__main__":
    main()
