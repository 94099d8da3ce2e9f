from __future__ import annotations

import json

import polars as pl
import pytest

from tests.support.corpora import harbour, write_folder
from tests.support.nights import verify
from verification_pipeline.quotes import SHORT
from verification_pipeline.stages import reading
from verification_pipeline.sums import broken_sums


@pytest.fixture
def failing(monkeypatch):
    """Makes the code fail on the document `mill`."""
    real = reading.citations.extract

    def extract(document, *others):
        if document.document_id == "mill":
            raise ZeroDivisionError("by a fault of the code")
        return real(document, *others)

    monkeypatch.setattr(reading.citations, "extract", extract)
    return monkeypatch


def test_a_document_on_which_the_code_fails_does_not_stop_the_rest(tmp_path, failing):
    corpus = harbour(tmp_path / "harbour")
    store = verify(tmp_path / "out", corpus)
    failures = store.read_all("failures")
    assert failures["stage"].to_list() == ["reading"]
    assert "ZeroDivisionError: by a fault of the code" in failures["reason"][0]
    assert store.read_all("pairs").height == 4
    assert broken_sums(store) == []
    receipts = {r["document_id"]: r for r in map(json.loads, store.read_all("receipts")["receipt"])}
    gate = {check["name"]: check["outcome"] for check in receipts["mill"]["checks"]}
    assert gate["artifact:reading"] == "failed"
    assert not receipts["mill"]["passed"]
    failing.undo()
    again = verify(tmp_path / "out", corpus)
    assert again.read_all("failures").height == 0
    assert again.read_all("pairs").height == 5
    current = again.read_all("receipts").filter(pl.col("current"))
    assert {json.loads(one)["state"] for one in current["receipt"]} == {"passed", "failed"}


def test_every_offset_slices_its_text(tmp_path):
    store = verify(tmp_path / "out", harbour(tmp_path / "harbour"))
    texts = {row["document_key"]: store.text(row["text_sha256"]) for row in store.read_all("documents").to_dicts()}
    for row in store.read_all("markers").to_dicts():
        assert texts[row["document_key"]][row["start"] : row["end"]] == row["text"]
    for row in store.read_all("pairs").to_dicts():
        assert texts[row["document_key"]][row["sentence_start"] : row["sentence_end"]] == row["sentence"]
    for row in store.read_all("quotes").to_dicts():
        assert texts[row["document_key"]][row["start"] : row["end"]] == row["quote"]
    for name in ("triage", "verdicts", "quotes"):
        for row in store.read_all(name).drop_nulls("evidence").to_dicts():
            text = store.text(row["evidence_text_sha256"])
            assert text[row["evidence_start"] : row["evidence_end"]] == row["evidence"]


def test_words_too_few_for_a_quotation_verify_nothing(tmp_path):
    text = 'Visitors of the southern harbour in winter called the old thing "a fine long pier" [1].\n'
    sources = [{"id": "1", "document_id": "d", "n": 1, "text": "The clerk wrote of a fine long pier. It rained."}]
    corpus = write_folder(tmp_path / "c", {"d": text}, sources)
    store = verify(tmp_path / "out", corpus, checker={"kind": "none"})
    assert store.read_all("quotes").select("status", "reason").rows() == [("verified", SHORT)]
    found = json.loads(store.read_all("receipts")["receipt"][0])
    assert {check["name"]: check["outcome"] for check in found["checks"]}["quote-integrity"] == "skipped"
    assert found["state"] == "not-verified"


def test_markers_that_were_not_read_fail_their_document_and_no_other(tmp_path, monkeypatch):
    monkeypatch.setattr(reading.citations, "count_marker_like", lambda text, _: 99 if "mill" in text else 0)
    store = verify(tmp_path / "out", harbour(tmp_path / "harbour"))
    assert "99 tokens look like markers" in store.read_all("failures")["reason"].item()
    assert store.read_all("pairs").height == 4


def test_a_document_that_takes_too_long_does_not_hold_up_the_rest(tmp_path, monkeypatch):
    real = reading.citations.extract

    def extract(document, *others):
        while document.document_id == "mill":
            pass
        return real(document, *others)

    monkeypatch.setattr(reading.citations, "extract", extract)
    store = verify(tmp_path / "out", harbour(tmp_path / "harbour"), limits={"document_seconds": 0.2})
    (reason,) = store.read_all("failures")["reason"]
    assert reason.startswith("TimeoutError: not done within 0.2 s")
    assert store.read_all("pairs").height == 4
