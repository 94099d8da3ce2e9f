"""Which documents cite a retracted work: `sql/views/retracted_citations`, asked of the tables as they are on disk.

The answer of the last finished night lies in OUT/retractions.csv, for people and spreadsheets; what a night finds
beyond it is what became affected that night. Which status a work has is decided in `dois`; what a receipt makes of it,
in `receipts`.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Any

import duckdb
import polars as pl

from verification_pipeline import queries
from verification_pipeline.store import Store

FILE = "retractions.csv"
_VIEW = "views/retracted_citations"
_NEWLY = "analyses/newly_retracted_citations"
_KEY = ["document_key", "work_id"]
_DOCUMENTS = ["document_key", "corpus", "document_id", "title", "date"]
_MENTIONS = ["document_key", "work_id", "doi", "start", "cited", "noted_in_document"]


def retracted_citations(store: Store, statuses: pl.DataFrame | None = None) -> pl.DataFrame:
    """Documents that cite a retracted work, one row a spell of days, by `doi_statuses` (None: those stored)."""
    return _asked(store, statuses, f"SELECT * FROM {_name(_VIEW)}")  # noqa: S608 - a view of sql/


def on_days(store: Store, statuses: pl.DataFrame, first: date, last: date) -> pl.DataFrame:
    """Documents affected on a day, or, where `last` is later, by works that became retracted from `first` to `last`.

    Rows have the columns of the view, or of the analysis.
    """
    if first < last:
        return _asked(store, statuses, queries.load(_NEWLY), {"first": first, "last": last})
    lasting = pl.col("retracted_to").is_null() | (pl.col("retracted_to") > last)
    return retracted_citations(store, statuses).filter((pl.col("retracted_from") <= last) & lasting)


def newly_affected(store: Store) -> pl.DataFrame:
    """Rows of now that fail a document's gate and that the file of the last finished night does not hold."""
    now = _current(retracted_citations(store)).filter("blocks")
    return now.join(_blocked_before(store), on=_KEY, how="anti", maintain_order="left")


def write_file(store: Store) -> bool:
    """Write OUT/retractions.csv if what it says changed; whether it did."""
    table = _current(retracted_citations(store)).with_columns(pl.col("flags", "registers").list.join(" "))
    path, body = store.root / FILE, table.write_csv().encode()
    if store.fetch(path) and path.read_bytes() == body:
        return False
    store.write_file(path, body)
    return True


def _current(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.filter(pl.col("retracted_to").is_null()).drop("retracted_to", "first_look")


def _blocked_before(store: Store) -> pl.DataFrame:
    """Keys of the rows of a file that fail a gate; a file that is missing or not ours holds none."""
    path = store.root / FILE
    store.fetch(path)
    try:
        rows = pl.read_csv(path, infer_schema=False)
        return rows.filter(pl.col("blocks") == "true").select(_KEY)
    except (OSError, pl.exceptions.PolarsError):
        return pl.DataFrame(schema=dict.fromkeys(_KEY, pl.String))


def _asked(
    store: Store, statuses: pl.DataFrame | None, sql: str, parameters: Mapping[str, Any] | None = None
) -> pl.DataFrame:
    """A statement over the view, with the view over the stored tables."""
    with duckdb.connect() as connection:
        connection.register("documents", store.read_all("documents", _DOCUMENTS))
        connection.register("doi_mentions", store.read_all("doi_mentions", _MENTIONS))
        connection.register("doi_statuses", store.read("doi_statuses") if statuses is None else statuses)
        connection.execute(f"CREATE TEMP VIEW {_name(_VIEW)} AS {queries.load(_VIEW)}")
        answer: pl.DataFrame = connection.sql(sql, params=dict(parameters) if parameters else None).pl()
        return answer


def _name(query: str) -> str:
    return query.removeprefix("views/")
