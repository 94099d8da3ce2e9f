"""The LLM checker against a scripted server: what is asked, what is believed, what is accounted for."""

from __future__ import annotations

from collections import Counter

from tests.builders import evidence, item
from tests.servers.scripted import Script
from verification_pipeline.checkers.grading import graded
from verification_pipeline.checkers.retrieval import WordRetriever

PIER = evidence(
    "1",
    "The pier is 120 m long. It has two lifts. The pier was opened in 1921.",
    title="Pier",
    url="https://example.org/pier",
)
BEES = evidence("2", "In May bees visited twelve plots of clover.")
CASES = [
    item("The pier is 120 m long.", PIER, BEES),
    item("It has two lifts.", PIER, BEES),
    item("The pier was opened in 1911.", PIER, BEES),
    item("bees visited twelve plots of clover.", PIER, BEES),
    item("The orchard lost a third of its trees.", PIER, BEES),
]


def verdicts(checker, cases=CASES):
    rows = [
        graded(one, outcome, checker.name)
        for one, outcome in zip(cases, checker.check(cases, WordRetriever()), strict=True)
    ]
    return [(row.verdict, row.contradicted) if row.checked else row.not_checked_reason for row in rows]


def test_five_verdicts_with_their_spans(serve, checker_for):
    server = serve()
    checker = checker_for(server)
    outcomes = checker.check(CASES, WordRetriever())
    assert [one.verdict for one in outcomes] == ["supported", "supported", "unsupported", "wrong-source", "unsupported"]
    assert [one.contradicted for one in outcomes] == [False, False, True, False, False]
    assert [one.span.text if one.span else None for one in outcomes] == [
        "The pier is 120 m long",
        "It has two lifts",
        "The pier was opened in 1921.",
        "bees visited twelve plots of clover",
        None,
    ]
    assert outcomes[3].correct_source_key == BEES.source.source_key
    assert len(server.script.requests) == 1


def test_a_second_run_sends_nothing_and_says_the_same(serve, checker_for):
    server = serve()
    first = verdicts(checker_for(server))
    assert verdicts(checker_for(server)) == first
    assert len(server.script.requests) == 1


def test_one_edited_claim_sends_one_pair(serve, checker_for):
    server = serve()
    verdicts(checker_for(server))
    edited = [item("The pier is 125 m long.", PIER, BEES), *CASES[1:]]
    verdicts(checker_for(server), edited)
    assert [len(prompt.pairs) for prompt in server.script.prompts] == [5, 1]
    assert server.script.prompts[1].pairs[0].claim == "The pier is 125 m long."


def test_every_pair_of_a_poisoned_request_is_asked_in_smaller_ones(serve, checker_for):
    cases = [item(f"The pier is {n} m long.", PIER) for n in range(25)]
    poisoned = "The pier is 7 m long."
    script = Script(fault=lambda _, prompt: "not-json" if any(p.claim == poisoned for p in prompt.pairs) else None)
    found = verdicts(checker_for(serve(script)), cases)
    assert found[7] == "invalid-answer"
    assert Counter(found)[("unsupported", True)] == 24
    assert sorted({len(p.pairs) for p in script.prompts}, reverse=True)[:3] == [25, 13, 12]
    assert verdicts(checker_for(serve(script)), cases) == found


def test_a_plain_unsupported_says_how_much_of_a_long_source_was_read(serve, checker_for):
    long = evidence("1", "The bell rang at noon and the market closed at four. " * 2_000)
    asked = [item("The orchard lost a third of its trees.", long), item("The bell rang at noon", long)]
    plain, supported = checker_for(serve()).check(asked, WordRetriever())
    assert plain.verdict == "unsupported"
    assert f"of {len(long.body.text):,} characters" in plain.rationale
    assert supported.verdict == "supported"
    assert "characters" not in supported.rationale


def test_what_cannot_be_asked_has_its_reason_beside_the_others(serve, checker_for):
    found = verdicts(checker_for(serve(), max_claim_chars=60), [*CASES[:1], item("x" * 61, PIER), item(" ", PIER)])
    assert found == [("supported", False), "too-large", "no-text"]
