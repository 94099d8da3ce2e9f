"""Stores of earlier versions go on; stores of later ones are refused in one clear line.

`golden/registries/format-N.json` is the registry as the last version of format N had it. It is never changed: when a
format is left behind, the registry of that moment is added.
"""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from tests.support.corpora import harbour
from tests.support.holders import held
from tests.support.nights import verify
from verification_pipeline import migrations, tables
from verification_pipeline.errors import StoreBusy, StoreError
from verification_pipeline.store import Store
from verification_pipeline.tables import TABLES, Column, Table

REGISTRIES = sorted((Path(__file__).parent / "golden" / "registries").glob("format-*.json"))


@pytest.fixture(scope="module")
def verified(tmp_path_factory):
    root = tmp_path_factory.mktemp("verified")
    verify(root / "out", harbour(root / "harbour"))
    return root


@pytest.fixture
def out(verified, tmp_path):
    return Path(shutil.copytree(verified / "out", tmp_path / "out"))


def manifest(out, **changes):
    body = {**json.loads((out / "store.json").read_text()), **changes}
    (out / "store.json").write_text(json.dumps({name: value for name, value in body.items() if value is not None}))


def as_written_by(registry, out):
    """Take a store back to an earlier registry: without the tables and columns that came later."""
    for path in sorted((out / "tables").rglob("*.parquet")):
        name = path.relative_to(out / "tables").parts[0].removesuffix(".parquet")
        if name not in registry:
            path.unlink()
        else:
            pl.read_parquet(path, memory_map=False).select(*registry[name]["columns"]).write_parquet(path)


def schemas(out):
    store = Store.open(out)
    return {
        (name, str(path)): dict(pl.read_parquet_schema(path)) == dict(table.schema)
        for name, table in TABLES.items()
        for path in store.files(name)
        if name != "texts"
    }


@pytest.mark.parametrize("file", REGISTRIES, ids=lambda path: path.stem)
def test_a_store_of_every_earlier_format_goes_on(verified, out, file):
    as_written_by(json.loads(file.read_text()), out)
    manifest(out, format=int(file.stem.removeprefix("format-")), schema=None)
    assert all(schemas(out).values())
    body = json.loads((out / "store.json").read_text())
    assert (body["format"], body["schema"]) == (migrations.FORMAT, migrations.schema())
    before = Store.open(out).read_all("receipts", ["document_key", "digest"])
    store = verify(out, verified / "harbour")
    assert store.read_all("receipts", ["document_key", "digest"]).equals(before)
    assert store.read("changes").filter(run_id=store.read("runs").sort("started_at")["run_id"][-1]).height == 0


def test_every_format_that_was_left_behind_has_its_registry_and_its_step():
    formats = [int(file.stem.removeprefix("format-")) for file in REGISTRIES]
    assert formats == list(range(1, migrations.FORMAT))
    assert sorted(migrations.STEPS) == formats


def grown(monkeypatch, *added):
    """A registry with further columns of `pairs`, and a further table."""
    pairs = TABLES["pairs"]
    monkeypatch.setitem(tables.TABLES, "pairs", replace(pairs, columns=(*pairs.columns, *added)))
    notes = Table("notes", "note", "archive", (), (Column("note", pl.String(), "Words."),))
    monkeypatch.setitem(tables.TABLES, "notes", notes)


def test_new_tables_and_columns_that_may_be_null_need_no_step(out, monkeypatch):
    before = Store.open(out).read_all("pairs")
    grown(monkeypatch, Column("mood", pl.String(), "Mood.", nullable=True))
    store = Store.open(out)
    pairs = store.read_all("pairs")
    assert pairs["mood"].null_count() == pairs.height > 0
    assert pairs.drop("mood").equals(before)
    assert store.read("notes").height == 0
    assert all(schemas(out).values())


def test_a_migration_that_was_killed_is_taken_up_again(out, monkeypatch):
    grown(monkeypatch, Column("mood", pl.String(), "Mood.", nullable=True))
    calls = []

    def dies(self, name, path, data):
        calls.append(path)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return written(self, name, path, data)

    written = Store.replace
    with monkeypatch.context() as killed:
        killed.setattr(Store, "replace", dies)
        with pytest.raises(KeyboardInterrupt):
            Store.open(out)
    assert all(schemas(out).values())


def test_a_column_that_must_be_filled_needs_a_step(out, monkeypatch):
    grown(monkeypatch, Column("weight", pl.Int64(), "Weight."))
    with pytest.raises(StoreError, match=r"pairs.*weight must not hold nulls"):
        Store.open(out)


def test_a_later_version_is_refused(out, monkeypatch):
    with monkeypatch.context() as later:
        grown(later, Column("mood", pl.String(), "Mood.", nullable=True))
        Store.open(out)
    with pytest.raises(StoreError, match="mood that this version does not know: a later version wrote the store"):
        Store.open(out)
    manifest(out, format=migrations.FORMAT + 1)
    with pytest.raises(StoreError, match=f"store format {migrations.FORMAT + 1} by a later version"):
        Store.open(out)


def test_a_store_is_not_migrated_under_a_run(out):
    with held(out):
        manifest(out, format=1, schema=None)
        with pytest.raises(StoreBusy):
            Store.open(out)
