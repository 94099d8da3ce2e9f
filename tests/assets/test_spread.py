"""A night that is shared out among processes, on two machines, against a real S3 server on loopback."""

from __future__ import annotations

import uuid

import dagster as dg
import pytest

from tests.servers import s3
from tests.support import deployment, stores
from tests.support.corpora import MILL, PIER, SOURCES, write_folder
from tests.support.nights import verify
from verification_pipeline.bucket import Bucket
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


@pytest.mark.parametrize("groups", [1, 2, 4])
def test_a_night_that_is_shared_out_equals_one_that_is_not(place, instance, undivided, groups):
    folder, url = place
    result = night(instance, groups)
    assert result.success
    there = seen(url, folder / "reader")
    assert stores.digests(there) == stores.digests(undivided)
    assert stores.results(there) == stores.results(undivided)
    assert stores.nights_told(there) == stores.nights_told(undivided)
    assert stores.faults(there) == []
