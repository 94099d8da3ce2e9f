"""A night that is shared out among processes, on two machines, against a real S3 server on loopback."""

from __future__ import annotations

import uuid

import dagster as dg
import pytest
from dagster._core.storage.tags import RESUME_RETRY_TAG

import assets.verdicts
from assets.definitions import build_defs
from tests.servers import s3
from tests.support import deployment, stores
from tests.support.corpora import MILL, PIER, SOURCES, write_folder
from tests.support.nights import verify
from verification_pipeline.bucket import Bucket
from verification_pipeline.errors import StoreBusy
from verification_pipeline.store import Store

SHARDS = 4
BOTH = ["reading.read_shards[1_of_2]", "reading.read_shards[2_of_2]"]
QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    return archive(tmp_path_factory.mktemp("archives") / "harbour")


@pytest.fixture
def place(s3_server, corpus, tmp_path, monkeypatch):
    """A folder for machines, an address, and the environment of a deployment for them."""
    url = f"s3://{s3.BUCKET}/{uuid.uuid4().hex}"
    (tmp_path / "settings.toml").write_text(f'[storage]\nshards = {SHARDS}\n[checker]\nkind = "lexical"\n')
    for name, value in {
        "OUT": url,
        "LOCAL": tmp_path / "machine",
        "CORPORA": corpus,
        "CONFIG": tmp_path / "settings.toml",
        "WORKERS": 1,
        "WAIT_MINUTES": 0,
    }.items():
        monkeypatch.setenv(f"VERIFICATION_{name}", str(value))
    monkeypatch.delenv("VERIFICATION_ARCHIVES", raising=False)
    return tmp_path, url


def archive(root, pier=PIER):
    documents = {"mill": MILL}
    sources = [SOURCES[2]]
    for number in range(8):
        documents[f"pier-{number}"] = pier.replace("40 boats", f"{number + 40} boats")
        sources += [{**one, "document_id": f"pier-{number}"} for one in SOURCES[:2]]
    return write_folder(root, documents, sources)


@pytest.fixture(scope="module")
def instance(tmp_path_factory):
    with dg.instance_for_test(temp_dir=str(tmp_path_factory.mktemp("dagster"))) as made:
        yield made


def night(instance, job, tags=(), **options):
    """A run in two groups whose steps are processes, on two machines."""
    return dg.execute_job(job, instance, run_config=QUIET, tags={"groups": "2", **dict(tags)}, **options)


def in_one_process(groups):
    """A run whose steps follow each other in this process."""
    job = build_defs().resolve_job_def("nightly_spread")
    return job.execute_in_process(run_config=QUIET, tags={"groups": groups}, raise_on_error=False)


def seen(url, folder):
    """The store with every file of its own, as a machine sees it that took no part."""
    store = Store.open(Bucket(url, folder), create=False)
    for prefix in ("tables", "receipts"):
        for name in store.names(prefix):
            assert store.fetch(store.root / name)
    for name in ("registers.json", "retractions.csv"):
        store.fetch(store.root / name)
    return store.root


@pytest.fixture(scope="module")
def undivided(corpus, tmp_path_factory):
    """The same archive verified by one process, on disk."""
    out = tmp_path_factory.mktemp("undivided")
    return verify(out, corpus, storage={"shards": SHARDS}, checker={"kind": "lexical"}).root


def differences(url, reader, undivided):
    """What the store there has that the one on disk has not, or has otherwise; and what is wrong with it."""
    there = seen(url, reader)
    pairs = [(found(there), found(undivided)) for found in (stores.results, stores.digests)]
    return [*(dict(one.items() ^ other.items()) for one, other in pairs if one != other), *stores.faults(there)]


def readers(result, kind="STEP_SUCCESS"):
    return sorted(
        str(event.step_key)
        for event in result.all_events
        if event.event_type_value == kind and "read_shards" in str(event.step_key)
    )


