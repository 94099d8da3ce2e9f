"""What asking may cost, what it did cost, and whose documents it was for."""

from __future__ import annotations

import threading
import time
from dataclasses import replace

import pytest

from tests.builders import evidence, item
from tests.servers.scripted import Script
from verification_pipeline.checkers.llm import money
from verification_pipeline.checkers.llm.answers import Usage
from verification_pipeline.checkers.llm.ledger import Ledger
from verification_pipeline.checkers.protocol import Judgement, Run
from verification_pipeline.checkers.retrieval import WordRetriever
from verification_pipeline.config import Price
from verification_pipeline.errors import CheckerError

PRICE = Price(input=40, cached_input=10, output=160)
CASES = [
    item(f"Kiln {n} fired {k} pots.", evidence(str(n), f"Kiln {n} fired 0 pots. Kiln {n} fired 1 pots. In all {n}."))
    for n in range(8)
    for k in range(3)
]


def reasons(checker, cases=CASES):
    return [one.verdict if isinstance(one, Judgement) else one.reason for one in checker.check(cases, WordRetriever())]


def of_document(case, key):
    return replace(case, pair=replace(case.pair, document_key=key))


def test_cached_reasoning_and_batch_tokens_have_their_own_prices():
    usage = Usage(input=1_000_000, cached=400_000, output=100_000, reasoning=90_000)
    assert money.cents_of(usage, PRICE, "online") == pytest.approx(0.6 * 40 + 0.4 * 10 + 0.1 * 160)
    assert money.cents_of(usage, PRICE, "batch") == pytest.approx((0.6 * 40 + 0.4 * 10 + 0.1 * 160) / 2)
    assert money.cents_of(usage, None, "online") is None
    assert money.cents_of(usage, None, "offline-file") == 0


def test_an_estimate_sends_nothing_and_comes_close(serve, checker_for, tmp_path):
    server = serve()
    checker = checker_for(server)
    before = checker.estimate(CASES, WordRetriever())
    assert (before.pairs, before.answered, before.requests) == (24, 0, 8)
    assert server.script.requests == []
    reasons(checker)
    with Ledger(tmp_path / "llm") as ledger:
        (spent,) = money.spending(ledger)
    assert before.requests == spent.requests
    assert before.input_tokens == pytest.approx(spent.input_tokens, rel=0.3), "the server counts four bytes a token"
    after = checker.estimate(CASES, WordRetriever())
    assert (after.answered, after.requests, after.cents) == (24, 0, 0)


def test_an_estimate_needs_no_key_and_says_when_there_is_no_price(serve, checker_for, monkeypatch):
    checker = checker_for(serve(), model="somebody's own")
    monkeypatch.delenv("OPENAI_API_KEY")
    assert checker.estimate(CASES, WordRetriever()).cents is None


def test_a_budget_without_a_price_is_refused(serve, checker_for):
    with pytest.raises(CheckerError, match="prices"):
        reasons(checker_for(serve(), model="somebody's own", budget_cents=10))


@pytest.mark.parametrize("mode", ["online", "batch"])
def test_a_budget_stops_cleanly_and_is_never_passed(serve, checker_for, tmp_path, mode):
    server = serve()
    checker = checker_for(server, mode=mode, concurrency=4)
    whole = checker.estimate(CASES, WordRetriever()).cents
    checker = checker_for(server, mode=mode, concurrency=4, budget_cents=whole * 0.6, run=Run("night", 0))
    found = reasons(checker)
    assert found.count("budget") >= 6
    assert len(found) - found.count("budget") >= 3
    assert set(found) <= ({"budget", "pending"} if mode == "batch" else {"budget", "supported", "unsupported"})
    found = reasons(checker)
    assert "budget" in found, "a collected batch frees what was reserved in excess; it is used, and no more"
    with Ledger(tmp_path / "llm") as ledger:
        assert sum(one.cents + one.possibly for one in money.spending(ledger, "night")) <= whole * 0.6
    richer = checker_for(server, mode=mode, run=Run("next night", 0))
    reasons(richer)
    assert "budget" not in reasons(richer)
    assert max(server.script.asked.values()) == 1, "what was answered under the budget is not paid again"


def test_processes_share_one_budget(serve, checker_for, tmp_path):
    server = serve(Script(delay=0.01))
    whole = checker_for(server).estimate(CASES, WordRetriever()).cents
    checker = checker_for(server, concurrency=2, budget_cents=whole * 0.5, run=Run("night", 0))
    threads = [threading.Thread(target=reasons, args=(checker, CASES[k::3])) for k in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with Ledger(tmp_path / "llm") as ledger:
        assert 0 < sum(one.cents for one in money.spending(ledger, "night")) <= whole * 0.5


def test_shared_requests_are_allocated_to_documents_without_remainder(serve, checker_for, tmp_path):
    """Document a asks three pairs of a source, b two of the same; c asks one that a asks too."""
    server = serve(Script(fault=lambda number, _: "not-json" if number == 0 else None))
    first, second, third = CASES[:3]
    asked = [of_document(one, "a") for one in CASES[:6]] + [of_document(one, "b") for one in CASES[6:8]]
    asked.append(of_document(first, "c"))
    checker = checker_for(server, run=Run("night", 0), concurrency=1)  # so that the one that fails is a's
    reasons(checker, asked)
    with Ledger(tmp_path / "llm") as ledger:
        costs = money.allocated(ledger)
        total = sum(one.cents for one in money.spending(ledger, "night"))
        assert money.spending(ledger, "another night") == []
        ended = time.time()
        assert money.allocated(ledger, since=ended) == {}
    assert {key: cost.llm_pairs for key, cost in costs.items()} == {"a": 6, "b": 2, "c": 1}
    assert sum(cost.cents for cost in costs.values()) == pytest.approx(total)
    assert costs["a"].cents > costs["b"].cents > costs["c"].cents > 0
    reasons(checker_for(server, run=Run("next", 1)), [of_document(second, "d"), of_document(third, "d")])
    with Ledger(tmp_path / "llm") as ledger:
        assert money.allocated(ledger, since=ended) == {}, "who finds an answer pays nothing"


def test_a_batch_is_paid_by_the_night_in_which_it_comes_back(serve, checker_for, tmp_path):
    server = serve()
    reasons(checker_for(server, mode="batch", run=Run("first", 0)))
    with Ledger(tmp_path / "llm") as ledger:
        assert all(cost.cents == 0 for cost in money.allocated(ledger).values())
        ended = time.time()
    reasons(checker_for(server, mode="batch", run=Run("second", ended)))
    with Ledger(tmp_path / "llm") as ledger:
        (spent,) = money.spending(ledger, "second", ended)
        assert sum(cost.cents for cost in money.allocated(ledger, since=ended).values()) == pytest.approx(spent.cents)
        assert spent.cents > 0


def test_cached_and_reasoning_tokens_are_kept_apart(serve, checker_for, tmp_path):
    reasons(checker_for(serve(Script(cached=128))))
    with Ledger(tmp_path / "llm") as ledger:
        (spent,) = money.spending(ledger)
    assert (spent.requests, spent.cached_tokens, spent.reasoning_tokens) == (8, 8 * 128, 8 * 3)
    assert spent.possibly == 0
