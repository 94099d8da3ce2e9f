from __future__ import annotations

import json

import pytest

from tests.builders import evidence, item
from verification_pipeline.checkers.protocol import Judgement, NotChecked
from verification_pipeline.checkers.replay import ReplayChecker
from verification_pipeline.checkers.retrieval import WordRetriever
from verification_pipeline.errors import CheckerError

CITED = evidence("1", "The “pier”\nis long.")
OTHER = evidence("2", "It opened in 1911.")


def outcome(tmp_path, claim="The pier is long.", **answer):
    path = tmp_path / "answers.jsonl"
    row = {"document_id": "doc", "claim": "The  pier is long.", "source_id": "1", "verdict": "supported", **answer}
    path.write_text(json.dumps(row) + "\n\n")
    return ReplayChecker.read(path).check([item(claim, CITED, OTHER)], WordRetriever())[0]


def test_a_recorded_answer_is_found_by_its_normal_form(tmp_path):
    found = outcome(tmp_path, evidence='"pier" is long')
    assert isinstance(found, Judgement)
    assert found.span.text == "pier”\nis long"


def test_evidence_of_a_wrong_source_stands_in_the_right_one(tmp_path):
    found = outcome(tmp_path, verdict="wrong-source", correct_source_id="2", evidence="opened in 1911")
    assert found.correct_source_key == found.span.source_key == OTHER.source.source_key


def test_a_pair_without_an_answer_is_not_checked(tmp_path):
    assert outcome(tmp_path, claim="Another claim.").reason == "missing-answer"


def test_evidence_that_is_not_there_is_refused(tmp_path):
    found = outcome(tmp_path, evidence="The pier is very long")
    assert isinstance(found, NotChecked)
    assert found.reason == "evidence-not-in-source"


@pytest.mark.parametrize("line", ["{", '{"document_id": "d"}', '{"verdict": "fine"}'])
def test_a_broken_line_is_named(tmp_path, line):
    path = tmp_path / "answers.jsonl"
    path.write_text(line)
    with pytest.raises(CheckerError, match=r"answers\.jsonl, line 1"):
        ReplayChecker.read(path)


def test_the_identity_moves_with_the_answers(tmp_path):
    path = tmp_path / "answers.jsonl"
    path.write_text("")
    first = ReplayChecker.read(path).identity
    path.write_text("\n")
    assert ReplayChecker.read(path).identity != first
