from __future__ import annotations

import json
import shutil
import sqlite3
import sys
from contextlib import closing
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path

import polars as pl
import pytest

from tests.support import stores
from tests.support.corpora import MILL, PIER, SOURCES, write_folder
from tests.support.nights import verify
from verification_pipeline import cli
from verification_pipeline.checkers.llm.ledger import Ledger
from verification_pipeline.errors import UsageError
from verification_pipeline.operations import health
from verification_pipeline.operations.pruning import prune
from verification_pipeline.receipts.verify import verify_receipt
from verification_pipeline.store import Store

FIRST, SECOND, THIRD = (date(2026, 11, day) for day in (1, 11, 21))


def dated(store, days):
    """Give the runs, oldest first, other days, and every receipt that of its run."""
    runs = store.read("runs").sort("started_at")
    moved = {
        run: timedelta(days=(day - night).days)
        for run, night, day in zip(runs["run_id"], runs["night"], days, strict=True)
    }
    by = pl.col("run_id").replace_strict(moved, return_dtype=pl.Duration("us"))
    store.write("runs", runs.with_columns(night=pl.col("night") + by, started_at=pl.col("started_at") + by,
                                          finished_at=pl.col("finished_at") + by))  # fmt: skip
    for shard in range(store.shards):
        receipts = store.read("receipts", shard)
        if receipts.height:
            store.write("receipts", receipts.with_columns(created_at=pl.col("created_at") + by), shard)


def night(root, pier, sources=SOURCES, mill=MILL):
    documents = {"pier": pier} | ({"mill": mill} if mill else {})
    write_folder(root / "harbour", documents, sources)
    if not mill:
        (root / "harbour" / "documents" / "mill.md").unlink(missing_ok=True)
    return verify(root / "out", root / "harbour")


@pytest.fixture(scope="module")
def three_nights(tmp_path_factory) -> Path:
    """Three nights: a source of the pier drifts twice, the mill is gone after the second."""
    root = tmp_path_factory.mktemp("nights")
    night(root, PIER)
    night(root, PIER, [{**SOURCES[0], "text": "Closed in winter."}, *SOURCES[1:]])
    store = night(root, PIER, [{**SOURCES[0], "text": "Closed for ever."}, *SOURCES[1:]], mill=None)
    dated(store, (FIRST, SECOND, THIRD))
    return root


@pytest.fixture
def store(three_nights, tmp_path) -> Store:
    """A copy of that store, its corpus beside it."""
    shutil.copytree(three_nights, tmp_path, dirs_exist_ok=True)
    return Store.open(tmp_path / "out", create=False)


def heads(store):
    """(document, day, current) of every receipt."""
    found = store.read_all("receipts").with_columns(name=pl.col("receipt").str.json_path_match("$.document_id"))
    return sorted(found.select("name", pl.col("created_at").dt.date(), "current").rows())


def sound(store):
    """Every receipt that is left can be verified, tables are whole, and the DuckDB file agrees with them."""
    receipts = [json.loads(one) for one in store.read_all("receipts")["receipt"]]
    receipts += [json.loads(path.read_text()) for path in (store.root / "receipts").glob("*.json")]
    assert [fault for one in receipts for fault in verify_receipt(one, store.text)] == []
    assert [one.outcome for probe in (health.tables, health.texts) for one in probe(store)] == ["ok", "ok"]
    assert not stores.faults(store.root)
    assert not stores.duckdb_faults(store.root)


def held(store, words):
    return sum(words in text for shard in range(store.shards) for _, text in store.iterate_texts(shard))


def test_the_last_night_alone(store):
    assert heads(store) == [
        ("mill", FIRST, False), ("pier", FIRST, False), ("pier", SECOND, False), ("pier", THIRD, True),
    ]  # fmt: skip
    done = prune(store, keep_nights=1)
    assert done.before == THIRD
    assert {name: count for name, count in done.rows.items() if name != "metrics"} == {
        "receipts": 1, "texts": 1, "changes": store_changes(store, done), "costs": 0, "runs": 2,
    }  # fmt: skip
    # the mill went in the last night: what it said before is what that night's change is about
    assert heads(store) == [("mill", FIRST, False), ("pier", SECOND, False), ("pier", THIRD, True)]
    assert held(store, "120 m long. In 1953") == 0
    assert held(store, "three tonnes of flour") == 2
    assert store.read("runs")["night"].to_list() == [THIRD]
    assert set(store.read("metrics")["run_id"]) == set(store.read("runs")["run_id"])
    assert len(list((store.root / "receipts").glob("*.json"))) == 2
    sound(store)


def store_changes(store, done):
    return done.rows["changes"] if store.read("changes")["run_id"].n_unique() == 1 else -1


def test_a_document_that_was_gone_by_then_goes_with_its_files(store, tmp_path):
    verify(tmp_path / "out", tmp_path / "harbour", checker={"kind": "none"})
    assert prune(store, keep_nights=2, dry_run=True).files == 0
    done = prune(store, keep_nights=1)
    assert done.files == 1
    assert [name for name, _, _ in heads(store)] == ["pier", "pier"]
    assert [path.name[:12] for path in (store.root / "receipts").iterdir()] == ["harbour-pier"]
    assert held(store, "Nobody knows who built it") == 0
    sound(store)


