from __future__ import annotations

import json
import sys
from pathlib import Path

import polars as pl
import pytest

from tests.support import stores
from tests.support.corpora import PIER, SOURCES, harbour, write_folder
from tests.support.nights import verify
from verification_pipeline import cli, swap
from verification_pipeline.errors import UsageError
from verification_pipeline.operations import health
from verification_pipeline.operations.resharding import reshard
from verification_pipeline.receipts.verify import verify_receipt
from verification_pipeline.store import Store
from verification_pipeline.tables import TABLES


def rows_by_table(store):
    """Every row of every table; where a source lies is the only thing that a reshard changes."""
    found = {}
    for name, path in stores.parquet_files(store.root).items():
        table = stores.table_of(name)
        data = pl.read_parquet(path).drop("source_shard", strict=False)
        if table == "fingerprints":
            data = data.filter(pl.col("key") != "*")  # not about one document: of the shard, or of the archive
        found.setdefault(table, []).extend(map(repr, data.rows()))
    return {name: sorted(set(rows) if name == "texts" else rows) for name, rows in found.items() if rows}


@pytest.mark.parametrize("shards", [1, 4, 5, 64])
def test_every_row_moves_and_none_is_made_again(verified, store, shards):
    before = rows_by_table(store)
    done = reshard(store, shards)
    assert (done.shards_before, done.shards) == (16, shards)
    moved = Store.open(store.root)
    assert moved.shards == shards
    assert rows_by_table(moved) == before
    assert not stores.faults(moved.root)
    assert not stores.duckdb_faults(moved.root)
    assert [one.outcome for probe in (health.tables, health.texts) for one in probe(moved)] == ["ok", "ok"]
    files = {path: path.stat().st_mtime_ns for path in stores.parquet_files(moved.root).values()}
    verify(moved.root, verified / "harbour")
    again = {path: path.stat().st_mtime_ns for path in stores.parquet_files(moved.root).values()}
    # of documents nothing is made again; what is compared across the archive is looked at once more, and stays
    stages = ("reading", "selection", "grading", "receipts")
    untouched = {path for path in again if path.stem.isdigit() and path.parent.name in {*moved_tables(), *stages}}
    assert {str(path) for path in untouched if again[path] != files.get(path)} == set()
    nightly = {"runs", "metrics", "changes"}
    after = rows_by_table(moved)
    assert {name: rows for name, rows in after.items() if name not in nightly} == {
        name: rows for name, rows in before.items() if name not in nightly
    }


def moved_tables():
    return {name for name, table in TABLES.items() if table.partitioning == "document"}


def test_it_is_the_store_that_a_first_night_would_have_made(store, tmp_path, verified):
    reshard(store, 3)
    verify(store.root, verified / "harbour")
    fresh = verify(tmp_path / "fresh", verified / "harbour", storage={"shards": 3})
    ours, theirs = filled(store.root), filled(fresh.root)
    assert ours == theirs
    for shard in range(3):
        assert dict(store_texts(store.root, shard)) == dict(store_texts(fresh.root, shard))


def filled(root):
    """What a store holds, files without rows and the texts' parts (their names tell the order of arrival) left out."""
    empty = {name for name, path in stores.parquet_files(root).items() if not pl.read_parquet(path).height}
    found = stores.results(root)
    return {name: body for name, body in found.items() if name not in empty and not name.startswith("tables/texts")}


def store_texts(root, shard):
    return Store.open(root).iterate_texts(shard)


def test_receipts_of_earlier_nights_keep_their_texts(tmp_path):
    corpus = harbour(tmp_path / "harbour")
    verify(tmp_path / "out", corpus)
    old = [json.loads(path.read_text()) for path in sorted((tmp_path / "out" / "receipts").glob("*.json"))]
    write_folder(corpus, {"pier": PIER.replace("1911", "1912")}, [{**SOURCES[0], "text": "Closed."}, *SOURCES[1:]])
    (corpus / "documents" / "mill.md").unlink()
    store = verify(tmp_path / "out", corpus)
    for shards in (7, 2, 16):
        reshard(store, shards)
        store = Store.open(tmp_path / "out")
        assert [fault for receipt in old for fault in verify_receipt(receipt, store.text)] == []


def test_a_number_that_cannot_be(store):
    for shards in (0, -1, 4_096):
        with pytest.raises(UsageError, match="use 1 to 1024"):
            reshard(store, shards)
    assert reshard(store, 16).rows == 0


STEPS = ("tables aside", "tables in place", "manifest in place")


@pytest.mark.parametrize("step", range(len(STEPS)), ids=STEPS)
def test_a_kill_during_the_swap_is_completed_by_whoever_comes_next(store, monkeypatch, step):
    before = rows_by_table(store)
    calls = []

    def counted(method):
        def renames(self, target):
            if ".swap" in (self.name, self.parent.name, Path(target).parent.name):
                calls.append(self)
                if len(calls) == step + 1:
                    raise KeyboardInterrupt
            return method(self, target)

        return renames

    with monkeypatch.context() as killed:
        killed.setattr(Path, "rename", counted(Path.rename))
        killed.setattr(Path, "replace", counted(Path.replace))
        killed.setattr(swap, "folder", lambda root: root / ".swap")
        with pytest.raises(KeyboardInterrupt):
            reshard(store, 3)
    opened = Store.open(store.root)
    assert opened.shards in (3, 16)
    assert rows_by_table(opened) == before
    with opened.locked():
        pass
    assert not (store.root / ".swap").exists()


def test_a_kill_before_the_swap_leaves_the_old_store(store, monkeypatch):
    before = stores.results(store.root)

    def dies(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(swap, "carry_out", dies)
    monkeypatch.setattr(Store, "write_manifest", dies)
    with pytest.raises(KeyboardInterrupt):
        reshard(store, 3)
    monkeypatch.undo()
    opened = Store.open(store.root)
    assert opened.shards == 16
    assert stores.results(store.root) == before
    with opened.locked():
        pass
    assert not (store.root / ".swap").exists()


def test_the_command(store, monkeypatch, capsys, verified):
    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["verification-pipeline", *map(str, arguments), "--out", str(store.root)])
        try:
            cli.main()
            status = 0
        except SystemExit as ended:
            status = ended.code
        said = capsys.readouterr()
        return status, said.out + said.err

    assert run("reshard", "--shards", 4)[1].endswith("texts from 16 shards to 4.\n")
    assert run("reshard", "--shards", 4) == (0, "The store has 4 shards already.\n")
    settings = store.root.parent / "settings.toml"
    settings.write_text("[storage]\nshards = 16\n")
    status, said = run("run", verified / "harbour", "--config", settings)
    assert status == 2
    assert f"run `verification-pipeline reshard --out {store.root} --shards 16`" in said
