from __future__ import annotations

from datetime import timedelta

import polars as pl
import pytest

from tests.support.corpora import harbour
from tests.support.nights import verify
from verification_pipeline.clock import last_moment, refuse_if_set_back
from verification_pipeline.errors import StoreError
from verification_pipeline.store import Store


def test_a_clock_that_was_set_back_stops_a_night_and_a_sweep(tmp_path, command):
    corpus, out = harbour(tmp_path / "harbour"), tmp_path / "out"
    verify(out, corpus)
    store = Store.open(out)
    refuse_if_set_back(store)
    runs = store.read("runs")
    store.write("runs", runs.with_columns(pl.col("started_at", "finished_at") + timedelta(days=1)))
    with pytest.raises(StoreError, match="correct the clock"):
        verify(out, corpus)
    (tmp_path / "dois.txt").write_text("10.5555/abc\n")
    status, said, error = command("sweep", tmp_path / "dois.txt", "--out", out)
    assert (status, said, len(error.splitlines())) == (2, "", 1)
    assert store.read("runs").height == 1


def test_the_last_moment_of_a_store_is_of_whatever_was_last(tmp_path):
    store = Store.open(tmp_path / "out")
    assert last_moment(store) is None
    refuse_if_set_back(store)
    verify(tmp_path / "out", harbour(tmp_path / "harbour"))
    ended = store.read("runs")["finished_at"][0]
    assert last_moment(store) == ended
    asked = pl.DataFrame(
        {"work_id": ["w"], "register": ["r"], "snapshot": [None], "asked_at": [ended + timedelta(1)], "outcome": ["x"]},
        schema=store.read("doi_lookups").schema,
    )
    store.write("doi_lookups", asked)
    assert last_moment(store) == ended + timedelta(1)
