"""A night that several processes enter, against a real S3 server on loopback. What they do there is no matter here."""

from __future__ import annotations

import uuid
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from types import SimpleNamespace

import pytest

from tests.servers import s3
from tests.support.corpora import MILL, SOURCES, harbour, write_folder
from verification_pipeline import bucket as buckets
from verification_pipeline.bucket import Bucket
from verification_pipeline.config import load
from verification_pipeline.errors import RunOvertaken, StoreBusy, StoreError
from verification_pipeline.night import Options, open_night, settle
from verification_pipeline.shared_night import file_of, open_shared_night, terms_of
from verification_pipeline.stages.closing import record_run
from verification_pipeline.store import Store


@pytest.fixture
def url(s3_server):
    return f"s3://{s3.BUCKET}/{uuid.uuid4().hex}"


@pytest.fixture
def asked(url, tmp_path):
    """Options of a night, as each of two machines gives them."""
    corpus = harbour(tmp_path / "harbour")
    return [Options(Bucket(url, tmp_path / name), (corpus,)) for name in ("one", "two")]


def test_processes_of_one_run_enter_together_and_others_are_told_who_holds_it(asked):
    one, two = asked
    with open_shared_night(one, "monday") as first, open_shared_night(two, "monday") as second:
        assert (second.run_id, second.started_at, second.scope) == (first.run_id, first.started_at, first.scope)
        for enter in (open_shared_night(two, "tuesday"), open_night(two)):
            with pytest.raises(StoreBusy, match=r"another run holds s3://.* \(run monday, seen in process"), enter:
                pass
    # between two steps it stays the run's
    with pytest.raises(StoreBusy, match="run monday"), open_shared_night(one, "tuesday"):
        pass
    with open_shared_night(two, "monday") as last:
        record_run(last, finished=True)
    with open_shared_night(one, "tuesday") as other:
        assert other.started_at > last.started_at
        assert other.store.read("runs").select("run_id").rows() == [("monday",), ("tuesday",)]


def test_what_is_edited_meanwhile_does_not_divide_the_night(asked, tmp_path):
    one, two = asked
    settings = tmp_path / "settings.toml"
    settings.write_text("[sampling]\nseed = 1\n")
    with open_shared_night(replace(one, config_file=settings, documents=("pier",), recheck=True), "monday") as first:
        pass
    settings.write_text("[sampling]\nseed = 2\n[storage]\nshards = 3\n")
    more = write_folder(tmp_path / "quay", {"mill": MILL}, SOURCES[2:])
    with open_shared_night(replace(two, config_file=settings, corpora=(more,)), "monday") as second:
        assert second.scope == first.scope
        assert [archive.name for archive in second.archives] == ["harbour"]
        assert second.settings.sampling.seed == 1
        assert second.store.shards == first.store.shards


def test_terms_are_handed_on_as_they_were(asked, tmp_path):
    (tmp_path / "harbour" / "waivers.toml").write_text(
        '[[waiver]]\nwhat = "quote-integrity"\ndocument = "pier"\nby = "A"\nuntil = 2030-01-31\nwhy = "Read."\n'
    )
    named = (tmp_path / "harbour").rename(tmp_path / "h\udcffrbour")  # a name that is no UTF-8
    terms = settle(replace(asked[0], corpora=(named,)), "monday")
    again = terms_of(file_of(terms))
    assert again == terms
    [[waiver]] = again.waivers.values()
    assert waiver.by == "A"
    assert again.settings.fingerprint() == terms.settings.fingerprint() == load().fingerprint()


def test_a_run_that_another_one_overtook_does_not_go_on(asked):
    one, two = (replace(options, out=replace(options.out, lease_seconds=0.2)) for options in asked)
    others = {"monday": open_night, "tuesday": lambda options: open_shared_night(options, "other")}
    for run, other in others.items():
        with open_shared_night(one, run):
            pass
        buckets.time.sleep(0.3)
        with other(two) as night:
            record_run(night, finished=True)
        with pytest.raises(RunOvertaken, match="start a new run"), open_shared_night(one, run):
            pass
        assert Store.open(one.out).holder() is None


def test_a_folder_cannot_be_worked_on_by_several(tmp_path):
    options = Options(tmp_path / "out", (harbour(tmp_path / "harbour"),))
    with pytest.raises(StoreError, match="only a store on an object store"), open_shared_night(options, "monday"):
        pass


def test_processes_that_enter_a_new_machine_at_once_see_what_others_wrote(asked):
    one, two = asked
    with open_shared_night(one, "monday") as first:
        first.store.write_file(first.store.root / "receipts" / "x.json", b"monday")

    def enter(_):
        with open_shared_night(two, "monday") as night:
            return night.store.secret, night.store.exists(night.store.root / "receipts" / "x.json")

    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(enter, range(4))) == {(first.store.secret, True)}


# ---- who may write


def test_a_process_that_slept_past_its_lease_writes_no_more(asked, monkeypatch):
    one, two = (Store.open(options.out) for options in asked)
    with one.locked("monday") as slept:
        name = slept.root / "receipts" / "x.json"
        slept.write_file(name, b"monday")
        tomorrow = buckets.time.time() + 86_400
        monkeypatch.setattr(buckets, "time", SimpleNamespace(time=lambda: tomorrow))
        with two.locked("tuesday") as awake:
            for write in (lambda: slept.write_file(name, b"late"), lambda: slept.remove(name)):
                with pytest.raises(StoreBusy, match="run out"):
                    write()
            other = awake.root / "receipts" / "x.json"
            assert awake.fetch(other)
            assert other.read_bytes() == b"monday"


def test_no_version_is_overwritten_that_its_writer_did_not_know(asked):
    one, two = (Store.open(options.out) for options in asked)
    with one.locked("monday") as early, two.locked("monday") as late:
        mine, theirs = (store.root / "receipts" / "x.json" for store in (early, late))
        early.write_file(mine, b"1")
        with pytest.raises(StoreBusy, match=r"receipts/x.json was written by another process"):
            late.write_file(theirs, b"2")
        late.write_file(theirs, b"1")  # the same by both is no quarrel
        late.write_file(theirs, b"3")
        with pytest.raises(StoreBusy, match="another process"):
            early.write_file(mine, b"4")
    assert Store.open(asked[0].out).fetch(mine)
    assert mine.read_bytes() == b"3"


def test_a_listing_does_not_undo_what_was_written_while_it_was_made(asked, monkeypatch):
    store = Store.open(asked[0].out)
    with store.locked("monday") as held:
        new, gone = (held.root / "receipts" / name for name in ("new.json", "gone.json"))
        held.write_file(gone, b"1")
        listing = Bucket._listed

        def slow(bucket):
            found = listing(bucket)
            held.write_file(new, b"2")
            held.remove(gone)
            return found

        with monkeypatch.context() as raced:
            raced.setattr(Bucket, "_listed", slow)
            held.bucket.refresh()
        assert held.exists(new)
        assert new.exists()
        assert not held.exists(gone)
