"""The embedded sample keeps its promises: invented throughout, answers that stand in their sources, all described."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

DATA = Path(__file__).resolve().parents[1] / "data"
SAMPLE = DATA / "sample"


def _lines(name: str) -> list[dict[str, str]]:
    return [json.loads(line) for line in (SAMPLE / name).read_text("utf-8").splitlines()]


def test_every_document_is_described_and_none_else() -> None:
    described = re.findall(r"^\| `([a-z-]+)` \|", (DATA / "README.md").read_text("utf-8"), re.MULTILINE)
    assert sorted(described) == sorted(path.stem for path in (SAMPLE / "documents").iterdir())


def test_recorded_evidence_stands_in_its_source() -> None:
    texts = {row["id"]: row["text"] for row in _lines("sources.jsonl")}
    answers = _lines("answers.jsonl")
    assert {answer["verdict"] for answer in answers} == {
        "supported",
        "partially-supported",
        "unsupported",
        "wrong-source",
    }
    for answer in answers:
        if "evidence" in answer:
            assert answer["evidence"] in texts[answer.get("correct_source_id", answer["source_id"])], answer["claim"]


def test_nothing_in_it_is_real() -> None:
    with (SAMPLE / "retraction_watch.csv").open(encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines):
            assert row["OriginalPaperDOI"].startswith("10.5555/")
            assert row["RetractionDOI"].startswith("10.5555/") or row["RetractionDOI"] == "Unavailable"
            assert row["Notes"] == "Invented row."
    for path in [*SAMPLE.glob("*.jsonl"), *(SAMPLE / "documents").iterdir()]:
        hosts = re.findall(r"https?://([^/\s\"<>)]+)", path.read_bytes().decode("utf-8", "replace"))
        assert all(host.endswith(".example") or host == "doi.org" for host in hosts), path.name
