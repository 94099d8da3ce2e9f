from __future__ import annotations

import pytest

from tests.builders import evidence, item
from verification_pipeline.checkers.grading import graded
from verification_pipeline.checkers.lexical import LexicalChecker
from verification_pipeline.checkers.protocol import Judgement, NotChecked
from verification_pipeline.checkers.retrieval import WordRetriever
from verification_pipeline.config import Lexical


def outcome(claim, source, *others):
    case = item(claim, evidence("1", source), *(evidence(str(n), text) for n, text in enumerate(others, 2)))
    found = LexicalChecker(Lexical()).check([case], WordRetriever())[0]
    assert graded(case, found, "lexical").not_checked_reason != "evidence-not-in-source"
    return found


def test_a_claim_that_stands_in_the_source_is_supported_on_an_exact_span():
    found = outcome("The kiln reached 900 degrees.", "On the second firing the kiln reached 900 degrees. It cracked.")
    assert isinstance(found, Judgement)
    assert found.verdict == "supported"
    assert "900 degrees" in found.span.text


@pytest.mark.parametrize(
    "source",
    ["The kiln reached 800 degrees on the second firing.", "The kiln reached 9000 degrees on the second firing."],
)
def test_a_figure_that_the_passage_lacks_is_never_supported(source):
    found = outcome("The kiln reached 900 degrees on the second firing.", source)
    assert found.verdict == "partially-supported"
    assert "900" in found.rationale


def test_a_difference_in_negation_is_not_judged():
    found = outcome("The gate did not open at noon.", "The gate did open at noon.")
    assert isinstance(found, NotChecked)
    assert found.reason == "low-confidence"


def test_an_unrelated_source_is_unsupported_without_a_span():
    found = outcome("The orchard lost a third of its trees.", "Oil rose in Asia as stocks fell.")
    assert (found.verdict, found.span) == ("unsupported", None)


def test_another_source_of_the_document_makes_it_wrong_source():
    found = outcome("Bees visited twelve plots.", "A map.", "In May bees visited twelve plots.")
    assert found.verdict == "wrong-source"
    assert found.correct_source_key == found.span.source_key
