"""A store on an object store, against a real S3 server on loopback."""

from __future__ import annotations

import json
import multiprocessing
import os
import sys
import time
import uuid
from pathlib import Path

import pytest

from tests.servers import s3
from tests.support import stores
from tests.support.corpora import MILL, PIER, SOURCES, harbour, write_folder
from tests.support.nights import verify
from verification_pipeline import bucket as buckets
from verification_pipeline import cli
from verification_pipeline.bucket import Bucket, place_of
from verification_pipeline.errors import NoStore, StoreBusy, StoreError, UsageError
from verification_pipeline.operations import health
from verification_pipeline.operations.pruning import prune
from verification_pipeline.operations.resharding import reshard
from verification_pipeline.receipts.verify import verify_receipt
from verification_pipeline.store import Store


@pytest.fixture
def url(s3_server):
    return f"s3://{s3.BUCKET}/{uuid.uuid4().hex}"


def machine(url, folder, seconds=120.0):
    """The store as a machine with its own folder sees it."""
    return Bucket(url, folder, seconds)


def objects(url):
    return buckets._client(url), sorted(
        one["path"] for page in buckets.obstore.list(buckets._client(url)) for one in page
    )


def test_a_run_on_s3_equals_the_run_on_disk(url, tmp_path):
    corpus = harbour(tmp_path / "harbour")
    on_disk = verify(tmp_path / "disk", corpus)
    there = verify(machine(url, tmp_path / "one"), corpus)
    assert stores.digests(there.root) == stores.digests(on_disk.root)
    assert stores.results(there.root) == stores.results(on_disk.root)
    local = {"verification.duckdb", "corpora.json"}
    mine = {*there.names("tables"), *there.names("receipts")}
    _, names = objects(url)
    assert set(names) == mine | {"store.json", "registers.json", "retractions.csv", "fleet.html", "lease.json"}
    assert {path.name for path in there.root.iterdir() if path.is_file()} >= local
    # and the same seen from a machine that never ran it, whose folder is empty
    other = Store.open(machine(url, tmp_path / "two"), create=False)
    for name in names:
        if name != "lease.json":
            assert other.fetch(other.root / name)
            assert (other.root / name).read_bytes() == (there.root / name).read_bytes(), name


def test_a_night_on_another_machine_goes_on_where_the_first_ended(url, tmp_path):
    corpus = harbour(tmp_path / "harbour")
    verify(tmp_path / "disk", corpus)
    verify(machine(url, tmp_path / "one"), corpus)
    (corpus / "documents" / "mill.md").write_text(MILL.replace("three", "five"), "utf-8")
    write_folder(corpus, {"pier": PIER, "mill": MILL.replace("three", "five")}, SOURCES)
    on_disk = verify(tmp_path / "disk", corpus)
    second = verify(machine(url, tmp_path / "two"), corpus)
    assert stores.digests(second.root) == stores.digests(on_disk.root)
    told = [sorted(map(repr, one.read("changes").drop("run_id").rows())) for one in (second, on_disk)]
    assert told[0] == told[1]
    third = verify(machine(url, tmp_path / "one"), corpus)
    assert third.read("runs").height == 3
    assert stores.digests(third.root) == stores.digests(on_disk.root)
    assert not stores.duckdb_faults(third.root)


def test_an_unchanged_night_on_the_same_machine_downloads_nothing(url, tmp_path, monkeypatch):
    corpus = harbour(tmp_path / "harbour")
    verify(machine(url, tmp_path / "one"), corpus)
    fetched = []
    download = Bucket._download

    def counted(self, path, name, tag):
        fetched.append(name)
        return download(self, path, name, tag)

    monkeypatch.setattr(Bucket, "_download", counted)
    verify(machine(url, tmp_path / "one"), corpus)
    assert fetched == []


