from __future__ import annotations

from tests.support.archive import storage_archive
from verification_pipeline.receipts import findings


def test_findings_are_the_cite_checkers_json():
    found = findings(storage_archive().inputs())
    where = ("corpus", "document_id", "pair_id")
    assert [{name: value for name, value in one.items() if name not in where} for one in found] == [
        {
            "verdict": "unsupported",
            "severity": "critical",
            "sentence": "It grew 60% year over year [2]",
            "cited_note_id": "2",
            "correct_note_id": None,
            "evidence": "The source gives no growth rate.",
            "suggested_fix": "delete sentence",
        },
        {
            "verdict": "wrong-source",
            "severity": "critical",
            "sentence": "Costs fell to 90 dollars [2]",
            "cited_note_id": "2",
            "correct_note_id": "3",
            "evidence": "Source 3 says it.",
            "suggested_fix": "swap citation",
        },
    ]
    assert {(one["corpus"], one["document_id"]) for one in found} == {("notes", "2024-05-01")}


def test_supported_and_unread_pairs_are_no_findings():
    archive = storage_archive()
    for row in archive.rows["verdicts"]:
        if row["verdict"]:
            row["verdict"] = "supported"
    assert findings(archive.inputs()) == []
