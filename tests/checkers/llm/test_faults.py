"""What goes wrong between question and verdict: every pair is judged or accounted for, and nothing is guessed."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from tests.builders import evidence, item
from tests.servers.scripted import Script
from verification_pipeline.checkers.llm.ledger import Ledger
from verification_pipeline.checkers.protocol import Judgement, NotChecked
from verification_pipeline.checkers.retrieval import WordRetriever
from verification_pipeline.errors import CheckerError

TEXT = "The weir is 3 m high. It was rebuilt in 1954. Salmon pass it in May."
WEIR = evidence("1", TEXT)
CASES = [
    item("The weir is 3 m high.", WEIR),
    item("It was rebuilt in 1954.", WEIR),
    item("Salmon pass it in May.", WEIR),
    item("The weir is 4 m high.", WEIR),
]
RIGHT = ["supported", "supported", "supported", "unsupported"]


def found(checker, cases=CASES):
    outcomes = checker.check(cases, WordRetriever())
    return [one.verdict if isinstance(one, Judgement) else one.reason for one in outcomes]


@pytest.mark.parametrize(
    "fault",
    [
        "429",
        "429-after",
        "500",
        "503",
        "cut",
        "html",
        "not-json",
        "wrong-schema",
        "missing-row",
        "no-rows",
        "foreign",
        "duplicate",
        "shifted",
        "truncated",
        "whitespace",
        "no-choices",
        "refusal",
        "self-contradicting",
        "wrong-label",
        "shuffled",
        "too-large",
        "400",
        "fenced",
    ],
)
def test_a_fault_of_one_request_costs_no_verdict(serve, checker_for, fault):
    server = serve(Script(fault=lambda number, _: fault if number == 0 else None))
    assert found(checker_for(server)) == RIGHT


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ("not-json", "invalid-answer"),
        ("wrong-schema", "invalid-answer"),
        ("no-rows", "missing-answer"),
        ("shifted", "invalid-answer"),
        ("truncated", "invalid-answer"),
        ("whitespace", "invalid-answer"),
        ("no-choices", "invalid-answer"),
        ("refusal", "invalid-answer"),
        ("self-contradicting", "invalid-answer"),
        ("wrong-label", "invalid-answer"),
        ("bad-evidence", "evidence-not-in-source"),
        ("too-large", "too-large"),
        ("400", "provider-error"),
        ("500", "provider-error"),
        ("cut", "provider-error"),
        ("html", "provider-error"),
    ],
)
def test_a_fault_of_every_request_leaves_every_pair_with_its_reason(serve, checker_for, fault, reason):
    server = serve(Script(fault=lambda *_: fault))
    checker = checker_for(server, retries=1)
    outcomes = checker.check(CASES, WordRetriever())
    assert all(isinstance(one, NotChecked) for one in outcomes)
    assert {one.reason for one in outcomes} == {reason}
    asked = len(server.script.requests)
    again = found(checker)
    assert again == [reason] * 4
    final = reason != "provider-error"
    assert (len(server.script.requests) == asked) == final, "final faults are not paid again; open ones are taken up"


def test_a_foreign_row_beside_the_right_ones_is_believed_for_nothing(serve, checker_for):
    server = serve(Script(fault=lambda *_: "foreign"))
    assert found(checker_for(server)) == RIGHT
    assert len(server.script.requests) == 1


def test_two_rows_for_one_pair_cost_that_pair_alone(serve, checker_for):
    server = serve(Script(fault=lambda *_: "duplicate"))
    assert found(checker_for(server)) == ["invalid-answer", *RIGHT[1:]]
    assert [len(prompt.pairs) for prompt in server.script.prompts] == [4, 1]


def test_answers_that_hang_are_tried_once_more_then_split(serve, checker_for):
    hangs = Script(fault=lambda number, _: "hang" if number < 2 else None, hang=5)
    server = serve(hangs)
    assert found(checker_for(server, timeout_seconds=0.4)) == RIGHT
    assert [len(prompt.pairs) for prompt in hangs.prompts] == [4, 4, 2, 2]


def test_servers_that_know_no_schema_are_asked_in_json_mode_then_in_text(serve, checker_for):
    for known, status in ((("json_object", "text"), 400), (("text",), 500)):
        server = serve(Script(formats=known, format_status=status))
        cases = [item(case.pair.claim, evidence("1", f"{TEXT} {known}")) for case in CASES]
        assert found(checker_for(server, pairs_per_request=2, concurrency=1), cases) == RIGHT
        asked = [body.get("response_format", {}).get("type", "text") for body in server.script.requests]
        assert asked[-1] == known[0]
        assert asked.count("json_schema") == 1, "a refused format is not tried again"


def test_a_quota_or_a_refused_key_stops_everything_with_one_line(serve, checker_for, monkeypatch):
    server = serve(Script(fault=lambda *_: "quota"))
    with pytest.raises(CheckerError, match="insufficient_quota"):
        checker_for(server).check(CASES, WordRetriever())
    monkeypatch.setenv("OPENAI_API_KEY", "sk-wrong-99999999")
    checker = checker_for(serve())
    monkeypatch.setenv("OPENAI_API_KEY", "sk-wrong-99999999")
    with pytest.raises(CheckerError, match="OPENAI_API_KEY") as caught:
        checker.check(CASES, WordRetriever())
    assert "99999999" not in str(caught.value)


def test_a_run_of_failures_opens_the_circuit(serve, checker_for):
    cases = [item(f"The weir is {n} m high.", evidence(str(n), f"{TEXT} {n}")) for n in range(60)]
    server = serve(Script(fault=lambda *_: "500"))
    reasons = Counter(found(checker_for(server, retries=0, breaker_failures=5, concurrency=2), cases))
    assert reasons["circuit-open"] >= 53
    assert set(reasons) == {"circuit-open", "provider-error"}
    assert len(server.script.requests) <= 7


@pytest.mark.parametrize(("told", "retry_after"), [(True, True), (False, True), (False, False)])
def test_the_rate_limit_paces_all_requests_together(serve, checker_for, told, retry_after):
    cases = [item("Salmon pass it in May.", evidence(str(n), f"{TEXT} {n}")) for n in range(50)]
    script = Script(limit=25, told=told, retry_after=retry_after)
    checker = checker_for(serve(script), concurrency=16, backoff_seconds=0.2)
    assert set(found(checker, cases)) == {"supported"}
    assert script.refused <= (8 if told else 80), "a shared cool-down keeps slots from running into the limit for ever"


def test_no_more_requests_are_in_flight_than_allowed(serve, checker_for):
    cases = [item("Salmon pass it in May.", evidence(str(n), f"{TEXT} {n}")) for n in range(40)]
    script = Script(delay=0.05)
    found(checker_for(serve(script), concurrency=7), cases)
    assert 2 <= script.most_in_flight <= 7


def test_ten_thousand_pairs_with_a_fifth_of_the_answers_faulty(serve, checker_for, tmp_path):
    """Four hundred sources of 25 pairs; every pair is judged, and judged right, or has its reason."""
    kinds = ["not-json", "wrong-schema", "missing-row", "foreign", "duplicate", "shifted", "truncated", "whitespace"]
    kinds += ["429-after", "500", "503", "cut", "html", "shuffled", "self-contradicting", "wrong-label", "bad-evidence"]
    draw = random.Random(5)

    def fault(number, prompt):
        return draw.choice(kinds) if draw.random() < 0.2 else None

    sources = [
        evidence(str(n), " ".join(f"Gauge {n} of reach {k} read {k * n} mm." for k in range(25))) for n in range(400)
    ]
    cases = [
        item(f"Gauge {n} of reach {k} read {k * n + k % 2} mm.", source)
        for n, source in enumerate(sources)
        for k in range(25)
    ]
    script = Script(fault=fault)
    checker = checker_for(serve(script), concurrency=16, candidates=0, breaker_failures=50)
    outcomes = checker.check(cases, WordRetriever())
    counts = Counter(one.verdict if isinstance(one, Judgement) else one.reason for one in outcomes)
    assert sum(counts.values()) == 10_000
    assert set(counts) <= {
        "supported",
        "unsupported",
        "evidence-not-in-source",
        "invalid-answer",
        "missing-answer",
        "provider-error",
    }
    assert counts["supported"] + counts["unsupported"] >= 9_500
    for case, outcome in zip(cases, outcomes, strict=True):
        if isinstance(outcome, Judgement):
            k = int(case.pair.claim.split()[4])
            assert outcome.verdict == ("unsupported" if k % 2 else "supported"), case.pair.claim
    with Ledger(tmp_path / "llm") as ledger:
        (states,) = ledger.read("SELECT COUNT(*) FROM claims")
        assert states == (0,), "no claim is left behind"
