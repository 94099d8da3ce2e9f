"""The Batch API: handed in once, collected once, whatever comes back and whatever is lost on the way."""

from __future__ import annotations

from collections import Counter

import orjson
import pytest

from tests.builders import evidence, item
from tests.servers.scripted import KEY, Script
from verification_pipeline.checkers.llm import batch, money
from verification_pipeline.checkers.llm.ledger import Ledger
from verification_pipeline.checkers.protocol import Judgement
from verification_pipeline.checkers.retrieval import WordRetriever
from verification_pipeline.errors import CheckerError

SOURCES = [evidence(str(n), f"Mill {n} ground {n} tonnes. Mill {n} closed in 19{n:02}.") for n in range(6)]
CASES = [
    item(f"Mill {n} {words}.", source)
    for n, source in enumerate(SOURCES)
    for words in (f"ground {n} tonnes", f"closed in 19{n:02}")
]


def found(checker, cases=CASES):
    outcomes = checker.check(cases, WordRetriever())
    return Counter(one.verdict if isinstance(one, Judgement) else one.reason for one in outcomes)


@pytest.fixture
def batching(serve, checker_for):
    """A checker in batch mode and what its server does and has seen."""

    def made(script=None, **settings):
        server = serve(script or Script())
        return checker_for(server, mode="batch", **settings), server.script

    return made


def test_a_batch_is_handed_in_left_and_collected_by_a_later_run(batching):
    checker, script = batching(Script(polls=2))
    assert found(checker) == {"pending": 12}
    assert found(checker) == {"pending": 12}
    assert found(checker) == {"supported": 12}
    assert (script.created, len(script.requests)) == (1, 6)
    assert found(checker) == {"supported": 12}
    assert script.created == 1


def test_a_pending_pair_names_its_request(batching):
    checker, _ = batching(Script(polls=9))
    (first, second, *_) = checker.check(CASES, WordRetriever())
    assert first.request_key == second.request_key
    assert len(first.request_key) == 32


def test_a_sensor_advances_without_items(batching, tmp_path):
    checker, _ = batching(Script(polls=2))
    found(checker)
    with Ledger(tmp_path / "llm") as ledger:
        assert batch.advance(ledger, checker.rules) == batch.Progress(0, 1, 0, 0, 12)
        assert batch.advance(ledger, checker.rules) == batch.Progress(0, 0, 1, 0, 0)
        assert batch.advance(ledger, checker.rules) == batch.Progress(0, 0, 0, 0, 0)
    assert found(checker) == {"supported": 12}


@pytest.mark.parametrize("fault", ["expired", "error", "missing", "not-json", "truncated", "duplicate-line"])
def test_half_of_a_batch_that_fails_is_asked_again_and_only_that(batching, fault):
    script = Script(batch_faults=lambda n: fault if n % 2 else None)
    checker, _ = batching(script)
    assert found(checker) == {"pending": 12}
    second = found(checker)
    script.batch_faults = lambda _: None
    if fault == "duplicate-line":
        assert second == {"supported": 12}, "the same line twice is one answer"
        return
    assert second == {"supported": 6, "pending": 6}
    assert found(checker) == {"supported": 12}
    lines = [len(script.files[one["input_file_id"]].splitlines()) for one in script.batches.values()]
    assert lines == [6, 6 if fault in ("not-json", "truncated") else 3], "invalid ones come back in halves"


@pytest.mark.parametrize("status", ["expired", "cancelled"])
def test_a_batch_that_ended_early_keeps_its_finished_part(batching, status):
    script = Script(batch_status=status, batch_faults=lambda n: "missing" if n >= 4 else None)
    checker, _ = batching(script)
    found(checker)
    assert found(checker) == {"supported": 8, "pending": 4}


def test_a_completed_batch_without_an_output_file_is_no_success(batching):
    script = Script(no_output_file=True, batch_faults=lambda _: "error")
    checker, _ = batching(script)
    found(checker)
    assert found(checker) == {"pending": 12}
    assert script.created == 2


def test_a_batch_refused_in_validation_is_accounted_for_and_taken_up_again(batching, tmp_path):
    script = Script(batch_status="failed", batch_errors=[{"code": "model_mismatch", "line": 1, "message": "…"}])
    checker, _ = batching(script)
    found(checker)
    with Ledger(tmp_path / "llm") as ledger:
        assert batch.advance(ledger, checker.rules).failed == 1
        assert {fault for (fault,) in ledger.read("SELECT fault FROM requests")} == {"model_mismatch"}
    script.batch_status = "completed"
    assert found(checker) == {"pending": 12}
    assert found(checker) == {"supported": 12}


def test_foreign_lines_are_counted_and_believed_for_nothing(batching, tmp_path):
    checker, _ = batching(Script(batch_faults=lambda n: "foreign-line" if n == 0 else None))
    found(checker)
    assert found(checker) == {"supported": 12}
    with Ledger(tmp_path / "llm") as ledger:
        ((note,),) = ledger.read("SELECT note FROM batches")
    assert "foreign=1" in note


def test_a_pair_that_is_too_large_alone_is_final(batching):
    script = Script(batch_faults=lambda n: "too-large" if n == 0 else None)
    checker, _ = batching(script, pairs_per_request=1)
    found(checker)
    assert found(checker) == {"supported": 11, "too-large": 1}
    assert script.created == 1


def test_a_creation_whose_answer_was_lost_is_found_and_not_repeated(batching):
    script = Script(batch_create=lambda n: "lost" if n == 0 else None)
    checker, _ = batching(script)
    assert found(checker) == {"pending": 12}
    assert found(checker) == {"pending": 12}
    assert found(checker) == {"supported": 12}
    assert script.created == len(script.batches) == 1


