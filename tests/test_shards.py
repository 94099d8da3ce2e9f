from __future__ import annotations

import multiprocessing
import os
import signal
import time
from dataclasses import dataclass
from types import SimpleNamespace

import polars as pl
import pytest

from verification_pipeline import tables
from verification_pipeline.config import Settings
from verification_pipeline.errors import WorkerLost
from verification_pipeline.shards import Scope, Work, Workers, engine, read_fingerprints, run_stage, workers
from verification_pipeline.store import Store

SCOPE = Scope({"c": Settings()})


def document(key, sha="t1"):
    fields = {column.name: None for column in tables.TABLES["documents"].columns}
    return SimpleNamespace(
        **{**fields, "document_key": key, "corpus": "c", "document_id": key, "status": "ok"}
        | {"text_sha256": sha, "n_chars": 1, "file": key}
    )


@dataclass(frozen=True)
class Numbers:
    """A stage that writes one row a document, saying in which text it was read."""

    name: str = "numbers"
    tables: tuple[str, ...] = ("uncited_numbers",)
    unfinished: tuple[str, ...] = ()
    broken: bool = False

    def survey(self, store, scope, shard):
        return [
            Work(key, {"document": sha}, key in self.unfinished)
            for key, sha in store.read("documents", shard).select("document_key", "text_sha256").iter_rows()
        ]

    def compute(self, store, scope, shard, keys):
        if self.broken:
            raise RuntimeError("killed")
        shas = dict(store.read("documents", shard).select("document_key", "text_sha256").iter_rows())
        rows = [SimpleNamespace(document_key=key, start=0, end=1, number=shas[key]) for key in keys]
        return {"uncited_numbers": tables.frame("uncited_numbers", rows)}


@pytest.fixture
def store(tmp_path):
    store = Store.open(tmp_path / "out", shards=2)
    store.write("documents", tables.frame("documents", [document("a"), document("b")]), 0)
    store.write("documents", tables.frame("documents", [document("z")]), 1)
    return store


def run(store, stage=Numbers(), scope=SCOPE, pool=Workers(None)):
    return run_stage(stage, store, scope, pool, lambda *_: None)


def numbers(store):
    return dict(store.read_all("uncited_numbers").select("document_key", "number").iter_rows())


def test_only_what_moved_is_recomputed(store):
    report = run(store)
    assert (report.recomputed, report.kept, report.rows["uncited_numbers"]) == (3, 0, 3)
    files = {path: path.stat().st_mtime_ns for path in store.files("uncited_numbers")}
    report = run(store)
    assert (report.recomputed, report.kept) == (0, 3)
    assert {path: path.stat().st_mtime_ns for path in store.files("uncited_numbers")} == files
    store.write("documents", tables.frame("documents", [document("a", "t2"), document("b")]), 0)
    assert run(store).recomputed == 1
    assert numbers(store) == {"a": "t2", "b": "t1", "z": "t1"}


def test_a_document_that_is_gone_takes_its_rows_along(store):
    run(store)
    store.write("documents", tables.frame("documents", [document("b")]), 0)
    assert run(store).removed == 1
    assert numbers(store) == {"b": "t1", "z": "t1"}
    assert set(read_fingerprints(store, "numbers", 0)) == {"b"}


def test_open_rows_are_taken_up_again_and_recheck_takes_all(store):
    run(store)
    assert run(store, Numbers(unfinished=("b",))).recomputed == 1
    assert run(store, scope=Scope({"c": Settings()}, recheck=True)).recomputed == 3


def test_a_run_killed_before_its_fingerprints_repeats_and_doubles_nothing(store):
    stage = Numbers()
    store.write("uncited_numbers", stage.compute(store, SCOPE, 0, ["a", "b"])["uncited_numbers"], 0)
    run(store)
    assert store.read_all("uncited_numbers").height == 3


def test_an_error_in_a_stage_leaves_the_tables_as_they_were(store):
    run(store)
    store.write("documents", tables.frame("documents", [document("a", "t2"), document("b")]), 0)
    with pytest.raises(RuntimeError, match="killed"):
        run(store, Numbers(broken=True))
    assert numbers(store) == {"a": "t1", "b": "t1", "z": "t1"}
    run(store)
    assert numbers(store)["a"] == "t2"


def test_workers_give_what_one_process_gives(store, tmp_path):
    run(store)
    other = Store.open(tmp_path / "other", shards=2)
    for shard in range(2):
        other.write("documents", store.read("documents", shard), shard)
    with workers(2) as pool:
        run(other, pool=pool)
    for one, two in zip(store.files("uncited_numbers"), other.files("uncited_numbers"), strict=True):
        assert one.read_bytes() == two.read_bytes()


def test_the_engine_moves_with_the_code():
    assert engine("keys") == engine("keys")
    assert engine("keys") != engine("keys", "sampling")
    assert engine("corpus") != engine("citations")


def test_engines_name_code_that_exists():
    with pytest.raises(FileNotFoundError, match="nowhere"):
        engine("nowhere")


def test_frames_of_a_stage_are_checked(store):
    @dataclass(frozen=True)
    class Wrong(Numbers):
        def compute(self, store, scope, shard, keys):
            return {"uncited_numbers": tables.empty("uncited_numbers").with_columns(x=pl.lit(1))}

    with pytest.raises(pl.exceptions.PolarsError):
        run(store, Wrong())


BALLAST = ["x" * 200_000] * 20
"""More than the pipe to the workers holds: whoever fills it must not wait for workers that are gone."""


def die(*_job):
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_worker_that_is_killed_is_one_clear_error():
    with workers(2) as pool, pytest.raises(WorkerLost, match="run again"):
        list(pool.map(die, range(20), BALLAST))


def nap(seconds, _ballast):
    time.sleep(seconds)


def interrupted():
    with workers(2) as pool:
        for _ in pool.map(nap, [0, *[10_000] * 19], BALLAST):
            raise KeyboardInterrupt


def test_an_interruption_ends_workers_at_whatever_they_are():
    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert not multiprocessing.active_children()


def masked(_job):
    return signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, ())


def test_workers_leave_an_interruption_to_the_command():
    with workers(2) as pool:
        assert list(pool.map(masked, [1, 2, 3])) == [True] * 3
    assert not masked(1)


def test_a_document_that_vanishes_after_a_kill_takes_its_rows_along(store):
    @dataclass(frozen=True)
    class Killed(Numbers):
        def survey(self, store, scope, shard):
            if store.files("uncited_numbers"):
                raise RuntimeError("killed before the fingerprints")
            return super().survey(store, scope, shard)

    with pytest.raises(RuntimeError, match="killed"):
        run(store, Killed())
    store.write("documents", tables.frame("documents", [document("b")]), 0)
    run(store)
    assert numbers(store) == {"b": "t1", "z": "t1"}
