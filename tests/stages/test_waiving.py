from __future__ import annotations

import datetime as dt
import json

import polars as pl
import pytest

from tests.support.corpora import harbour
from tests.support.nights import verify
from verification_pipeline.errors import UsageError
from verification_pipeline.night import Options, open_night
from verification_pipeline.stages.waiving import audit, read_waivers

TODAY = dt.datetime.now(dt.UTC).date()
PIER = """[[waiver]]
what = "cite-check-resolved"
document = "{document}"
by = "A. Editor"
until = {until}
why = "by hand"
"""


def pier(until: dt.date = TODAY, document: str = "pier") -> str:
    return PIER.format(until=until, document=document)


def current(store) -> dict[str, dict]:
    rows = store.read_all("receipts").filter(pl.col("current"))["receipt"]
    return {one["document_id"]: one for one in map(json.loads, rows)}


def check(receipt: dict, name: str = "cite-check-resolved") -> dict:
    return next(one for one in receipt["checks"] if one["name"] == name)


def last_changes(store) -> list[tuple]:
    run = store.read("runs").sort("started_at")["run_id"][-1]
    return store.read("changes").filter(pl.col("run_id") == run).select("what", "before", "after", "cause").rows()


@pytest.fixture
def corpus(tmp_path):
    return harbour(tmp_path / "harbour")


def test_a_waiver_turns_the_failure_into_a_warning_and_is_the_cause(tmp_path, corpus):
    before = current(verify(tmp_path / "out", corpus))
    assert check(before["pier"])["outcome"] == "failed"
    (corpus / "waivers.toml").write_text(pier())
    store = verify(tmp_path / "out", corpus)
    after = current(store)
    assert check(after["pier"])["outcome"] == "warning"
    assert check(after["pier"])["waivers"][0]["by"] == "A. Editor"
    assert after["mill"]["created_at"] == before["mill"]["created_at"]
    assert {(what, cause) for what, *_, cause in last_changes(store)} == {
        ("document", "waiver added"),
        ("state", "waiver added"),
    }


def test_a_waiver_that_ran_out_is_reported_and_holds_no_more(tmp_path, corpus):
    (corpus / "waivers.toml").write_text(pier(TODAY - dt.timedelta(days=1)))
    assert check(current(verify(tmp_path / "out", corpus))["pier"])["outcome"] == "failed"
    with open_night(Options(tmp_path / "out", (corpus,))) as night:
        found = audit(night.store, night.waivers, night.day)
        assert found.in_force == 0
        assert found.expired == (
            f"waiver of cite-check-resolved for pier by A. Editor: ran out on {TODAY - dt.timedelta(days=1)}",
        )


def test_what_waives_nothing_is_reported(tmp_path, corpus):
    item = '[[waiver]]\nwhat = "doi:10.5555/none"\nby = "B"\nuntil = 2099-01-01\nwhy = "old"\n'
    (corpus / "waivers.toml").write_text(pier() + pier(document="mill") + item)
    verify(tmp_path / "out", corpus)
    with open_night(Options(tmp_path / "out", (corpus,))) as night:
        found = audit(night.store, night.waivers, night.day)
    assert found.in_force == 3
    assert [line.split(":")[0] for line in found.unused] == [
        "waiver of cite-check-resolved for mill by A. Editor",
        "waiver of doi",
    ]


def test_one_pair_may_be_waived_and_only_its_document_is_assembled_again(tmp_path, corpus):
    store = verify(tmp_path / "out", corpus)
    rows = current(store)["pier"]["cite_check"]["rows"]
    failing = [row["pair_id"] for row in rows if row["verdict"] == "unsupported" or row["outcome"] == "dangling"]
    text = "".join(f'[[waiver]]\nwhat = "{one}"\nby = "B"\nuntil = 2099-01-01\nwhy = "known"\n' for one in failing)
    (corpus / "waivers.toml").write_text(text)
    store = verify(tmp_path / "out", corpus)
    assert check(current(store)["pier"])["outcome"] == "warning"
    waived = store.read_all("baselines")["components"].str.json_path_match("$.waiver")
    assert waived.n_unique() == 2


def test_a_corpus_takes_no_waivers_of_another(tmp_path, corpus):
    other = harbour(tmp_path / "quay")
    (other / "waivers.toml").write_text(pier())
    store = verify(tmp_path / "out", corpus, other)
    states = {(one["corpus"], one["document_id"]): check(one)["outcome"] for one in map(json.loads, receipts(store))}
    assert states["harbour", "pier"] == "failed"
    assert states["quay", "pier"] == "warning"


def receipts(store) -> pl.Series:
    return store.read_all("receipts").filter(pl.col("current"))["receipt"]


@pytest.mark.parametrize("text", ["[[waiver]]\nwhat = 'x'\n", "[other]\na = 1\n", "not toml"])
def test_a_bad_file_stops_the_run_with_its_name(tmp_path, corpus, text):
    (corpus / "waivers.toml").write_text(text)
    with pytest.raises(UsageError, match=r"waivers\.toml"), open_night(Options(tmp_path / "out", (corpus,))):
        pass


def test_a_file_may_be_named_in_the_settings(tmp_path, corpus):
    (corpus / "corpus.toml").write_text('[policy]\nwaivers = "legal/accepted.toml"\n')
    (corpus / "legal").mkdir()
    (corpus / "legal" / "accepted.toml").write_text(pier())
    with open_night(Options(tmp_path / "out", (corpus,))) as night:
        assert [w.document for w in read_waivers(night.scope.settings)["harbour"]] == ["pier"]
        assert night.waivers == read_waivers(night.scope.settings)