def test_while_the_look_up_fails_nothing_is_created(batching):
    script = Script(batch_create=lambda n: "lost" if n == 0 else None, list_down=True)
    checker, _ = batching(script)
    for _ in range(3):
        assert found(checker) == {"pending": 12}
    assert script.created == 1
    script.list_down = False
    found(checker)
    assert found(checker) == {"supported": 12}
    assert script.created == 1


def test_a_young_creation_is_not_looked_up_yet(batching):
    script = Script(batch_create=lambda n: "lost" if n == 0 else None)
    checker, _ = batching(script, batch_settle_seconds=60)
    for _ in range(2):
        assert found(checker) == {"pending": 12}
    assert script.created == 1
    assert all(one["polled"] == 0 for one in script.batches.values())


def test_a_provider_that_is_down_gets_the_batch_later(batching):
    script = Script(batch_create=lambda n: "down" if n < 2 else None)
    checker, _ = batching(script)
    for _ in range(2):
        assert found(checker) == {"pending": 12}
    found(checker)
    assert found(checker) == {"supported": 12}
    assert len(script.batches) == 1


def test_a_refused_creation_is_no_pending_batch_and_is_taken_up_again(batching):
    script = Script(batch_create=lambda n: "refused" if n == 0 else None)
    checker, _ = batching(script)
    assert found(checker) == {"provider-error": 12}
    assert found(checker) == {"pending": 12}
    assert found(checker) == {"supported": 12}


def test_two_different_answers_to_one_request_are_none(batching):
    checker, script = batching()
    found(checker)
    batch_file = next(iter(script.batches.values()))["input_file_id"]
    script.batch_faults = lambda n: "two-answers" if n == 0 else None
    assert batch_file in script.files
    assert found(checker) == {"supported": 10, "pending": 2}
    script.batch_faults = lambda _: None
    assert found(checker) == {"supported": 12}


def test_files_stay_below_the_limits_and_no_more_is_enqueued_than_allowed(batching, tmp_path):
    script = Script(polls=2)
    checker, _ = batching(script, batch_max_requests=2, batch_max_tokens=2_500)
    assert found(checker) == {"pending": 12}
    lines = [len(script.files[one["input_file_id"]].splitlines()) for one in script.batches.values()]
    assert lines == [2]
    for _ in range(8):
        counts = found(checker)
    assert counts == {"supported": 12}
    assert script.created == 3


def test_a_batch_costs_half_and_its_tokens_are_kept_apart(batching, tmp_path):
    checker, _ = batching(Script(cached=64))
    found(checker)
    found(checker)
    with Ledger(tmp_path / "llm") as ledger:
        (spent,) = money.spending(ledger)
    price = checker.rules.prices[checker.rules.model]
    fresh = spent.input_tokens - spent.cached_tokens
    full = fresh * price.input + spent.cached_tokens * price.cached_input + spent.output_tokens * price.output
    assert (spent.mode, spent.cached_tokens, spent.reasoning_tokens) == ("batch", 6 * 64, 6 * 3)
    assert spent.cents == pytest.approx(full / 2_000_000)


def test_a_refused_key_is_one_line_and_what_was_entered_waits(batching, monkeypatch):
    checker, script = batching()
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    found(checker)
    assert script.created == 1
    monkeypatch.delenv("OPENAI_API_KEY")
    with pytest.raises(CheckerError, match="OPENAI_API_KEY"):
        checker.check(CASES, WordRetriever())


def test_the_requests_lie_in_the_store_as_they_were_sent(batching, tmp_path):
    checker, script = batching()
    found(checker)
    (path,) = (tmp_path / "llm" / "requests").glob("batch-*.jsonl")
    assert path.read_bytes() == next(iter(script.files.values()))
    first = orjson.loads(path.read_bytes().splitlines()[0])
    assert (first["method"], first["url"]) == ("POST", "/v1/chat/completions")
    found(checker)
    assert list((tmp_path / "llm" / "answers").glob("batch-*-output.jsonl"))


def test_what_a_batch_is_out_for_is_not_asked_online_too(batching, checker_for, server):
    checker, script = batching(Script(polls=3))
    found(checker)
    online = checker_for(server)
    assert found(online) == {"pending": 12}
    more = item("Mill 0 is gone.", SOURCES[0])
    assert found(online, [*CASES, more]) == {"pending": 12, "unsupported": 1}
    assert found(online)["supported"] == 12
    assert script.created == 1


def test_a_format_that_the_server_refuses_is_stepped_down_for_good(batching):
    checker, script = batching(Script(formats=("text",)))
    assert [found(checker) for _ in range(4)] == [{"pending": 12}] * 3 + [{"supported": 12}]
    asked = [orjson.loads(script.files[one["input_file_id"]].splitlines()[0]) for one in script.batches.values()]
    formats = [one["body"].get("response_format", {}).get("type", "text") for one in asked]
    assert formats == ["json_schema", "json_object", "text"]
    later = [item("Mill 9 is gone.", SOURCES[0])]
    assert [found(checker, later) for _ in range(2)] == [{"pending": 1}, {"unsupported": 1}]
    assert len(script.batches) == 4, "what was refused once is not tried again"


def test_a_batch_that_is_refused_whole_for_its_format_steps_down(batching):
    refused = [{"code": "invalid_request", "message": "json_schema is not supported", "param": None, "line": 1}]
    checker, script = batching(Script(batch_status="failed", batch_errors=refused))
    assert found(checker) == {"pending": 12}
    assert found(checker) == {"pending": 12}
    script.batch_status, script.batch_errors = "completed", []
    assert found(checker) == {"supported": 12}
    (*_, last) = script.batches.values()
    assert b'"type":"json_object"' in script.files[last["input_file_id"]]
