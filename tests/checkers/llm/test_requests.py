"""How pairs become questions and questions requests: sizes, budgets, long sources, order for caches."""

from __future__ import annotations

import itertools
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.builders import evidence, item
from tests.servers.reader import prompt_of
from verification_pipeline.checkers import prompts
from verification_pipeline.checkers.llm import tokens
from verification_pipeline.checkers.llm.questions import Questioner, merged
from verification_pipeline.checkers.llm.requests import Packer, body, line
from verification_pipeline.checkers.retrieval import WordRetriever
from verification_pipeline.config import OpenAI

SECRET = "5a" * 32
FILLER = "The bell rang at noon and the market closed at four. " * 3_000
LONG = f"{FILLER}In 1931 the tower was repaired by two masons. {FILLER}A storm in 1987 took the roof."


def packed(cases, limits=None, **changes):
    rules = OpenAI(**changes)
    questioner = Questioner(rules, SECRET, WordRetriever())
    questions = [questioner.question(case) for case in cases]
    return rules, list(Packer(rules, SECRET).requests(questions, limits))


def asked(request, rules):
    return prompt_of(body(request, rules, "text"))


def test_up_to_twenty_five_pairs_of_one_source_go_together():
    one, two = evidence("1", "A short text."), evidence("2", "Another text.")
    cases = [item(f"Claim {n}.", source) for n in range(30) for source in (one, two)]
    _, requests = packed(cases, candidates=0)
    assert [len(request.questions) for request in requests] == [25, 5, 25, 5]
    assert all(len({question.source_sha256 for question in request.questions}) == 1 for request in requests)


def test_two_sources_never_share_a_request_but_one_text_of_two_documents_does():
    _, requests = packed([item("A.", evidence("1", "Same text.")), item("B.", evidence("9", "Same text."))])
    assert len(requests) == 1
    _, requests = packed([item("A.", evidence("1", "Same text.")), item("B.", evidence("9", "Same text.", title="T"))])
    assert len(requests) == 2


def test_evidence_at_the_end_of_a_long_source_is_shown_and_the_rest_is_owned_up_to():
    source = evidence("1", LONG)
    rules, (request,) = packed([item("Two masons repaired the tower in 1931.", source),
                                item("The roof was lost in a storm in 1987.", source)])  # fmt: skip
    prompt = asked(request, rules)
    assert "In 1931 the tower was repaired by two masons." in prompt.source
    assert "A storm in 1987 took the roof." in prompt.source
    assert f"The cited source has {len(LONG)} characters." in request.message
    shown = sum(end - start for start, end in merged([s for q in request.questions for s in q.stretches]))
    assert f"{len(LONG) - shown} characters are left out" in request.message
    assert sum(int(text.split()[0]) for text in prompt.source.split("[")[1:]) == len(LONG) - shown
    assert tokens.count(prompt.source) < rules.max_source_tokens


def test_what_is_shown_for_a_pair_does_not_depend_on_its_companions():
    source = evidence("1", LONG)
    first, second = item("Two masons repaired the tower in 1931.", source), item("A storm took the roof.", source)
    alone = packed([first])[1][0].questions[0]
    together = packed([first, second])[1][0].questions[0]
    assert (alone.key, alone.stretches) == (together.key, together.stretches)


def test_a_request_stays_within_its_token_budget():
    source = evidence(
        "1", " ".join(f"Field {n} grew {n} tons of barley that summer. {FILLER[:4_000]}" for n in range(60))
    )
    rules, requests = packed([item(f"Field {n} grew {n} tons of barley.", source) for n in range(60)],
                             max_source_tokens=3_000, passage_tokens=600)  # fmt: skip
    for request in requests:
        assert tokens.count(asked(request, rules).source) <= 3_000 * 1.05
    assert sum(len(request.questions) for request in requests) == 60


def test_a_claim_without_a_word_in_the_source_is_shown_its_beginning():
    source = evidence("1", LONG)
    rules, (request,) = packed([item("Zzz qqq.", source)])
    assert asked(request, rules).source.startswith("The bell rang at noon")


def test_the_prefix_is_the_same_for_every_request_about_a_source():
    source = evidence("1", "A text that is shown whole. " * 50)
    rules, requests = packed([item(f"Claim {n}.", source) for n in range(60)], candidates=0)
    bodies = [line(request, rules).decode() for request in requests]
    start = bodies[0].index('"body"')
    shared = next(
        n for n, pair in enumerate(zip(*(text[start:] for text in bodies), strict=False)) if len(set(pair)) > 1
    )
    assert shared > len(prompts.INSTRUCTIONS) + len(source.body.text), "static part, then the source, then the pairs"


def test_questions_that_failed_are_packed_smaller_and_among_their_like():
    source = evidence("1", "A short text.")
    rules, (request,) = packed([item(f"Claim {n}.", source) for n in range(25)], candidates=0)
    limits = {question.key: 2 for question in request.questions[10:15]}
    requests = list(Packer(rules, SECRET).requests(request.questions, limits))
    assert sorted(len(one.questions) for one in requests) == [1, 2, 2, 20]
    assert sum(one.questions[0].key in limits for one in requests) == 3


def test_the_order_of_items_does_not_change_what_is_asked():
    source = evidence("1", "A short text.")
    cases = [item(f"Claim {n}.", source) for n in range(5)]
    keys = {question.key for question in packed(cases)[1][0].questions}
    assert {question.key for question in packed(cases[::-1])[1][0].questions} == keys
    assert packed(cases)[1][0].key == packed(cases)[1][0].key


def test_tokens_are_counted_offline_whatever_the_text_is():
    assert tokens.count("") == 0
    assert tokens.count("The pier is 120 m long.") == 8
    assert tokens.count("<|endoftext|>") > 1, "no special token is ever made of a text"
    assert tokens.count("\ud800") > 0


def test_a_claim_that_is_too_long_or_empty_is_not_asked():
    questioner = Questioner(OpenAI(max_claim_chars=10), SECRET, WordRetriever())
    assert questioner.question(item("Eleven chars", evidence("1", "Text."))).reason == "too-large"
    assert questioner.question(item(" \n", evidence("1", "Text."))).reason == "no-text"


def test_what_belongs_to_a_pair_and_to_its_source_is_in_the_key():
    def key(case, **changes):
        return packed([case], **changes)[1][0].questions[0].key

    base = item("The pier is long.", evidence("1", "The pier is long."))
    other = evidence("2", "The pier is long, they say.")
    keys = [
        key(base),
        key(item("The pier is short.", base.evidence)),
        key(replace(base, pair=replace(base.pair, context="Of piers."))),
        key(item("The pier is long.", evidence("1", "The pier is very long."))),
        key(item("The pier is long.", evidence("1", "The pier is long.", title="Piers"))),
        key(item("The pier is long.", evidence("1", "The pier is long.", url="https://example.org"))),
        key(item("The pier is long.", base.evidence, other)),
        key(base, model="m"),
        key(base, base_url="http://localhost/v1"),
    ]
    assert len(set(keys)) == len(keys)
    assert key(replace(base, pair=replace(base.pair, document_key="other", pair_id="other"))) == keys[0]


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(1, 20))))
@settings(max_examples=50)
def test_merged_ranges_cover_the_same_points_once(raw):
    ranges = [(start, start + length) for start, length in raw]
    joined = merged(ranges)
    assert {p for a, b in joined for p in range(a, b)} == {p for a, b in ranges for p in range(a, b)}
    assert all(one[1] < other[0] for one, other in itertools.pairwise(joined))
