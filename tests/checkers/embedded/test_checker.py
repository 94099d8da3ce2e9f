from __future__ import annotations

import time

import pytest

from tests.builders import evidence, item
from verification_pipeline.checkers.embedded import EmbeddedChecker
from verification_pipeline.checkers.grading import graded
from verification_pipeline.checkers.protocol import NotChecked
from verification_pipeline.checkers.retrieval import WordRetriever
from verification_pipeline.config import Embedded

FORCED = EmbeddedChecker(Embedded(min_confidence=0.0))
KILN = (
    "The pottery stands by the river and is run by two families. On the second firing of 1988 the large kiln reached"
    " 900 degrees and cracked along its northern wall. Repairs cost the families 4,000 euros.\n\nVisitors are welcome."
)


def outcome(claim, source, *others, checker=FORCED, **fields):
    case = item(claim, evidence("1", source), *(evidence(str(n), text) for n, text in enumerate(others, 2)), **fields)
    found = checker.check([case], WordRetriever())[0]
    assert graded(case, found, "embedded").not_checked_reason != "evidence-not-in-source"
    return found


def test_what_the_source_says_is_supported_on_the_sentence_that_says_it():
    found = outcome("On the second firing of 1988 the large kiln reached 900 degrees and cracked.", KILN)
    assert found.verdict == "supported"
    assert "900 degrees" in found.span.text
    assert "Visitors" not in found.span.text


@pytest.mark.parametrize(
    "claim",
    [
        "On the second firing of 1988 the large kiln reached 800 degrees and cracked.",
        "On the second firing of 1989 the large kiln reached 900 degrees and cracked.",
        "On the second firing of 1988 the large kiln did not reach 900 degrees and cracked.",
        "On the second firing of 1988 the small kiln reached 900 degrees and cracked.",
        "On the second firing of 1988 the large kiln reached 90 degrees and cracked.",
    ],
)
def test_a_claim_with_one_thing_changed_is_not_supported(claim):
    found = outcome(claim, KILN)
    assert isinstance(found, NotChecked) or found.verdict != "supported"


def test_a_missing_figure_is_named():
    found = outcome("Repairs of the kiln cost the families 7,500 euros.", KILN)
    assert "7,500" in found.rationale


def test_an_unrelated_source_is_unsupported():
    found = outcome("Whales returned to the bay after the ban on nets.", KILN)
    assert found.verdict == "unsupported"
    assert not found.contradicted


def test_another_source_of_the_document_makes_it_wrong_source():
    found = outcome("Repairs cost the families 4,000 euros.", "A map of the coast. No text.", KILN)
    assert found.verdict == "wrong-source"
    assert found.correct_source_key == found.span.source_key
    assert "4,000 euros" in found.span.text


def test_a_doubt_about_the_wording_alone_does_not_hide_the_right_source():
    said = "In 2003, membership at Harrow Bay Cooperative stood at 112 members."
    right = "According to the annual review, Harrow Bay Cooperative reported membership of 112 members in 2003."
    assert outcome(said, "A map of the coast.", right).verdict == "wrong-source"


def test_another_number_in_another_source_is_not_the_right_source():
    said = "In 2003, membership at Harrow Bay Cooperative stood at 113 members."
    near = "According to the annual review, Harrow Bay Cooperative reported membership of 112 members in 2003."
    found = outcome(said, "A map of the coast.", near)
    assert isinstance(found, NotChecked) or found.verdict != "wrong-source"


def test_a_loose_paraphrase_in_another_source_accuses_nobody():
    said = "The orchard lost a third of its trees."
    found = outcome(said, "One tree in three died.", "A third of the trees were lost.")
    assert isinstance(found, NotChecked) or found.verdict != "wrong-source"


def test_a_language_it_was_not_measured_on_is_not_judged():
    case = item("Der Ofen riss.", evidence("1", "Der Ofen riss."))
    other = type(case)(case.pair, type(case.document)("k", "c", "d", "t", "s", language="de"), case.evidence, case.own)
    assert FORCED.check([other], WordRetriever())[0].reason == "language"


@pytest.mark.parametrize(("claim", "source"), [("...", KILN), ("The kiln cracked.", "—")])
def test_a_claim_or_source_without_words_is_not_judged(claim, source):
    assert outcome(claim, source).reason == "no-text"


def test_below_the_setting_it_abstains_with_its_reasons():
    found = outcome("The kiln reached heat.", KILN, checker=EmbeddedChecker(Embedded(min_confidence=1.0)))
    assert isinstance(found, NotChecked)
    assert found.reason == "low-confidence"
    assert found.rationale


def test_outcomes_keep_the_order_and_do_not_depend_on_company():
    claims = ["Repairs cost 4,000 euros.", "Whales returned.", "The kiln cracked along its northern wall."]
    cases = [item(claim, evidence("1", KILN)) for claim in claims]
    together = FORCED.check(cases, WordRetriever())
    alone = [FORCED.check([case], WordRetriever())[0] for case in cases]
    assert together == alone
    assert [found.pair_id for found in together] == [case.pair.pair_id for case in cases]


def test_the_identity_moves_with_the_settings():
    assert EmbeddedChecker(Embedded()).identity == EmbeddedChecker(Embedded()).identity
    assert EmbeddedChecker(Embedded(min_confidence=0.9)).identity != EmbeddedChecker(Embedded()).identity


@pytest.mark.parametrize("text", ["a " * 60_000, "x" * 200_000, "1 " * 40_000, "(" * 50_000 + "word"])
def test_hostile_sources_take_no_long_time(text):
    began = time.process_time()
    outcome("The kiln reached 900 degrees (a word) 1 time.", text)
    assert time.process_time() - began < 5
