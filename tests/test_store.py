from __future__ import annotations

import time
from types import SimpleNamespace

import polars as pl
import pytest

from tests.builders import pair
from tests.support.holders import held
from verification_pipeline import tables
from verification_pipeline.errors import ContractError, StoreBusy, StoreError
from verification_pipeline.store import Store


@pytest.fixture
def store(tmp_path):
    return Store.open(tmp_path / "out", shards=4)


def batch(pair_id, selected=True):
    return SimpleNamespace(
        pair_id=pair_id,
        document_key="d",
        selected=selected,
        stratum="rest",
        probability=1.0,
        batch_id=None,
        position=None,
    )


def test_a_table_comes_back_in_its_one_order(store):
    store.write("batches", tables.frame("batches", [batch("b"), batch("a")]), 1)
    assert store.read("batches", 1)["pair_id"].to_list() == ["a", "b"]
    assert store.read("batches", 2).height == 0
    assert store.read_all("batches", ["pair_id"])["pair_id"].to_list() == ["a", "b"]


def test_same_rows_same_bytes(store):
    rows = [batch(f"p{number}") for number in range(100)]
    store.write("batches", tables.frame("batches", rows), 0)
    store.write("batches", tables.frame("batches", rows[::-1]), 1)
    assert store.path("batches", 0).read_bytes() == store.path("batches", 1).read_bytes()


@pytest.mark.parametrize(
    ("data", "fault"),
    [
        (tables.frame("batches", [batch("a"), batch("a")]), "two rows with the same pair_id"),
        (tables.empty("batches").with_columns(extra=pl.lit(1)), "foreign columns"),
        (tables.frame("batches", [batch("a")]).with_columns(stratum=pl.lit(None, pl.String)), "must not hold nulls"),
        (tables.frame("batches", [batch("a")]).with_columns(position=pl.lit("x")), "does not match"),
    ],
)
def test_a_frame_that_breaks_its_schema_is_never_written(store, data, fault):
    with pytest.raises(ContractError, match=fault):
        store.write("batches", data, 0)
    assert not store.path("batches", 0).exists()


def test_a_damaged_file_is_named(store):
    path = store.path("batches", 3)
    path.parent.mkdir(parents=True)
    path.write_bytes(b"PAR1 torn")
    with pytest.raises(StoreError, match=r"table batches.*0003\.parquet"):
        store.read("batches", 3)
    with pytest.raises(StoreError, match=r"0003\.parquet"):
        store.height(path)


def test_the_rows_of_a_file_are_counted_by_its_footer(store):
    store.write("batches", tables.frame("batches", [batch("a"), batch("b")]), 0)
    assert store.height(store.path("batches", 0)) == 2


def test_a_half_written_file_is_never_visible(store):
    store.write("batches", tables.frame("batches", [batch("a")]), 0)
    leftover = store.path("batches", 0).with_name(".0000.tmp")
    leftover.write_bytes(b"torn")
    assert store.files("batches") == [store.path("batches", 0)]
    with store.locked():
        assert not leftover.exists()


def test_texts_are_stored_once_and_found_by_hash(store):
    assert store.append_texts(0, [("h1", "one"), ("h2", "two\u2028\0"), ("h1", "one")]) == 2
    assert store.append_texts(0, [("h2", "two\u2028\0"), ("h3", "")]) == 1
    assert store.append_texts(0, []) == 0
    texts = store.texts(0)
    assert [texts.get(name) for name in ("h1", "h2", "h3", "h4")] == ["one", "two\u2028\0", "", None]
    assert store.text("h3") == ""
    assert max(texts.place("h1"), texts.place("h3")) < texts.place("absent")


def test_a_second_run_is_told_who_holds_the_store(store):
    with held(store.root) as holder, pytest.raises(StoreBusy, match=f"process {holder.pid}"), store.locked():
        pass
    with store.locked():
        pass


def test_a_killed_run_frees_the_store(store):
    with held(store.root) as holder:
        time.sleep(0.2)  # long enough that it dies in its wait, not on the way there
        holder.kill()
        holder.join()
        with store.locked():
            pass


def test_a_store_is_recognised(tmp_path):
    with pytest.raises(StoreError, match="holds no store"):
        Store.open(tmp_path, create=False)
    (tmp_path / "store.json").write_text('{"format": 99, "shards": 16, "secret": "00"}')
    with pytest.raises(StoreError, match="format 99"):
        Store.open(tmp_path)
    (tmp_path / "store.json").write_text('{"format": 99}')
    with pytest.raises(StoreError, match="later version"):
        Store.open(tmp_path)
    (tmp_path / "store.json").write_text('{"format": 2}')
    with pytest.raises(StoreError, match=r"damaged \(it has no 'shards'"):
        Store.open(tmp_path)
    (tmp_path / "store.json").write_text("{")
    with pytest.raises(StoreError, match="damaged"):
        Store.open(tmp_path)
    for create in (True, False):
        with pytest.raises(StoreError, match="is a file"):
            Store.open(tmp_path / "store.json", create=create)


def test_a_store_keeps_its_shards(tmp_path):
    Store.open(tmp_path, shards=4)
    assert Store.open(tmp_path).shards == 4
    with pytest.raises(StoreError, match=r"4 document shards .* 16: .*reshard --out .* --shards 16"):
        Store.open(tmp_path, shards=16)


def test_columns_of_lists_hold_what_the_rows_hold():
    rows = [pair("It rose.", claim_spans=((3, 5), (8, 13)), numbers=("5 %", "§ 3")), pair("No.", claim_spans=())]
    made = tables.frame("pairs", rows)
    assert made["claim_spans"].to_list() == [[{"start": 3, "end": 5}, {"start": 8, "end": 13}], []]
    assert made["numbers"].to_list() == [["5 %", "§ 3"], []]
    assert made.schema == tables.TABLES["pairs"].schema
