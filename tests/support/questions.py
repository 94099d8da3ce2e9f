"""How queries are asked in tests: one archive with two nights, parameters by query, answers as JSON lines."""

from __future__ import annotations

import datetime as dt
from typing import Any

import duckdb

from tests.support.archive import Archive, run_info, storage_archive
from verification_pipeline import metrics, queries, tables
from verification_pipeline.config import Settings
from verification_pipeline.receipts import assemble, changes, merge

PARAMETERS: dict[str, dict[str, Any]] = {
    "analyses/affected_on_day": {"day": dt.date(2026, 3, 4)},
    "analyses/changes_by_cause": {"run_id": "run-2"},
    "analyses/documents_to_read_first": {"limit": 20},
    "analyses/figures_by_night": {"corpus": "*", "metric": "unsupported_share"},
    "analyses/history_of_document": {"corpus": "notes", "document_id": "2024-05-01"},
    "analyses/history_of_work": {"work_id": "doi:10.5555/ok.1"},
    "analyses/most_cited_sources": {"limit": 3},
    "analyses/newly_failing_documents": {"run_id": "run-2"},
    "analyses/newly_retracted_citations": {"first": dt.date(2026, 3, 1), "last": dt.date(2026, 3, 7)},
    "analyses/single_voice_documents": {"share": 0.8},
    "analyses/statuses_on_day": {"day": dt.date(2026, 3, 4)},
}


def nights_archive() -> Archive:
    """The storage archive after two nights: between them a checker changed its mind and a paper was retracted."""
    archive = storage_archive()
    _more(archive)
    first = assemble(archive.inputs(), run_info(), Settings(), tables.empty("receipts"))
    figures = metrics.compute("run-1", metrics.tally(archive.inputs(), first))
    archive.rows["verdicts"][0].update(verdict="partially-supported", severity="major", suggested_fix="soften claim")
    ok = next(row for row in archive.rows["doi_statuses"] if row["status"] == "ok")
    second_night = run_info(
        run_id="run-2", created_at=dt.datetime(2026, 3, 5, 2, 30, tzinfo=dt.UTC), day=dt.date(2026, 3, 5)
    )
    ok.update(status="retracted", date=dt.date(2026, 3, 4), notice_url="https://doi.org/10.5555/ok.n")
    new = assemble(archive.inputs(), second_night, Settings(), first)
    receipts = merge(first, new)
    causes = {row["document_key"]: ("register",) for row in archive.rows["documents"]}
    causes[archive.rows["documents"][0]["document_key"]] = ("checker",)
    now = receipts.filter(current=True)
    archive.rows["changes"] += changes.compare(first, now, causes, run_id="run-2").to_dicts()
    figures = figures.vstack(metrics.compute("run-2", metrics.tally(archive.inputs(), receipts)))
    archive.rows["metrics"] = figures.to_dicts()
    archive.rows["receipts"] = receipts.to_dicts()
    ok.update(valid_from=dt.date(2026, 3, 5))
    archive.rows["doi_statuses"].append(
        {**ok, "valid_from": dt.date(1900, 1, 1), "valid_to": dt.date(2026, 3, 5), "status": "ok", "date": None,
         "notice_url": None}
    )  # fmt: skip
    for number, night in ((1, dt.date(2026, 3, 4)), (2, dt.date(2026, 3, 5))):
        archive.add(
            "runs",
            run_id=f"run-{number}",
            night=night,
            started_at=dt.datetime(night.year, night.month, night.day, 2, tzinfo=dt.UTC),
            finished_at=dt.datetime(night.year, night.month, night.day, 3, tzinfo=dt.UTC),
            engine="0.1.0",
            configuration_hash="0" * 32,
            checker="embedded",
            corpora=["notes"],
            complete=True,
        )
    return archive


def _more(archive: Archive) -> None:
    """What the questions ask about besides: a quotation that travels, strong claims left unread, support elsewhere."""
    quote = "will double the grid before the decade ends"
    copy = archive.document("copy", f'Rents rose 9% [1]. It "{quote}" [1].', title="Copy")
    source = archive.source(copy, "1", "The plan will double the grid before 2030.", n=1, title="Market")
    archive.unread(archive.pair(copy, "Rents rose 9%", source, strong=True), "low-confidence", stratum="strong")
    archive.quote(copy, quote, source, "altered", closest_span="will double the grid before 2030", edit_distance=14)
    archive.work(copy, "doi:10.5555/odd.1", "corrected", disagreement="crossref says retracted", source_key=source)
    unsupported = next(row for row in archive.rows["verdicts"] if row["verdict"] == "unsupported")
    archive.add(
        "found_elsewhere",
        pair_id=unsupported["pair_id"],
        document_key=unsupported["document_key"],
        source_key=source,
        **archive.span(source, "double the grid"),
        score=0.6,
    )
    archive.add("costs", run_id="run-1", document_key=unsupported["document_key"], llm_pairs=3, cents=0.6)
    archive.add("costs", run_id="run-1", document_key=copy, llm_pairs=1, cents=0.4)
    drifted = {"run_id": "run-2", "document_key": copy, "what": "source", "source_id": "1", "cause": "source drifted"}
    archive.add("changes", **drifted, source_key=source, before="a" * 64, after="b" * 64)
    lost = {**drifted, "source_id": "gone", "cause": "source lost"}
    archive.add("changes", **lost, source_key="0" * 32, before="c" * 64)
    archive.add(
        "changes", run_id="run-1", document_key=copy, what="state", before="passed", after="failed", cause="unexplained"
    )


def answer(connection: duckdb.DuckDBPyConnection, name: str, parameters: dict[str, Any]) -> str:
    """A query's rows as JSON lines with their column names."""
    sql = queries.load(name)
    connection.execute("SET TimeZone = 'UTC'")
    result = connection.sql(f"SELECT CAST(to_json(q) AS VARCHAR) FROM ({sql}) AS q", params=parameters or None)
    return "".join(f"{row[0]}\n" for row in result.fetchall())
