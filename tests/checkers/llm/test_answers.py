"""Reading answers strictly: what is taken, and what is refused under which name."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import evidence, item
from tests.servers.reader import completion, row
from verification_pipeline.checkers.llm.answers import Reply, Row, Usage, read, reply_of
from verification_pipeline.checkers.llm.judging import outcome
from verification_pipeline.checkers.llm.questions import Questioner
from verification_pipeline.checkers.protocol import Judgement, NotChecked
from verification_pipeline.checkers.retrieval import WordRetriever
from verification_pipeline.config import OpenAI

OFFERED = {"p1": ["o1"], "p2": []}


def reading(*rows):
    return read(Reply(json.dumps({"rows": rows})), ["p1", "p2"], OFFERED)


GOOD = row("p1", "supported", "the words"), row("p2", "unsupported")


def test_one_good_row_a_pair_in_any_order():
    assert set(reading(*GOOD[::-1]).rows) == {"p1", "p2"}
    assert reading(*GOOD).faults == {}


@pytest.mark.parametrize(
    ("rows", "faults"),
    [
        ((GOOD[0],), {"p2": "missing"}),
        ((*GOOD, row("p3", "supported", "x")), {}),
        ((*GOOD, GOOD[0]), {"p1": "duplicate-pair"}),
        ((GOOD[0], GOOD[0]), {"p1": "shifted", "p2": "shifted"}),
        ((row("p0", "supported", "x"), row("p1", "unsupported")), {"p1": "shifted", "p2": "shifted"}),
        ((GOOD[0], {"pair": "p3"}), {"p1": "shifted", "p2": "shifted"}),
        ((GOOD[0], row("p2", "true")), {"p2": "wrong-row"}),
        ((GOOD[0], {"pair": "p2"}), {"p2": "wrong-row"}),
        ((GOOD[0], {**GOOD[1], "confidence": 1}), {"p2": "wrong-row"}),
        ((GOOD[0], "p2"), {"p1": "wrong-schema", "p2": "wrong-schema"}),
        ((GOOD[0], row("p2", "supported", "x", correct="o1")), {"p2": "self-contradicting"}),
        ((GOOD[0], row("p2", "wrong-source", "x")), {"p2": "no-right-source"}),
        ((row("p1", "wrong-source", "x", correct="o9"), GOOD[1]), {"p1": "foreign-source"}),
        ((GOOD[0], row("p2", "wrong-source", "x", correct="o1")), {"p2": "foreign-source"}),
        ((GOOD[0], row("p2", "contradicted", " ")), {"p2": "no-evidence"}),
        ((GOOD[0], row("p2", "unsupported", rationale=" ")), {"p2": "no-rationale"}),
    ],
)
def test_everything_else_is_refused_by_name(rows, faults):
    found = reading(*rows)
    assert found.faults == faults
    assert set(found.rows) | set(faults) == {"p1", "p2"}


@pytest.mark.parametrize(
    "content",
    [
        "supported",
        'Sure! {"rows": []}',
        '{"rows": []} and more',
        '{"rows": [], "rows": []}',
        '{"rows": NaN}',
        "[" * 100_000,
        '{"rows": [{"pair": "p1", "pair": "p2"}]}',
        '```json\n{"rows": []}\n``` {"rows": []}',
    ],
)
def test_what_is_not_the_one_json_object_is_refused_whole(content):
    assert set(read(Reply(content), ["p1"], {}).faults.values()) == {"not-json"}


def test_thoughts_and_a_code_block_around_the_object_are_no_fault():
    content = '<think>{"rows": 1}</think>\n```json\n' + json.dumps({"rows": [GOOD[0]]}) + "\n```"
    assert set(read(Reply(content), ["p1"], OFFERED).rows) == {"p1"}


def test_half_a_surrogate_pair_can_be_stored():
    content = json.dumps({"rows": [row("p1", "unsupported", "a\ud800b \U0001f600")]})
    found = read(Reply(content), ["p1"], OFFERED).rows["p1"]
    assert found.evidence == "a?b \U0001f600"
    assert Row.model_validate_json(found.model_dump_json()) == found


def test_raw_line_breaks_in_a_string_are_no_fault():
    content = json.dumps({"rows": [row("p1", "supported", "two|lines")]}).replace("|", "\n")
    assert read(Reply(content), ["p1"], OFFERED).rows["p1"].evidence == "two\nlines"


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        ([], "no-completion"),
        ({}, "no-completion"),
        ({"choices": [{"message": "x"}]}, "no-completion"),
        ({"choices": [{"finish_reason": "length", "message": {"content": "{"}}]}, "truncated"),
        ({"choices": [{"finish_reason": "content_filter", "message": {"content": ""}}]}, "refused-by-model"),
        ({"choices": [{"finish_reason": "stop", "message": {"content": None, "refusal": "no"}}]}, "refused-by-model"),
        ({"choices": [{"finish_reason": "stop", "message": {"content": " \n "}}]}, "empty"),
        ({"choices": [{"finish_reason": "stop", "message": {"content": 3}}]}, "empty"),
    ],
)
def test_completions_that_are_none(body, fault):
    assert reply_of(body).fault == fault


def test_usage_is_read_with_its_details_and_survives_nonsense():
    usage = reply_of(completion("{}", body={"m": "x" * 400}, cached=50)).usage
    assert (usage.cached, usage.reasoning) == (50, 3)
    assert reply_of({"usage": {"prompt_tokens": "many", "completion_tokens": -4}}).usage == Usage()


@given(st.text())
def test_no_content_whatever_raises_or_is_believed(content):
    assert read(Reply(content), ["p1", "p2"], OFFERED).rows == {}


names = st.sampled_from([*GOOD[0], "rows", "x"])
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from([*GOOD[0], "rows", "x"]), inner, max_size=6)
    ),
    max_leaves=12,
)


@given(json_values)
def test_no_json_whatever_raises(value):
    found = read(Reply(json.dumps(value)), ["p1", "p2"], OFFERED)
    assert set(found.rows) | set(found.faults) == {"p1", "p2"}


CITED = evidence("1", "The “pier” is\n120 m long — and <b>has</b> two co-\noperating lifts. Opened 1911.")
OTHER = evidence("2", "They say the pier is 120 m long, in all.")


def judged(verdict, words, *, correct=None, least=2):
    case = item("The pier is 120 m long.", CITED, OTHER)
    question = Questioner(OpenAI(), "5a" * 32, WordRetriever()).question(case)
    found = Row(pair="p", evidence=words, rationale="So  it\x00 is.", verdict=verdict, correct_source=None)
    return outcome(question, found, correct, model="m", prompt="1", least=least)


@pytest.mark.parametrize(
    ("words", "span"),
    [
        ('The "pier" is 120 m long', "The “pier” is\n120 m long"),
        ("is 120 m long - and has two", "is\n120 m long — and <b>has</b> two"),
        ("‹b>has‹/b> two", "<b>has</b> two"),
        ("two cooperating lifts", "two co-\noperating lifts"),
        ("Opened 1911.", "Opened 1911."),
    ],
)
def test_evidence_is_an_exact_span_up_to_typography(words, span):
    found = judged("supported", words)
    assert isinstance(found, Judgement)
    assert found.span.text == span == CITED.body.text[found.span.start : found.span.end]
    assert found.rationale == "So it is."


@pytest.mark.parametrize(
    "words", ["The pier is 125 m long", "120 m … lifts", "pier long", "THE PIER", "The pier was long", "…", "\u200b"]
)
def test_evidence_that_is_not_there_is_refused(words):
    found = judged("supported", words)
    assert isinstance(found, NotChecked)
    assert found.reason == "evidence-not-in-source"


def test_evidence_of_one_word_shows_nothing():
    assert judged("supported", "The").reason == "invalid-answer"
    assert judged("supported", "1911", least=1).verdict == "supported"


def test_contradicted_is_unsupported_with_a_span_and_unsupported_needs_none():
    found = judged("contradicted", "120 m long")
    assert (found.verdict, found.contradicted, found.span.text) == ("unsupported", True, "120 m long")
    assert judged("unsupported", "").span is None
    assert judged("unsupported", "the closest words are not there").verdict == "unsupported"
    assert judged("unsupported", "Opened 1911").span.text == "Opened 1911"


def test_the_right_source_is_named_and_holds_the_words():
    found = judged("wrong-source", "the pier is 120 m long", correct=OTHER.body.sha256)
    assert (found.correct_source_key, found.span.source_key) == (OTHER.source.source_key,) * 2
    assert judged("wrong-source", "Opened 1911.", correct=OTHER.body.sha256).reason == "evidence-not-in-source"
    assert judged("wrong-source", "Opened 1911.", correct="0" * 64).reason == "invalid-answer"
