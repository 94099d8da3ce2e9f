"""A night that is shared out among processes, on two machines, against a real S3 server on loopback."""

from __future__ import annotations

import uuid

import dagster as dg
import pytest
from dagster._core.storage.tags import RESUME_RETRY_TAG

from tests.servers import s3
from tests.support import deployment, stores
from tests.support.corpora import MILL, PIER, SOURCES, write_folder
from tests.support.nights import verify
from verification_pipeline.bucket import Bucket
from verification_pipeline.errors import StoreBusy
from verification_pipeline.store import Store

SHARDS = 4
QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}


@pytest.fixture(scope="module")
def server():
    with s3.serving() as variables, pytest.MonkeyPatch.context() as patch:
        for name, value in variables.items():
            patch.setenv(name, value)
        yield


@pytest.fixture
def place(server, tmp_path, monkeypatch):
    """An archive, an address, and the environment of a deployment for them."""
    url = f"s3://{s3.BUCKET}/{uuid.uuid4().hex}"
    archive(tmp_path / "harbour")
    (tmp_path / "settings.toml").write_text(f'[storage]\nshards = {SHARDS}\n[checker]\nkind = "lexical"\n')
    for name, value in {
        "OUT": url,
        "CORPORA": tmp_path / "harbour",
        "CONFIG": tmp_path / "settings.toml",
        "WORKERS": 1,
        "WAIT_MINUTES": 0,
    }.items():
        monkeypatch.setenv(f"VERIFICATION_{name}", str(value))
    monkeypatch.delenv("VERIFICATION_ARCHIVES", raising=False)
    monkeypatch.setenv(deployment.MACHINES, str(tmp_path))
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


def night(instance, groups, **tags):
    job = dg.reconstructable(deployment.nightly_spread)
    return dg.execute_job(job, instance, run_config=QUIET, tags={"groups": str(groups), **tags})


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
def undivided(tmp_path_factory):
    """The same archive verified by one process, on disk."""
    root = tmp_path_factory.mktemp("undivided")
    checker = {"kind": "lexical"}
    return verify(root / "out", archive(root / "harbour"), storage={"shards": SHARDS}, checker=checker).root


def differences(url, reader, undivided):
    """What the store there has that the one on disk has not, or has otherwise."""
    there = seen(url, reader)
    told = [found for found in (stores.results, stores.digests) if found(there) != found(undivided)]
    return [*map(str, told), *stores.faults(there)]


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


def test_one_group_equals_a_night_that_is_not_shared_out(place, instance, undivided):
    folder, url = place
    assert night(instance, 1).success
    assert differences(url, folder / "reader", undivided) == []


def test_a_night_on_two_machines_equals_one_that_is_not_shared_out(place, instance, undivided):
    folder, url = place
    result = night(instance, 2)
    assert result.success
    assert differences(url, folder / "reader", undivided) == []
    assert stores.nights_told(folder / "reader") == stores.nights_told(undivided)
    assert readers(result) == [f"reading.read_shards[{number}_of_2]" for number in (1, 2)]
    assert all(list((folder / machine / "tables").iterdir()) for machine in ("machine-0", "machine-1"))
    assert (told(result, "pairs")["recomputed"], told(result, "verdicts")["recomputed"]) == (9, 9)
    # and once more, with nothing new
    again = night(instance, 4)
    assert again.success
    assert (told(again, "pairs")["recomputed"], told(again, "pairs")["kept"]) == (0, 9)
    assert differences(url, folder / "second", undivided) == []
    assert Store.open(Bucket(url, folder / "second")).holder() is None


def test_a_step_that_is_killed_is_tried_again_by_itself(place, instance, undivided):
    folder, url = place
    kill(folder, 1)
    result = night(instance, 4)
    assert result.success
    assert len(readers(result, "STEP_UP_FOR_RETRY")) == 1
    assert len(readers(result)) == 4
    assert differences(url, folder / "reader", undivided) == []


def test_a_run_goes_on_from_where_a_step_failed_for_good(place, instance, undivided):
    folder, url = place
    kill(folder, 5)  # of six attempts in all: one group gets through, or none
    failed = night(instance, 2)
    assert not failed.success
    done = readers(failed)
    runs = Store.open(Bucket(url, folder / "other")).read("runs")
    assert runs["finished_at"].to_list() == [None]
    with pytest.raises(StoreBusy, match=f"run {runs['run_id'][0]}"), Store.open(Bucket(url, folder / "other")).locked():
        pass
    for left in (folder / "kills").iterdir():
        left.unlink()
    options = dg.ReexecutionOptions.from_failure(failed.run_id, instance)
    tags = {"groups": "2", RESUME_RETRY_TAG: "true"}
    job = dg.reconstructable(deployment.nightly_spread)
    result = dg.execute_job(job, instance, run_config=QUIET, tags=tags, reexecution_options=options)
    assert result.success
    assert sorted(done + readers(result)) == [f"reading.read_shards[{number}_of_2]" for number in (1, 2)]
    assert told(result, "pairs")["recomputed"] + told(result, "pairs")["kept"] == 9
    assert differences(url, folder / "reader", undivided) == []
    assert Store.open(Bucket(url, folder / "reader")).read("runs")["run_id"].to_list() == runs["run_id"].to_list()


def kill(folder, readers):
    (folder / "kills").mkdir()
    for number in range(readers):
        (folder / "kills" / str(number)).touch()
