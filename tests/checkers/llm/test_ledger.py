"""Answers kept by key, and processes that share them."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sqlite3
import threading
import time

import pytest

from tests.builders import evidence, item
from tests.servers.scripted import Script
from verification_pipeline.checkers.llm.ledger import Ledger
from verification_pipeline.checkers.protocol import Judgement, Run
from verification_pipeline.checkers.retrieval import WordRetriever
from verification_pipeline.errors import StoreError

CASES = [item(f"Lock {n} has {n} gates.", evidence(str(n), f"Lock {n} has {n} gates.")) for n in range(12)]


def found(checker, cases=CASES):
    return [one.verdict if isinstance(one, Judgement) else one.reason for one in checker.check(cases, WordRetriever())]


def test_identical_work_is_asked_once_across_documents(serve, checker_for):
    server = serve()
    again = [item(one.pair.claim, evidence(f"other {n}", one.evidence.body.text)) for n, one in enumerate(CASES)]
    assert found(checker_for(server), CASES + again) == ["supported"] * 24
    assert len(server.script.requests) == 12
    assert max(server.script.asked.values()) == 1


@pytest.mark.parametrize(
    "change",
    [
        {"model": "another-model"},
        {"parameters": {"temperature": 0.5}},
        {"answer_format": "text"},
        {"answer_tokens_per_pair": 300},
    ],
)
def test_whatever_can_change_an_answer_changes_its_key(serve, checker_for, change):
    server = serve()
    found(checker_for(server))
    first = checker_for(server).identity
    changed = checker_for(server, **change)
    found(changed)
    assert len(server.script.requests) == 24
    assert changed.identity != first


@pytest.mark.parametrize(
    "change", [{"concurrency": 3}, {"pairs_per_request": 2}, {"budget_cents": 1000.0}, {"prices": {}}]
)
def test_what_cannot_change_an_answer_keeps_its_key(serve, checker_for, change):
    server = serve()
    found(checker_for(server))
    found(checker_for(server, **change))
    assert len(server.script.requests) == 12
    assert checker_for(server, **change).identity == checker_for(server).identity


@pytest.mark.parametrize("change", [{"max_source_tokens": 500}, {"candidates": 1}, {"min_evidence_words": 1}])
def test_what_changes_only_the_choice_is_judged_anew_and_asked_where_the_choice_differs(serve, checker_for, change):
    server = serve()
    found(checker_for(server))
    changed = checker_for(server, **change)
    assert found(changed) == ["supported"] * 12
    assert len(server.script.requests) == 12
    assert changed.identity != checker_for(server).identity


def test_recheck_asks_again_on_purpose_and_once(serve, checker_for):
    server = serve()
    found(checker_for(server))
    again = checker_for(server, run=Run("again", time.time(), recheck=True))
    assert found(again) == ["supported"] * 12
    assert len(server.script.requests) == 24
    found(again)
    assert len(server.script.requests) == 24, "what this run asked is answered"


def test_two_processes_never_ask_the_same_thing(serve, checker_for):
    server = serve(Script(delay=0.05))
    results = []
    threads = [threading.Thread(target=lambda: results.append(found(checker_for(server)))) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [["supported"] * 12] * 3
    assert max(server.script.asked.values()) == 1


def _ask_and_hang(checker, ready):
    ready.set()
    checker.check(CASES, WordRetriever())


def test_claims_of_a_killed_process_are_void(serve, checker_for, tmp_path):
    script = Script(delay=30)
    server = serve(script)
    context = multiprocessing.get_context("spawn")
    ready = context.Event()
    process = context.Process(target=_ask_and_hang, args=(checker_for(server, timeout_seconds=60), ready))
    process.start()
    assert ready.wait(30)
    deadline = time.monotonic() + 30
    while len(script.requests) < 12 and time.monotonic() < deadline:
        time.sleep(0.02)
    os.kill(process.pid, signal.SIGKILL)
    process.join()
    script.delay = 0
    assert found(checker_for(server)) == ["supported"] * 12
    with Ledger(tmp_path / "llm") as ledger:
        states = dict(ledger.read("SELECT state, COUNT(*) FROM requests GROUP BY state"))
        assert states == {"lost": 12, "answered": 12}
        ((possibly,),) = ledger.read("SELECT SUM(cents) FROM runs")
        assert possibly > 0, "what the lost ones may have cost stays counted"


def test_many_open_and_close_a_fresh_ledger_at_once(tmp_path):
    faults = []

    def use(folder):
        try:
            with Ledger(folder) as ledger:
                ledger.add_batch("batch")
        except StoreError as error:
            faults.append(error)

    for n in range(10):
        threads = [threading.Thread(target=use, args=(tmp_path / str(n),)) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        with Ledger(tmp_path / str(n)) as ledger:
            assert ledger.read("SELECT COUNT(*) FROM batches") == [(8,)]
    assert faults == []


def test_a_ledger_of_another_format_is_refused(tmp_path):
    Ledger(tmp_path).close()
    with sqlite3.connect(tmp_path / "ledger.sqlite") as db:
        db.execute("PRAGMA user_version=99")
    db.close()
    with pytest.raises(StoreError, match="format 99"):
        Ledger(tmp_path)


def test_a_folder_that_cannot_be_written_is_one_line(tmp_path):
    (tmp_path / "llm").write_text("a file")
    with pytest.raises(StoreError, match="cannot be opened"):
        Ledger(tmp_path / "llm")


def test_what_was_sent_and_what_came_back_lies_in_the_store(serve, checker_for, tmp_path):
    found(checker_for(serve()))
    for folder in ("requests", "answers"):
        (path,) = (tmp_path / "llm" / folder).glob("online-*.jsonl")
        assert len(path.read_bytes().splitlines()) == 12


def test_pruning_drops_what_no_kept_verdict_refers_to(serve, checker_for, tmp_path):
    server = serve()
    outcomes = checker_for(server).check(CASES[:6], WordRetriever())
    kept = {one.request_key for one in outcomes[:4]}
    with Ledger(tmp_path / "llm") as ledger:
        nothing = ledger.prune(set(), before=0.0)
        assert (nothing.answers, nothing.requests) == (0, 0), "younger than the day given"
        spent = ledger.read("SELECT SUM(cents) FROM runs")
        gone = ledger.prune(kept, time.time() + 1)
        assert (gone.answers, gone.requests) == (2, 2)
        assert ledger.read("SELECT SUM(cents) FROM runs") == spent
        for table in ("requests", "questions", "askers", "answers"):
            assert ledger.read(f"SELECT COUNT(*) FROM {table}") == [(4,)]
    assert found(checker_for(server), CASES[:6]) == ["supported"] * 6
    assert len(server.script.requests) == 8, "only what was dropped is asked again"


def test_pruning_leaves_what_is_out(serve, checker_for, tmp_path):
    server = serve(Script(polls=9))
    assert set(found(checker_for(server, mode="batch"))) == {"pending"}
    with Ledger(tmp_path / "llm") as ledger:
        gone = ledger.prune(set(), time.time() + 1)
        assert (gone.answers, gone.requests) == (0, 0)
    assert set(found(checker_for(server, mode="batch"))) == {"pending"}
    assert server.script.created == 1


def test_a_ledger_of_the_format_before_is_brought_up_to_date(serve, checker_for, tmp_path):
    server = serve()
    assert found(checker_for(server)) == ["supported"] * 12
    with sqlite3.connect(tmp_path / "llm" / "ledger.sqlite") as db:
        db.executescript("ALTER TABLE batches DROP COLUMN answer_format; DROP TABLE formats; PRAGMA user_version=1;")
    assert found(checker_for(server)) == ["supported"] * 12
    assert len(server.script.requests) == 12