def test_worker_processes_write_there_too(url, tmp_path, monkeypatch, capsys):
    corpus = harbour(tmp_path / "harbour")
    on_disk = verify(tmp_path / "disk", corpus)
    monkeypatch.setenv("VERIFICATION_LOCAL", str(tmp_path / "one"))

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["verification-pipeline", *map(str, arguments), "--out", url])
        try:
            cli.main()
            status = 0
        except SystemExit as ended:
            status = ended.code
        return status, capsys.readouterr().out

    status, said = run("run", corpus, "--workers", 2)
    assert status == 0
    assert f"Receipts in {url}/receipts, tables in {url}/tables, SQL in {tmp_path / 'one'}/verification.duckdb" in said
    monkeypatch.setenv("VERIFICATION_LOCAL", str(tmp_path / "reader"))
    store = Store.open(place_of(url, str(tmp_path / "reader")), create=False)
    assert store.read_all("receipts", ["document_key", "digest"]).equals(
        on_disk.read_all("receipts", ["document_key", "digest"])
    )
    assert run("show", "pier")[0] == 0
    assert run("findings")[0] == 0
    assert not list((tmp_path / "reader").glob("receipts/*")), "a reader fetches what it reads"
    [path] = [on_disk.root / name for name in on_disk.names("receipts") if "pier" in name]
    assert run("verify-receipt", path)[0] == 0
    status, said = run("doctor")
    assert (status, "held by" in said) == (0, False)
    status, said = run("doctor", "--json")
    assert {one["subject"] for one in json.loads(said) if one["outcome"] == "failed"} == set()


def test_pruning_there(url, tmp_path):
    corpus = harbour(tmp_path / "harbour")
    verify(machine(url, tmp_path / "one"), corpus)
    drifted = [{**SOURCES[0], "text": "Closed."}, *SOURCES[1:]]
    write_folder(corpus, {"pier": PIER, "mill": MILL}, drifted)
    (corpus / "documents" / "mill.md").unlink()
    verify(machine(url, tmp_path / "one"), corpus)
    store = Store.open(machine(url, tmp_path / "two"), create=False)
    assert prune(store, keep_nights=1, dry_run=True) == prune(store, keep_nights=1)
    first = Store.open(machine(url, tmp_path / "one"), create=False)
    receipts = [json.loads(one) for one in first.read_all("receipts")["receipt"]]
    assert [fault for one in receipts for fault in verify_receipt(one, first.text)] == []
    assert [one.outcome for probe in (health.tables, health.texts) for one in probe(first)] == ["ok", "ok"]


def test_what_cannot_be_done_there_says_so(url, tmp_path):
    store = Store.open(machine(url, tmp_path / "one"))
    with pytest.raises(UsageError, match="object store"):
        reshard(store, 4)
    with pytest.raises(NoStore, match="holds no store"):
        Store.open(machine(f"{url}x", tmp_path / "two"), create=False)
    with pytest.raises(StoreError, match="not-a-bucket-of-ours/x cannot be read"):
        Store.open(machine("s3://not-a-bucket-of-ours/x", tmp_path / "three"))


def test_an_address_and_its_folder():
    assert place_of("out/nightly") == Path("out/nightly")
    assert place_of("s3://bucket/some/prefix/") == Bucket("s3://bucket/some/prefix", Path("out/bucket-some-prefix"))
    assert place_of("s3://bucket/p", "/srv/copies") == Bucket("s3://bucket/p", Path("/srv/copies"))


# ---- the lease


def test_one_run_at_a_time_and_the_other_is_told_who(url, tmp_path):
    one, two = (Store.open(machine(url, tmp_path / name)) for name in ("one", "two"))
    assert one.holder() is None
    with one.locked():
        assert two.holder().startswith(f"process {os.getpid()} on ")
        with pytest.raises(StoreBusy, match=f"another run holds {url}"), two.locked():
            pass
    with two.locked():
        pass
    assert one.holder() is None


def test_a_lease_is_renewed_while_its_run_lives(url, tmp_path):
    one, two = (Store.open(machine(url, tmp_path / name, seconds=0.6)) for name in ("one", "two"))
    with one.locked():
        time.sleep(1.5)
        with pytest.raises(StoreBusy), two.locked():
            pass


