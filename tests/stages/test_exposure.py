from __future__ import annotations

import csv
from datetime import date

import polars as pl
import pytest

from tests.support import dyes
from tests.support.nights import verify
from verification_pipeline import tables
from verification_pipeline.stages.exposure import newly_affected, on_days, retracted_citations, write_file

WORK = f"doi:{dyes.DYE}"


@pytest.fixture
def folder(tmp_path):
    """Three documents that cite a paper retracted on 1 March 2020, one of them saying so."""
    corpus = dyes.archive(
        tmp_path / "c", early="2019-05-01", late="2021-05-01", honest=("2022-01-01", " That was later retracted [1].")
    )
    path = dyes.retractions(tmp_path / "rw.csv", dyes.DYE_RETRACTED)
    return corpus, path, tmp_path / "out"


def night(folder):
    corpus, path, out = folder
    return verify(out, corpus, registers={"retraction_watch": str(path)})


def listed(store):
    with (store.root / "retractions.csv").open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


def test_a_night_lists_who_cites_what_and_when_it_was_cited(folder):
    rows = listed(night(folder))
    assert [(row["document_id"], row["cited_when"], row["noted_in_document"], row["blocks"]) for row in rows] == [
        ("early", "before", "false", "true"),
        ("honest", "after", "true", "false"),
        ("late", "after", "false", "true"),
    ]
    assert {row["work_id"] for row in rows} == {WORK}
    assert {row["notice_date"] for row in rows} == {"2020-03-01"}


def test_the_file_is_written_only_when_it_changes(folder):
    store = night(folder)
    path = store.root / "retractions.csv"
    before = path.stat().st_mtime_ns
    night(folder)
    assert path.stat().st_mtime_ns == before
    assert not write_file(store)


def test_newly_affected_is_what_the_last_finished_night_did_not_list(folder):
    store = night(folder)
    assert not newly_affected(store).height
    rows = (store.root / "retractions.csv").read_text().splitlines(keepends=True)
    (store.root / "retractions.csv").write_text("".join(row for row in rows if ",late," not in row))
    assert newly_affected(store)["document_id"].to_list() == ["late"]
    for damage in ("", "a,b\n1,2\n"):
        (store.root / "retractions.csv").write_text(damage)
        assert newly_affected(store)["document_id"].to_list() == ["early", "late"]


def test_nothing_retracted_is_a_header(tmp_path):
    corpus = dyes.archive(tmp_path / "c", d="2019-05-01")
    store = verify(tmp_path / "out", corpus, registers={"retraction_watch": str(dyes.retractions(tmp_path / "rw.csv"))})
    assert listed(store) == []
    assert (store.root / "retractions.csv").read_text().startswith("corpus,document_id,")


def periods(*rows: tuple[str, date, date | None, dict[str, object]]) -> pl.DataFrame:
    told = [
        {
            "work_id": WORK, "doi": dyes.DYE, "valid_from": start, "valid_to": end, "status": status, "date": None,
            "notice_url": None, "flags": [], "registers": ["crossref"], "disagreement": None, "stale": False,
            "reason": None, **more,
        }
        for status, start, end, more in rows
    ]  # fmt: skip
    return pl.DataFrame(told, schema=tables.TABLES["doi_statuses"].schema)


def day(number: int) -> date:
    return date(2026, 1, number)


def test_a_spell_of_retraction_is_one_row_whatever_else_moves_in_it(folder):
    store = night(folder)
    statuses = periods(
        ("ok", day(1), day(5), {}),
        ("retracted", day(5), day(8), {"date": day(4)}),
        ("retracted", day(8), day(9), {"date": day(4), "stale": True}),  # a register was down
        ("retracted", day(9), day(12), {"date": day(3)}),
        ("ok", day(12), day(20), {"flags": ["reinstated"]}),
        ("retracted", day(20), None, {"date": None}),
    )
    rows = retracted_citations(store, statuses).filter(pl.col("document_id") == "early")
    assert rows.select("retracted_from", "retracted_to", "notice_date", "first_look", "cited_when").rows() == [
        (day(5), day(12), day(3), False, "before"),
        (day(20), None, None, False, "unknown"),
    ]
    between = {
        (first, last): on_days(store, statuses, day(first), day(last)).filter(pl.col("document_id") == "early")
        for first, last in ((1, 4), (4, 6), (6, 12), (8, 9), (13, 31))
    }
    assert {span: rows["retracted_from"].to_list() for span, rows in between.items()} == {
        (1, 4): [],
        (4, 6): [day(5)],
        (6, 12): [],
        (8, 9): [],
        (13, 31): [day(20)],
    }
    assert on_days(store, statuses, day(11), day(11)).height == 3
    assert on_days(store, statuses, day(12), day(12)).height == 0


def test_a_work_first_looked_at_became_retracted_when_its_notice_says(folder):
    store = night(folder)
    for notice, expected in ((date(2020, 3, 1), 0), (day(6), 3), (None, 3)):
        statuses = periods(("retracted", day(7), None, {"date": notice}))
        assert on_days(store, statuses, day(5), day(9)).height == expected, notice


def test_days_that_nobody_swept_part_two_spells(folder):
    statuses = periods(("retracted", day(1), day(3), {}), ("retracted", day(9), None, {}))
    rows = retracted_citations(night(folder), statuses).filter(pl.col("document_id") == "early")
    assert rows.select("retracted_from", "retracted_to").rows() == [(day(1), day(3)), (day(9), None)]
