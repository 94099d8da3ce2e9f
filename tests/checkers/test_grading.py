from __future__ import annotations

from dataclasses import replace

import pytest

from tests.builders import evidence, item
from verification_pipeline.checkers.grading import fix_of, graded, severity_of
from verification_pipeline.checkers.protocol import Judgement, NotChecked
from verification_pipeline.tables import Span

CITED = evidence("1", "The pier is 120 m long.")
OTHER = evidence("2", "The pier opened in 1911.")
CASE = item("The pier is 120 m long.", CITED, OTHER, numbers=("120 m",))


def span(holder=CITED, start=0, end=8, text=None, sha=None):
    body = holder.body
    return Span(
        holder.source.source_key, sha or body.sha256, start, end, body.text[start:end] if text is None else text
    )


def judgement(verdict="supported", **fields):
    return Judgement(CASE.pair.pair_id, verdict, "Because.", **fields)


def test_a_verdict_with_its_span_is_a_row():
    row = graded(CASE, judgement(span=span(), confidence=0.9), "c")
    assert (row.checked, row.verdict, row.severity, row.confidence, row.checker) == (True, "supported", None, 0.9, "c")


@pytest.mark.parametrize(
    "outcome",
    [
        judgement(),
        judgement("partially-supported"),
        judgement("unsupported", contradicted=True),
        judgement(span=span(text="The quay")),
        judgement(span=span(sha="0" * 64)),
        judgement(span=span(start=8, end=8, text="")),
        judgement(span=replace(span(), source_key="elsewhere")),
        judgement("wrong-source", span=span(OTHER)),
        judgement(span=span(), correct_source_key=OTHER.source.source_key),
    ],
)
def test_a_verdict_that_does_not_rest_on_the_text_is_not_given(outcome):
    row = graded(CASE, outcome, "c")
    assert (row.checked, row.verdict, row.not_checked_reason) == (False, None, "evidence-not-in-source")


def test_a_plain_unsupported_needs_no_span():
    assert graded(CASE, judgement("unsupported"), "c").verdict == "unsupported"


def test_what_was_not_judged_keeps_its_reason():
    row = graded(CASE, NotChecked(CASE.pair.pair_id, "low-confidence", 0.4), "c")
    assert (row.checked, row.not_checked_reason, row.confidence) == (False, "low-confidence", 0.4)


@pytest.mark.parametrize(
    ("verdict", "numbers", "severity", "fix"),
    [
        ("supported", ("1",), None, None),
        ("partially-supported", ("1",), "major", "soften claim to what the source supports"),
        ("unsupported", (), "major", "delete sentence"),
        ("unsupported", ("1",), "critical", "delete sentence"),
        ("wrong-source", (), "critical", "swap citation"),
    ],
)
def test_severity_and_fix_follow_the_verdict(verdict, numbers, severity, fix):
    assert severity_of(replace(CASE.pair, numbers=numbers), verdict) == severity
    assert fix_of(verdict) == fix
