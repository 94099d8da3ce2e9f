from __future__ import annotations

import polars as pl
import pytest

from tests.support.corpora import write_folder
from tests.support.nights import verify
from verification_pipeline.stages import elsewhere

LOG = "The harbour log says that the lower lock was closed for nine weeks in the winter of 1963. It froze."


def corpus(root, *, held: bool):
    """One document that misquotes and misreports its source; another document's source holds both (or does not)."""
    documents = {
        "a": 'The log says "the lower lock was closed for nine weeks in the winter" [1]. The lower lock was closed '
        "for nine weeks in the winter of 1963 [1].\n",
        "b": "The harbour log begins in 1950 [1].\n",
    }
    sources = [
        {"id": "1", "document_id": "a", "n": 1, "text": "Otters sleep in reeds by the weir and eat crayfish."},
        {"id": "1", "document_id": "b", "n": 1, "text": LOG if held else "Another text about other things entirely."},
    ]
    return write_folder(root, documents, sources)


def test_support_in_another_documents_source_is_found_and_changes_no_status(tmp_path):
    store = verify(tmp_path / "out", corpus(tmp_path / "c", held=True))
    found = store.read("found_elsewhere")
    assert found["quote_id"].drop_nulls().len() == 1
    assert found["pair_id"].drop_nulls().len() == 2
    for row in found.iter_rows(named=True):
        text = store.text(row["evidence_text_sha256"])
        assert text[row["evidence_start"] : row["evidence_end"]] == row["evidence"]
        assert "lower lock was closed for nine weeks in the winter" in row["evidence"]
    assert store.read_all("quotes")["status"].to_list() == ["not-found"]
    without = verify(tmp_path / "other", corpus(tmp_path / "d" / "c", held=False))
    assert without.read("found_elsewhere").height == 0
    for name in ("quotes", "verdicts", "triage"):
        key = without.read_all("documents").filter(pl.col("document_id") == "a")["document_key"][0]
        mine, theirs = (one.read_all(name).filter(pl.col("document_key") == key) for one in (store, without))
        assert mine.equals(theirs)


def test_nothing_is_scanned_while_nothing_moved(tmp_path, monkeypatch):
    folder = corpus(tmp_path / "c", held=True)
    before = verify(tmp_path / "out", folder).read("found_elsewhere")
    monkeypatch.setattr(elsewhere, "_propose", lambda *_: pytest.fail("looked for"))
    assert verify(tmp_path / "out", folder).read("found_elsewhere").equals(before)
