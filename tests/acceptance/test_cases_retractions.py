"""The public failure cases on DOIs and retractions, whatever their number: each is right or the test names it."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.dois import register
from verification_pipeline.citations.catalogue import SourceCatalogue
from verification_pipeline.citations.extraction import extract
from verification_pipeline.config import Registers, Settings
from verification_pipeline.dois.mentions import DoiMention, find_mentions
from verification_pipeline.dois.sweep import Stored, run
from verification_pipeline.keys import document_key, source_key, text_sha256
from verification_pipeline.records import Document, Evidence, Source
from verification_pipeline.text.index import IndexedText

CLOCK = datetime(2026, 1, 10, tzinfo=UTC)
WORDS = {
    "not-retracted": ("ok", None),
    "retraction-notice": ("ok", "is_notice"),
    "retracted": ("retracted", None),
    "withdrawn": ("retracted", "withdrawn"),
    "flagged-by-title": ("retracted", "title_only"),
    "unknown": ("unavailable", None),
    "unchecked": ("unavailable", None),
    "expression-of-concern": ("expression-of-concern", None),
    "corrected": ("corrected", None),
}


def _cases(shared: Path, kind: str) -> list[dict[str, Any]]:
    lines = (shared / "cases" / "cases.jsonl").read_text("utf-8").splitlines()
    return [case for case in map(json.loads, lines) if kind in case["expected"] and "document" in case["input"]]


def _mentions(case: dict[str, Any]) -> tuple[dict[str, Source], list[DoiMention]]:
    text, key = case["input"]["document"], document_key("cases", case["id"])
    own, evidence = {}, {}
    for row in case["input"].get("sources", []):
        told = {name: row.get(name) for name in ("url", "title", "doi", "publisher", "comment")}
        one = Source(source_key("cases", case["id"], row["id"]), row["id"], case["id"], **told)
        own[row["id"]] = one
        evidence[one.source_key] = Evidence(one, IndexedText(text_sha256(row["body"]), row["body"]))
    document = Document(key, "cases", case["id"], text, text_sha256(text), language="en")
    settings = Settings()
    sources = list(own.values())
    citations = extract(document, sources, SourceCatalogue.build(()), settings)
    return own, find_mentions(document, citations, sources, evidence, settings)


@pytest.mark.acceptance
def test_dois_of_the_cases(shared: Path) -> None:
    cases = _cases(shared, "dois")
    assert cases
    for case in cases:
        own, mentions = _mentions(case)
        found = {source_id: one.source_key for source_id, one in own.items()}
        by_source = {mention.source_key: mention.doi for mention in mentions}
        assert {name: by_source[found[name]] for name in case["expected"]["dois"]} == case["expected"]["dois"], case[
            "id"
        ]


@pytest.mark.acceptance
def test_retractions_of_the_cases(shared: Path, tmp_path: Path) -> None:
    cases = [case for case in _cases(shared, "retraction") if "register_rows" in case["input"]]
    assert cases
    for case in cases:
        rows = [
            {
                "OriginalPaperDOI": row.get("original_doi", ""),
                "RetractionDOI": row.get("notice_doi", ""),
                "RetractionNature": row["nature"],
            }
            for row in case["input"]["register_rows"]
        ]
        filler = {"OriginalPaperDOI": "10.5555/filler", "RetractionDOI": "10.5555/filler.notice"}
        path = register.write(tmp_path / "rw.csv", [filler, *rows])
        own, mentions = _mentions(case)
        works = pl.DataFrame(
            [(one.work_id, one.doi, one.pmid, one.title, one.comment) for one in mentions],
            schema=dict.fromkeys(("work_id", "doi", "pmid", "title", "comment"), pl.String),
            orient="row",
        )
        result = run(works, Stored.nothing(), Registers(retraction_watch=path), CLOCK.date(), CLOCK, CLOCK)
        status = {row["work_id"]: row for row in result.statuses.to_dicts()}
        work = {mention.source_key: mention.work_id for mention in mentions}
        for name, word in case["expected"]["retraction"].items():
            expected, flag = WORDS[word]
            got = status[work[own[name].source_key]]
            assert got["status"] == expected, (case["id"], got)
            assert flag is None or flag in got["flags"], (case["id"], got)
