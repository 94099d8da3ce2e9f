"""What a model's reading cost, as a night leaves it for analysts."""

from __future__ import annotations

import duckdb
import orjson
import pytest

from tests.servers.scripted import KEY, serving
from tests.support.corpora import write_folder
from tests.support.nights import verify
from verification_pipeline.checkers.llm import money
from verification_pipeline.checkers.llm.ledger import Ledger

TEXT = "Otters and herons were seen by the weir [1].\n"
SOURCES = [{"id": "1", "n": 1, "document_id": name, "text": f"The ferry of {name} was sold."} for name in ("a", "b")]


@pytest.mark.parametrize("mode", ["online", "batch"])
def test_a_night_says_what_each_document_cost_and_an_unchanged_one_adds_nothing(tmp_path, monkeypatch, mode):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    corpus = write_folder(tmp_path / "c", {"a": TEXT, "b": TEXT}, SOURCES)
    out = tmp_path / "out"
    with serving() as server:
        rules = {"base_url": server.base_url, "model": "gpt-4.1-mini", "mode": mode, "batch_settle_seconds": 0}
        checker = {"kind": "openai", "openai": rules}
        store = verify(out, corpus, checker=checker)
        first = store.read("runs")["run_id"][0]
        for _ in range(2):
            verify(out, corpus, checker=checker)
    with Ledger(out / "llm") as ledger:
        paid = sum(one.cents for one in money.spending(ledger))
        assert money.runs_paid_since(ledger, 0.0) == [first]
    costs = store.read("costs")
    assert set(costs["run_id"]) == {first}
    assert costs["llm_pairs"].to_list() == [1, 1]
    assert costs["cents"].sum() == pytest.approx(paid)
    assert paid > 0
    with duckdb.connect(str(out / "verification.duckdb"), read_only=True) as asked:
        rows = asked.execute("SELECT run_id, corpus, documents, llm_pairs, cents FROM cost").fetchall()
    assert rows == [(first, "c", 2, 2, pytest.approx(paid))]
    if mode == "online":
        billed = [orjson.loads(text)["billing"]["price_cents"] for text in store.read_all("receipts")["receipt"]]
        assert sum(billed) == pytest.approx(paid)