def test_nights_before_a_day(store):
    assert prune(store, before=FIRST).rows["runs"] == 0
    assert prune(store, before=SECOND).rows["runs"] == 1
    assert prune(store, before=date(2030, 1, 1)).before == THIRD
    assert store.read("runs")["night"].to_list() == [THIRD]
    sound(store)


def test_a_dry_run_says_exactly_what_goes_and_changes_nothing(store):
    before = {path: path.read_bytes() for path in store.root.rglob("*") if path.is_file() and path.name[0] != "."}
    told = prune(store, keep_nights=1, dry_run=True)
    assert {path: path.read_bytes() for path in before} == before
    text = [text for shard in range(store.shards) for _, text in store.iterate_texts(shard) if "In 1953" in text]
    receipt = store.read_all("receipts").sort("created_at").filter(~pl.col("current"))["receipt"]
    first = next(one for one in receipt if '"document_id":"pier"' in one)
    assert told.bytes == sum(len(one.encode()) for one in (*text, first))
    assert prune(store, keep_nights=1) == told
    again = prune(store, keep_nights=1)
    assert (sum(again.rows.values()), again.files, again.bytes) == (0, 0, 0)


def test_the_next_night_finds_nothing_to_do(store, tmp_path):
    prune(store, keep_nights=1)
    digests = stores.digests(store.root)
    receipts = {path: path.read_bytes() for path in (store.root / "receipts").iterdir()}
    again = verify(tmp_path / "out", tmp_path / "harbour")
    assert again.read("changes").filter(run_id=again.read("runs").sort("started_at")["run_id"][-1]).height == 0
    assert stores.digests(store.root) == digests
    assert {path: path.read_bytes() for path in receipts} == receipts


@pytest.mark.parametrize("step", range(8))
def test_a_prune_that_is_killed_is_taken_up_by_the_next(store, monkeypatch, step):
    """Killed before its nth change to the disk, pruned again: the store is the one that an undisturbed prune leaves."""
    calls = []

    def counted(method):
        def acts(*arguments, **named):
            calls.append(method)
            if len(calls) == step + 1:
                raise KeyboardInterrupt
            return method(*arguments, **named)

        return acts

    with monkeypatch.context() as killed:
        killed.setattr(Store, "write", counted(Store.write))
        killed.setattr(Path, "replace", counted(Path.replace))
        killed.setattr(Path, "unlink", counted(Path.unlink))
        try:
            prune(store, keep_nights=1)
        except KeyboardInterrupt:
            pass
        else:
            pytest.fail("there are fewer changes than this")
    prune(store, keep_nights=1)
    assert heads(store) == [("mill", FIRST, False), ("pier", SECOND, False), ("pier", THIRD, True)]
    assert held(store, "120 m long. In 1953") == 0
    assert store.read("runs").height == 1
    assert not stores.leftovers(store.root)
    sound(store)


def test_copies_that_a_killed_prune_left_go_with_the_next(store):
    shard = next(shard for shard in range(store.shards) if len(store.text_parts(shard)) > 1)
    part = store.text_parts(shard)[0]
    (part.parent / "copy.parquet").write_bytes(part.read_bytes())
    prune(store, keep_nights=3)
    hashes = [sha for sha, _ in store.iterate_texts(shard)]
    assert len(hashes) == len(set(hashes))
    sound(store)


def test_answers_that_nothing_refers_to_go_and_are_only_counted_before(store):
    with Ledger(store.root / "llm"):
        pass
    rows = [("used", 1, FIRST), ("unused", 2, FIRST), ("young", 3, THIRD)]
    with closing(sqlite3.connect(store.root / "llm" / "ledger.sqlite")) as db, db:
        for key, number, day in rows:
            at = datetime.combine(day, time(9), UTC).timestamp()
            db.execute(
                "INSERT INTO requests (id, request_key, run, mode, model, state, sent_at, done_at, expected_cents)"
                " VALUES (?, ?, 'r', 'online', 'm', 'done', ?, ?, 0)",
                (number, key, at, at),
            )
            db.execute("INSERT INTO answers (key, request, at) VALUES (?, ?, ?)", (key, number, at))
    shard = next(shard for shard in range(store.shards) if store.read("verdicts", shard).height)
    store.write("verdicts", store.read("verdicts", shard).with_columns(request_key=pl.lit("used")), shard)
    for dry_run in (True, False):
        rows = prune(store, keep_nights=1, dry_run=dry_run).rows
        assert (rows["llm answers"], rows["llm requests"]) == (1, 1)
    with Ledger(store.root / "llm") as ledger:
        assert sorted(ledger.read("SELECT request_key FROM requests")) == [("used",), ("young",)]


def test_what_is_asked_must_make_sense(store, tmp_path):
    for wrong in ({}, {"keep_nights": 1, "before": FIRST}, {"keep_nights": 0}):
        with pytest.raises(UsageError, match="say what to keep"):
            prune(store, **wrong)
    assert prune(Store.open(tmp_path / "new"), keep_nights=1).before is None


def test_the_command(store, monkeypatch, capsys):
    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["verification-pipeline", "prune", "--out", str(store.root), *arguments])
        with pytest.raises(SystemExit, match=r"^0$"):
            cli.main()
        return capsys.readouterr().out

    told = run("--keep-nights", "1", "--dry-run")
    assert told.startswith("Would let go of nights before 2026-11-21: rows 1 receipts, 1 texts, ")
    assert json.loads(run("--before", "2026-11-21", "--json"))["rows"]["runs"] == 2
    assert "0 runs" in run("--keep-nights", "1")