def told(result, asset):
    """Figures that an asset reported."""
    [event] = [one for one in result.all_events if one.is_step_materialization and one.asset_key.path == [asset]]
    return {name: value.value for name, value in event.materialization.metadata.items()}


@pytest.mark.parametrize("groups", ["1", "4"])
def test_a_night_in_groups_equals_one_that_is_not_shared_out(place, undivided, groups):
    folder, url = place
    result = in_one_process(groups)
    assert result.success
    assert readers(result) == [f"reading.read_shards[{number + 1}_of_{groups}]" for number in range(int(groups))]
    assert (told(result, "pairs")["recomputed"], told(result, "verdicts")["recomputed"]) == (9, 9)
    assert differences(url, folder / "reader", undivided) == []
    assert stores.nights_told(folder / "reader") == stores.nights_told(undivided)
    assert Store.open(Bucket(url, folder / "reader")).holder() is None


def test_on_two_machines_with_a_step_killed_and_tried_again_by_itself(place, instance, undivided):
    folder, url = place
    kill(folder, 1)
    result = night(instance, deployment.job(folder))
    assert result.success
    assert len(readers(result, "STEP_UP_FOR_RETRY")) == 1
    assert readers(result) == BOTH
    assert all(list((folder / machine / "tables").iterdir()) for machine in ("machine-0", "machine-1"))
    assert differences(url, folder / "reader", undivided) == []
    # and once more, elsewhere, with nothing new
    again = in_one_process("3")
    assert again.success
    assert [told(again, "pairs")[figure] for figure in ("recomputed", "kept")] == [0, 9]
    assert differences(url, folder / "second", undivided) == []


def test_a_run_goes_on_from_where_a_step_failed_for_good(place, instance, undivided):
    folder, url = place
    kill(folder, 1)
    job = deployment.job(folder, retries=False)
    failed = night(instance, job)
    assert not failed.success
    assert len(readers(failed)) == 1, "the other group went on"
    other = Store.open(Bucket(url, folder / "other"))
    runs = other.read("runs")
    assert runs["finished_at"].to_list() == [None]
    with pytest.raises(StoreBusy, match=f"run {runs['run_id'][0]}"), other.locked():
        pass
    options = dg.ReexecutionOptions.from_failure(failed.run_id, instance)
    result = night(instance, job, {RESUME_RETRY_TAG: "true"}, reexecution_options=options)
    assert result.success
    assert sorted(readers(failed) + readers(result)) == BOTH
    assert sum(told(result, "pairs")[figure] for figure in ("recomputed", "kept")) == 9
    assert differences(url, folder / "reader", undivided) == []
    assert Store.open(Bucket(url, folder / "reader")).read("runs")["run_id"].to_list() == runs["run_id"].to_list()


@pytest.mark.parametrize(
    ("out", "groups", "words"), [("", "2", "only a store on an object store"), (None, "0", "number from 1")]
)
def test_what_cannot_be_shared_out_says_so(place, monkeypatch, out, groups, words):
    folder, _ = place
    if out is not None:
        monkeypatch.setenv("VERIFICATION_OUT", str(folder / "on-disk"))
    result = in_one_process(groups)
    assert not result.success
    assert any(words in str(event.event_specific_data) for event in result.all_events)


def test_sums_are_asked_once_over_the_whole_and_not_tried_again(place, monkeypatch):
    _, url = place
    asked = []

    def broken(store):
        asked.append(store)
        return ["shard 0: 1 × pair without a marker"]

    monkeypatch.setattr(assets.verdicts, "broken_sums", broken)
    result = in_one_process("2")
    assert not result.success
    assert len(asked) == 1
    kinds = {event.event_type_value for event in result.all_events if event.step_key == "verdicts.gather_verdicts"}
    assert "STEP_FAILURE" in kinds
    assert "STEP_UP_FOR_RETRY" not in kinds
    assert not Store.open(Bucket(url, place[0] / "reader")).files("receipts")


def kill(folder, readers):
    (folder / "kills").mkdir()
    for number in range(readers):
        (folder / "kills" / str(number)).touch()
