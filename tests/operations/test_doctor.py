from __future__ import annotations

import http.server
import json
import os
import sqlite3
import sys
import threading
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import polars as pl
import pytest

from tests.support import dyes
from tests.support.corpora import MILL, harbour
from tests.support.holders import held
from tests.support.nights import verify
from verification_pipeline import cli, config
from verification_pipeline.operations import health, machine, reach, staleness
from verification_pipeline.operations.doctor import examine
from verification_pipeline.operations.findings import told
from verification_pipeline.store import Store


def said(findings):
    """subject → (outcome, what was found, advice)"""
    return {one.subject: (one.outcome, one.found, one.advice) for one in findings}


def outcome(findings):
    [one] = findings
    assert (one.advice is None) == (one.outcome == "ok")
    return one.outcome, one.found


def test_a_sound_store_is_ok_in_every_respect(store):
    found = list(examine(store.root, {}, online=False))
    assert {one.subject for one in found if one.outcome != "ok"} <= {"registers", "memory", "versions"}
    assert said(found)["registers"][:2] == ("warning", "none is configured")
    assert [one.subject for one in found if one.outcome == "ok" and one.advice] == []


def test_an_examination_changes_nothing(store):
    def files():
        kept = {path: path.stat().st_mtime_ns for path in store.root.rglob("*") if path.name != ".lock"}
        return {path: stamp for path, stamp in kept.items() if path != store.root}

    before = files()
    list(examine(store.root, {}, online=False))
    assert files() == before


def test_before_the_first_night(tmp_path):
    found = said(examine(tmp_path / "out", {}, online=False))
    assert found["store"] == ("warning", f"{tmp_path / 'out'} holds no store yet", "run")
    assert not (tmp_path / "out").exists()


# ---- the machine


def test_a_library_outside_its_range_is_named(monkeypatch):
    monkeypatch.setattr(machine.metadata, "requires", lambda _: ["polars<1", "no-such-library>=3", "x; extra == 'dev'"])
    kind, words = outcome(machine.versions())
    assert kind == "failed"
    assert f"polars {pl.__version__} is outside <1" in words
    assert "no-such-library is not installed" in words


@pytest.mark.parametrize(("free", "kind"), [(10**12, "ok"), (1_700_000_000, "warning"), (1, "warning")])
def test_memory_is_held_against_the_workers(monkeypatch, free, kind):
    monkeypatch.setattr(machine, "cores", lambda: 4)
    [found] = machine.processors(free)
    assert found.outcome == kind
    if kind == "warning":
        assert "--workers 1" in found.advice


@pytest.mark.parametrize(("free", "kind"), [(1 << 40, "ok"), (250_000_000, "warning"), (1_000, "failed")])
def test_a_disk_that_fills_up_is_told_before_it_is_full(store, monkeypatch, free, kind):
    (store.root / "verification.duckdb").write_bytes(bytes(100_000_000))
    monkeypatch.setattr(machine.shutil, "disk_usage", lambda _: type("Usage", (), {"free": free}))
    assert outcome(machine.disk(store.root))[0] == kind


