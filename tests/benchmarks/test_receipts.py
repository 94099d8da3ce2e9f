"""Speed of the receipts: 20 pairs and 10 sources a document. Limits leave room for a busy machine."""

from __future__ import annotations

import time

from tests.support.archive import Archive, run_info
from verification_pipeline import tables
from verification_pipeline.config import Settings
from verification_pipeline.receipts import assemble

DOCUMENTS, PAIRS, SOURCES = 200, 20, 10


def archive() -> Archive:
    made = Archive()
    text = "".join(f"Line {n} reported a rise of {n} percent over the year before [{n}].\n" for n in range(PAIRS))
    for number in range(DOCUMENTS):
        key = made.document(f"report-{number}", text)
        first = len(made.rows["sources"])
        for n in range(SOURCES):
            made.source(key, str(n), f"A rise of {n} percent over the year before.")
        sources = [row["source_key"] for row in made.rows["sources"][first:]]
        for n in range(PAIRS):
            identity = f"{number * PAIRS + n:032x}"
            claim = f"Line {n} reported a rise of {n} percent over the year before"
            pair = {"pair_id": identity, "document_key": key, "source_key": sources[n % SOURCES]}
            words = {"sentence": f"{claim} [{n}]", "claim": claim, "marker": f"[{n}]", "target": str(n % SOURCES)}
            made.add("pairs", **pair, **words, pair_index=n, sentence_start=0, sentence_end=1, status="bound")
            made.add("triage", pair_id=identity, document_key=key, outcome="needs-checker")
            made.add("batches", pair_id=identity, document_key=key)
            verdict = {"checked": True, "verdict": "supported", "checker": "embedded", "confidence": 0.9}
            made.add("verdicts", pair_id=identity, document_key=key, rationale=claim, **verdict)
    return made


def test_receipts_are_made_at_five_hundred_a_second_or_near():
    inputs = archive().inputs()
    started = time.process_time()
    rows = assemble(inputs, run_info(), Settings(), tables.empty("receipts"))
    spent = time.process_time() - started
    assert len(rows) == DOCUMENTS
    assert spent < DOCUMENTS / 150