def hold(url, folder, held):
    with Store.open(Bucket(url, folder, 2.0)).locked():
        held.set()
        time.sleep(60)


def test_a_run_that_dies_leaves_a_lease_that_expires(url, tmp_path):
    context = multiprocessing.get_context("spawn")
    held = context.Event()
    holder = context.Process(target=hold, args=(url, tmp_path / "one", held))
    holder.start()
    assert held.wait(30)
    holder.kill()
    holder.join()
    store = Store.open(machine(url, tmp_path / "two", seconds=2.0))
    with pytest.raises(StoreBusy, match=f"process {holder.pid}"), store.locked():
        pass
    time.sleep(2.1)
    with store.locked():
        pass


def test_two_that_see_an_expired_lease_cannot_both_take_it(url, tmp_path):
    bucket = machine(url, tmp_path / "one")
    Store.open(bucket)
    tag = bucket.put_lease("1", "dead", 0.0, None)
    bucket.put_lease("2", "one", time.time() + 60, tag)
    with pytest.raises(buckets.PreconditionError):
        bucket.put_lease("3", "two", time.time() + 60, tag)


def test_a_run_whose_lease_was_taken_stops(url, tmp_path):
    bucket = machine(url, tmp_path / "one", seconds=1.5)
    store = Store.open(bucket)

    def work():
        with store.locked():
            bucket.put_lease("4", "another", time.time() + 60, bucket._lease()[1])
            time.sleep(60)  # cut short by the loss

    with pytest.raises(StoreBusy, match="was lost to another run"):
        work()
    assert store.holder() == "another"


# ---- copies


def test_a_copy_that_was_lost_or_touched_is_fetched_again(url, tmp_path):
    store = Store.open(machine(url, tmp_path / "one"))
    path = store.root / "receipts" / "x.json"
    store.write_file(path, b"true")
    for damage in (path.unlink, lambda: path.write_bytes(b"torn")):
        damage()
        assert store.fetch(path)
        assert path.read_bytes() == b"true"


def test_a_machine_that_died_before_its_copy_took_its_place_has_the_old_one_and_fetches(url, tmp_path, monkeypatch):
    store = Store.open(machine(url, tmp_path / "one"))
    path = store.root / "receipts" / "x.json"
    store.write_file(path, b"old")

    def dies(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as killed:
        killed.setattr(Path, "replace", dies)
        with pytest.raises(KeyboardInterrupt):
            store.write_file(path, b"new")
    assert path.read_bytes() == b"old"
    again = Store.open(machine(url, tmp_path / "one"))
    assert again.fetch(path)
    assert path.read_bytes() == b"new"


def test_a_fetch_never_overwrites_what_was_written_meanwhile(url, tmp_path, monkeypatch):
    writer = Store.open(machine(url, tmp_path / "one"))
    path = writer.root / "receipts" / "x.json"
    writer.write_file(path, b"old")
    path.unlink()
    get = buckets.obstore.get

    def slow(client, name):
        found = get(client, name)
        body = bytes(found.bytes())
        writer.write_file(path, b"new")
        return type("Found", (), {"__iter__": lambda _: iter([body]), "meta": found.meta})()

    with monkeypatch.context() as raced:
        raced.setattr(buckets.obstore, "get", slow)
        assert writer.fetch(path)
    assert path.read_bytes() == b"new"


def test_a_removed_object_leaves_the_other_machines(url, tmp_path):
    one = Store.open(machine(url, tmp_path / "one"))
    path = Path("receipts") / "x.json"
    one.write_file(one.root / path, b"x")
    two = Store.open(machine(url, tmp_path / "two"))
    assert two.fetch(two.root / path)
    one.remove(one.root / path)
    assert not one.exists(one.root / path)
    two = Store.open(machine(url, tmp_path / "two"))
    assert not two.exists(two.root / path)
    assert not (two.root / path).exists()