def test_a_folder_that_cannot_be_written_fails(tmp_path, monkeypatch):
    def refuse(**_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(machine.tempfile, "TemporaryFile", refuse)
    assert outcome(machine.disk(tmp_path)) == ("failed", f"{tmp_path} cannot be written: Permission denied")


# ---- the store


def test_a_store_of_another_version_fails(store):
    manifest = json.loads((store.root / "store.json").read_text())
    (store.root / "store.json").write_text(json.dumps(manifest | {"format": 99}))
    found = said(examine(store.root, {}, online=False))
    assert found["store"][0] == "failed"
    assert "99" in found["store"][1]


def test_a_torn_table_is_named(store):
    path = store.files("pairs")[0]
    path.write_bytes(path.read_bytes()[:-7])
    kind, words = outcome(health.tables(store))
    assert kind == "failed"
    assert str(path.relative_to(store.root)) in words


def test_rot_inside_a_table_is_named(store):
    path = store.files("receipts")[0]
    body = bytearray(path.read_bytes())
    body[40:80] = bytes(40)
    path.write_bytes(body)
    assert outcome(health.tables(store))[0] == "failed"


def test_a_table_of_another_schema_is_named(store):
    path = store.files("pairs")[0]
    pl.read_parquet(path).drop("claim").write_parquet(path)
    assert "claim" in outcome(health.tables(store))[1]


def test_a_file_of_no_table_and_a_shard_too_many_are_named(store):
    stray = store.root / "tables" / "notes.parquet"
    pl.DataFrame({"x": [1]}).write_parquet(stray)
    (store.root / "tables" / "pairs" / "0099.parquet").write_bytes(store.files("pairs")[0].read_bytes())
    kind, words = outcome(health.tables(store))
    assert kind == "failed"
    assert "notes.parquet: belongs to no table" in words
    assert "0099.parquet: belongs to no table" in words


def test_a_text_that_is_not_what_its_hash_says(store):
    path = next(path for shard in range(store.shards) for path in store.text_parts(shard))
    table = pl.read_parquet(path)
    table.with_columns(text=pl.col("text") + "!").write_parquet(path)
    kind, words = outcome(health.texts(store))
    assert kind == "failed"
    assert "is another one" in words


def test_a_text_that_is_missing(store):
    shard = next(shard for shard in range(store.shards) if store.read("documents", shard).height)
    for path in store.text_parts(shard):
        path.unlink()
    kind, words = outcome(health.texts(store))
    assert kind == "failed"
    assert f"shard {shard}: 1 texts that documents name are not stored" in words


def test_files_of_a_killed_run(store):
    (store.root / "tables" / "pairs" / ".0003.tmp").write_bytes(b"torn")
    (store.root / "staging").mkdir()
    kind, words = outcome(health.leftovers(store))
    assert kind == "warning"
    assert "tables/pairs/.0003.tmp" in words
    assert "staging" in words


def test_a_run_that_is_under_way_is_named_and_its_files_are_its_own(store):
    with held(store.root) as holder:
        (store.root / "tables" / "pairs" / ".0003.tmp").write_bytes(b"half")
        assert outcome(health.lock(store)) == ("ok", f"held by process {holder.pid}: a run is under way")
        assert outcome(health.leftovers(store))[0] == "ok"
    assert outcome(health.lock(store)) == ("ok", "free")


def test_nights_that_are_missing_old_killed_or_open(store, tmp_path):
    assert outcome(health.nights(Store.open(tmp_path / "new")))[1] == "no night was finished yet"
    runs = store.read("runs")
    assert outcome(health.nights(store))[0] == "ok"
    later = runs.with_columns(
        run_id=pl.lit("killed"),
        started_at=pl.col("started_at") + timedelta(hours=1),
        finished_at=pl.lit(None, pl.Datetime("us", "UTC")),
    )
    store.write("runs", pl.concat([runs, later]))
    assert "1 begun since did not end" in outcome(health.nights(store))[1]
    store.write("runs", runs.with_columns(complete=pl.lit(False)))
    assert "left pairs open" in outcome(health.nights(store))[1]
    ahead = [pl.col(name) + timedelta(days=9) for name in ("started_at", "finished_at")]
    store.write("runs", runs.with_columns(ahead))
    assert "in the future" in outcome(health.nights(store))[1]
    long_ago = [pl.col(name) - timedelta(days=9) for name in ("started_at", "finished_at")]
    store.write("runs", runs.with_columns(long_ago))
    assert outcome(health.nights(store)) == ("warning", "1 finished, the last ended 9 days ago")


def test_a_duckdb_file_that_is_missing_damaged_or_behind(store):
    path = store.root / "verification.duckdb"
    runs = store.read("runs")
    store.write("runs", pl.concat([runs, runs.with_columns(run_id=pl.lit("later"))]))
    assert said(health.outputs(store))["duckdb"][:2] == ("warning", "verification.duckdb lacks the last night")
    path.write_bytes(b"no database")
    assert said(health.outputs(store))["duckdb"][0] == "failed"
    path.unlink()
    assert said(health.outputs(store))["duckdb"][:2] == ("warning", "verification.duckdb is missing")


def test_a_receipt_without_its_file(store):
    next((store.root / "receipts").glob("*.json")).unlink()
    assert said(health.outputs(store))["receipts"][:2] == ("warning", "1 of 2 receipts have no file under receipts/")


# ---- what is stale


def test_a_corpus_whose_files_moved(tmp_path):
    corpus = harbour(tmp_path / "harbour")
    store = verify(tmp_path / "out", corpus)
    assert outcome(staleness.moved_files(store))[0] == "ok"
    (corpus / "documents" / "mill.md").write_text(MILL + "More.\n", "utf-8")
    (corpus / "documents" / "pier.md").unlink()
    (corpus / "documents" / "quay.md").write_text("# Quay\n", "utf-8")
    assert outcome(staleness.moved_files(store)) == (
        "warning",
        f"{corpus}: files since it was read: 1 new, 1 edited, 1 gone",
    )
    corpus.rename(tmp_path / "elsewhere")
    kind, words = outcome(staleness.moved_files(store))
    assert kind == "failed"
    assert "does not exist" in words
    (store.root / "corpora.json").unlink()
    assert outcome(staleness.moved_files(store)) == ("warning", "where it lies is not recorded")


def test_a_register_file_that_is_old_or_damaged(tmp_path):
    path = tmp_path / "rw.csv"
    dyes.retractions(path, dyes.DYE_RETRACTED)
    settings = config.load({"registers": {"retraction_watch": str(path)}}).registers
    assert outcome(staleness.registers(None, settings))[0] == "ok"
    old = time.time() - 30 * 86_400
    os.utime(path, (old, old))
    assert outcome(staleness.registers(None, settings)) == ("warning", f"{path}, 30 days old")
    path.write_bytes(b"<html>503</html>")
    assert outcome(staleness.registers(None, settings))[0] == "failed"


def test_registers_that_were_never_asked_or_failed(store):
    settings = config.load({"registers": {"crossref": True}}).registers
    assert outcome(staleness.registers(store, settings)) == ("warning", "was never asked")
    row = {
        "work_id": "doi:10.1/x",
        "register": "crossref",
        "snapshot": None,
        "asked_at": datetime(2026, 11, 30, 2, 0, tzinfo=UTC),
        "outcome": "clean",
    }
    schema = store.read("doi_lookups").schema
    store.write("doi_lookups", pl.DataFrame([row], schema=schema))
    assert outcome(staleness.registers(store, settings)) == ("ok", "last asked 2026-11-30 02:00 UTC about 1 works")
    store.write("doi_lookups", pl.DataFrame([row | {"outcome": "failed:HTTP 503"}], schema=schema))
    kind, words = outcome(staleness.registers(store, settings))
    assert (kind, words.endswith("1 failed (HTTP 503)")) == ("warning", True)


def test_batches_that_are_out(store):
    assert list(staleness.pending(store)) == []
    folder = store.root / "llm"
    from verification_pipeline.checkers.llm.ledger import Ledger

    with Ledger(folder) as ledger:
        assert outcome(staleness.pending(store)) == ("ok", "no request to a model is out")
        batch = ledger.add_batch("batch")
        ledger.update_batch(batch, state="created", provider_id="b1")
    with sqlite3.connect(folder / "ledger.sqlite") as db:
        sql = (
            "INSERT INTO requests (request_key, run, mode, model, batch, state, sent_at, expected_cents)"
            " VALUES ('k', 'r', 'batch', 'm', ?, 'sent', ?, 0)"
        )
        db.execute(sql, (batch, time.time() - 30 * 3600))
    db.close()
    kind, words = outcome(staleness.pending(store))
    assert (kind, words) == ("warning", "1 requests are out in batches, the oldest since 30 hours")


# ---- servers


class Server(http.server.BaseHTTPRequestHandler):
    """A register that knows nothing, and a model's server that lists one model."""

    def do_GET(self) -> None:
        known = self.path.endswith("/models")
        status = 200 if known and self.headers["Authorization"] == "Bearer sk-secret-of-mine" else 401 if known else 500
        body = json.dumps({"object": "list", "data": [{"id": "m", "object": "model"}]}).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_register_that_does_not_answer(server):
    settings = config.load({"registers": {"crossref": True, "crossref_url": server, "pubmed": False}}).registers
    assert outcome(reach.registers(settings)) == ("failed", "HTTP 500")


def test_the_model_is_asked_and_its_key_never_told(server, monkeypatch):
    def found(model, key):
        monkeypatch.setenv("OPENAI_API_KEY", key)
        rules = config.load({"checker": {"openai": {"base_url": f"{server}/v1", "model": model}}}).checker.openai
        return [*reach.key_is_set(rules), *reach.model(rules)]

    secret = "sk-secret-of-mine"
    for model, key, kind in (("m", secret, "ok"), ("other", secret, "warning"), ("m", "sk-wrong-and-long", "failed")):
        told_of_key, told_of_model = found(model, key)
        assert (told_of_key.outcome, told_of_key.found) == ("ok", "found in OPENAI_API_KEY")
        assert told_of_model.outcome == kind
        assert key not in repr((told_of_key, told_of_model))


def test_a_model_without_key_or_server(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    rules = config.load({"checker": {"openai": {"base_url": "http://127.0.0.1:9/v1"}}}).checker.openai
    assert outcome(reach.key_is_set(rules))[0] == "failed"
    assert list(reach.model(rules)) == []
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-of-mine")
    kind, words = outcome(reach.model(rules))
    assert (kind, "127.0.0.1:9" in words) == ("failed", True)


# ---- the command


def test_a_probe_that_cannot_look_stops_no_other():
    def probe():
        raise OSError(5, "Input/output error")
        yield

    assert outcome(told("disk", probe))[0] == "failed"


def test_the_command_says_it_in_lines_and_as_json(store, monkeypatch, capsys):
    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["verification-pipeline", "doctor", "--out", str(store.root), *arguments])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        return ended.value.code, capsys.readouterr().out

    status, lines = run()
    assert status == 0
    assert any(line.split()[:2] == ["ok", "tables"] for line in lines.splitlines())
    Path(store.files("pairs")[0]).write_bytes(b"torn")
    status, text = run("--json")
    assert status == 1
    [fault] = [one for one in json.loads(text) if one["outcome"] == "failed"]
    assert fault["subject"] == "tables"
    assert fault["advice"].startswith("restore")
