"""The fleet page: one night's state of the whole archive on one self-contained page, OUT/fleet.html.

It asks the DuckDB file the questions of `sql/` and draws the answers; nothing is computed here. Long lists are cut and
say so: the rest is in SQL.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
from markupsafe import Markup

from verification_pipeline import pages, queries
from verification_pipeline.fleet.charts import Line, Point, trend
from verification_pipeline.stages.receipt_files import receipt_path
from verification_pipeline.store import Store

FILE = "fleet.html"
_WHOLE = "*"
_NIGHTS = 120
_ROWS = 200
_PACKAGE = "verification_pipeline.fleet"
_RATES = {
    "supported_share": "supported, of pairs that can be read",
    "documents_passed_share": "documents passed",
}
_COVERAGE = {
    "pairs_auto_passed_share": "passed without a reader",
    "pairs_checked_share": "graded by a checker",
    "pairs_not_checked_share": "not checked",
}

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Listed:
    """The first rows of a list, and how many there are."""

    rows: Sequence[Row]
    total: int

    @property
    def left_out(self) -> int:
        """Rows that the page does not show."""
        return self.total - len(self.rows)


def write(store: Store) -> Path:
    """Write the page of the last finished night of a store whose DuckDB file is up to date."""
    path = store.root / FILE
    with duckdb.connect(str(store.root / "verification.duckdb"), read_only=True) as asked:
        asked.execute("SET TimeZone = 'UTC'")
        store.write_file(path, render(asked, store).encode())
    return path


def render(asked: duckdb.DuckDBPyConnection, store: Store) -> str:
    """The page, from an open DuckDB file. Links go to receipts of the store: to the page where there is one."""
    figures = {row["metric"]: row for row in _rows(asked, "FROM latest_metrics WHERE corpus = '*'")}
    (night,) = _rows(asked, "FROM runs ORDER BY finished_at DESC NULLS LAST LIMIT 1")
    style = pages.part(_PACKAGE, "fleet.css")
    return (
        pages.environment(_PACKAGE)
        .get_template("fleet.html")
        .render(
            night=night,
            figures=figures,
            corpora=_rows(
                asked, "FROM latest_metrics WHERE corpus <> '*' AND metric = 'supported_share' ORDER BY corpus"
            ),
            rates=_chart(asked, _RATES, "rates"),
            coverage=_chart(asked, _COVERAGE, "coverage"),
            causes=_rows(asked, queries.load("analyses/changes_by_cause"), run_id=night["run_id"]),
            changes=_list(asked, "latest_changes"),
            exposure=_list(asked, "retraction_exposure"),
            sources=_list(asked, "failing_sources"),
            failing=_list(asked, "failing_documents"),
            receipts=_list(asked, "current_receipts"),
            link=lambda row: _link(store, row),
            style=style,
        )
    )


def _chart(asked: duckdb.DuckDBPyConnection, names: Mapping[str, str], name: str) -> Markup:
    lines = [Line(words, _points(asked, metric)) for metric, words in names.items()]
    return trend(lines, name)


def _points(asked: duckdb.DuckDBPyConnection, metric: str) -> list[Point]:
    """The last nights of a metric, oldest first; of several runs in a night, all. An exact figure has no interval."""
    rows = _rows(
        asked,
        "SELECT r.started_at, m.value, m.low, m.high FROM metrics AS m JOIN runs AS r USING (run_id) "
        "WHERE m.corpus = $corpus AND m.metric = $metric AND r.finished_at IS NOT NULL "
        "ORDER BY r.started_at DESC LIMIT $nights",
        corpus=_WHOLE,
        metric=metric,
        nights=_NIGHTS,
    )
    return [
        Point(row["started_at"], row["value"], *((row["low"], row["high"]) if row["low"] != row["high"] else ()))
        for row in reversed(rows)
    ]


def _list(asked: duckdb.DuckDBPyConnection, view: str) -> Listed:
    rows = _rows(asked, f"FROM {view} LIMIT $rows", rows=_ROWS)
    if len(rows) < _ROWS:
        return Listed(rows, len(rows))
    counted = asked.execute(f"SELECT count(*) FROM {view}").fetchone()  # noqa: S608 - a view of sql/
    return Listed(rows, int(counted[0]) if counted else len(rows))


def _rows(asked: duckdb.DuckDBPyConnection, sql: str, **parameters: Any) -> list[dict[str, Any]]:
    answer = asked.execute(sql, parameters)
    names = [column[0] for column in answer.description or ()]
    return [dict(zip(names, row, strict=True)) for row in answer.fetchall()]


def _link(store: Store, row: Row) -> str | None:
    """Where a document's receipt lies, from the page's own place; None for a document that is gone."""
    if row["document_id"] is None:
        return None
    path = receipt_path(store, row["corpus"], row["document_id"], row["document_key"])
    readable = path.with_suffix(".html")
    return f"receipts/{(readable if store.exists(readable) else path).name}"
