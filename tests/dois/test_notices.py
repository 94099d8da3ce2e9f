from __future__ import annotations

from datetime import UTC, datetime, timedelta

import polars as pl

from verification_pipeline import tables
from verification_pipeline.dois.notices import live_at, merge_notices, sealed, vanished_share

DAY = datetime(2026, 1, 1, tzinfo=UTC)


def seen(*rows: dict[str, str]) -> pl.DataFrame:
    names = ("record", "doi", "pmid", "witness", "nature", "notice_doi", "notice_pmid", "reason", "raw")
    data = [dict.fromkeys(names) | {"doi": "10.5555/a", "nature": "Retraction", "raw": "{}"} | row for row in rows]
    frame = pl.DataFrame(data, schema=dict.fromkeys(names, pl.String), orient="row")
    days = [pl.lit(None, dtype=pl.Date).alias(name) for name in ("work_date", "notice_date")]
    return sealed(frame.with_columns(days), "retraction-watch")


def merged(stored: pl.DataFrame, now: pl.DataFrame, nights: int, **options: pl.Expr) -> pl.DataFrame:
    result = merge_notices(stored, now, "retraction-watch", DAY + timedelta(days=nights), **options)
    tables.check("doi_notices", result, "test")
    return result


def test_a_notice_seen_again_is_the_same_row() -> None:
    first = merged(tables.empty("doi_notices"), seen({"record": "1"}), 0)
    assert merged(first, seen({"record": "1"}), 1).equals(first)


def test_a_vanished_notice_closes_and_stays_known_for_the_past() -> None:
    first = merged(tables.empty("doi_notices"), seen({"record": "1"}, {"record": "2"}), 0)
    second = merged(first, seen({"record": "1"}), 2)
    assert second["observed_until"].drop_nulls().to_list() == [DAY + timedelta(days=2)]
    assert live_at(second, DAY + timedelta(days=1)).height == 2
    assert live_at(second, DAY + timedelta(days=2)).height == 1
    assert live_at(second, DAY - timedelta(days=1)).height == 0


def test_a_changed_record_closes_the_old_row_and_opens_a_new_one() -> None:
    first = merged(tables.empty("doi_notices"), seen({"record": "1", "nature": "Expression of concern"}), 0)
    second = merged(first, seen({"record": "1", "nature": "Retraction"}), 1)
    assert live_at(second, DAY)["nature"].to_list() == ["Expression of concern"]
    assert live_at(second, DAY + timedelta(days=1))["nature"].to_list() == ["Retraction"]


def test_a_notice_that_comes_back_keeps_its_gap() -> None:
    table = merged(tables.empty("doi_notices"), seen({"record": "1"}), 0)
    table = merged(table, seen(), 1)
    table = merged(table, seen({"record": "1"}), 2)
    assert table.height == 2
    assert merged(table, seen({"record": "1"}), 3).equals(table)
    assert [live_at(table, DAY + timedelta(days=night)).height for night in range(4)] == [1, 0, 1, 1]


def test_only_works_that_were_answered_lose_notices() -> None:
    first = merged(tables.empty("doi_notices"), seen({"doi": "10.5555/a"}, {"doi": "10.5555/b"}), 0)
    second = merged(first, seen(), 1, answered=pl.col("work_id") == "doi:10.5555/a")
    assert live_at(second, DAY + timedelta(days=1))["work_id"].to_list() == ["doi:10.5555/b"]


def test_the_share_of_vanished_works() -> None:
    first = merged(tables.empty("doi_notices"), seen({"doi": "10.5555/a"}, {"doi": "10.5555/b"}), 0)
    assert vanished_share(first, seen({"doi": "10.5555/b"}), "retraction-watch") == 0.5
    assert vanished_share(tables.empty("doi_notices"), seen(), "retraction-watch") == 0
