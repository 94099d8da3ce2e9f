from __future__ import annotations

import json

import pytest

from tests.dois import register
from tests.support.corpora import write_folder
from tests.support.nights import verify
from verification_pipeline.config import load
from verification_pipeline.errors import UsageError
from verification_pipeline.shards import Scope
from verification_pipeline.stages.works import listed_works, registers_of

TEXT = "The dye is stable [1].{note}\n\n## Sources\n[1] On dyes. https://doi.org/10.5555/DYE.1\n"
SOURCE = {"id": "1", "document_id": "d", "url": "https://doi.org/10.5555/dye.1", "text": "The dye is stable."}


def receipt(tmp_path, note=""):
    corpus = write_folder(tmp_path / "c", {"d": TEXT.format(note=note)}, [SOURCE])
    rows = [{"OriginalPaperDOI": "10.5555/dye.1", "RetractionDOI": "10.5555/notice.1"}]
    path = register.write(tmp_path / "register.csv", rows)
    store = verify(tmp_path / "out", corpus, registers={"retraction_watch": str(path)})
    return json.loads(store.read_all("receipts")["receipt"][0])


def test_a_retracted_citation_fails_the_gate(tmp_path):
    found = receipt(tmp_path)
    row = found["retraction_sweep"]["rows"][0]
    assert (row["doi"], row["status"], row["date"]) == ("10.5555/dye.1", "retracted", "2020-03-01")
    assert row["notice_url"].endswith("10.5555%2Fnotice.1")
    assert {c["name"]: c["outcome"] for c in found["checks"]}["retracted-citations"] == "failed"


def test_one_that_the_document_acknowledges_does_not(tmp_path):
    found = receipt(tmp_path, " That paper was later retracted [1].")
    assert found["retraction_sweep"]["rows"][0]["noted_in_document"]
    assert {c["name"]: c["outcome"] for c in found["checks"]}["retracted-citations"] == "passed"


def test_registers_belong_to_the_archive():
    one = load({"registers": {"retraction_watch": "a.csv"}})
    other = load({"registers": {"retraction_watch": "b.csv"}})
    assert registers_of(Scope({"x": one, "y": load()})) == one.registers
    with pytest.raises(UsageError, match="x and y configure different registers"):
        registers_of(Scope({"x": one, "y": other}))


def test_a_list_of_dois_keeps_what_it_could_not_read():
    works, refused = listed_works(["https://doi.org/10.5555/A", "10.5555/a", "# note", "", "no doi"])
    assert works["work_id"].to_list() == ["doi:10.5555/a"]
    assert refused == ["no doi"]
