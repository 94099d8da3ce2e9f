"""Retraction Watch files for tests, in the register's own format: CRLF, a nameless last column, month-first dates."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping
from pathlib import Path

import polars as pl

from verification_pipeline.dois.retraction_watch import COLUMNS

ROW = {
    "Title": "On tides",
    "Publisher": "Coastal Press",
    "RetractionDate": "3/1/2020 0:00",
    "RetractionDOI": "10.5555/notice.1",
    "RetractionPubMedID": "0",
    "OriginalPaperDate": "1/1/2015 0:00",
    "OriginalPaperDOI": "10.5555/paper.1",
    "OriginalPaperPubMedID": "0",
    "RetractionNature": "Retraction",
    "Reason": "+Error in Data;",
    "Paywalled": "No",
}


def content(rows: Iterable[Mapping[str, str]]) -> bytes:
    """The bytes of a file with these rows; what a row leaves out is taken from `ROW`."""
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow([*COLUMNS, ""])
    for number, row in enumerate(rows, start=1):
        whole = {"Record ID": str(number), **ROW, **row}
        writer.writerow([whole.get(name, "") for name in COLUMNS] + [""])
    return out.getvalue().encode("utf-8")


def write(path: Path, rows: Iterable[Mapping[str, str]]) -> Path:
    """A file with these rows."""
    path.write_bytes(content(rows))
    return path


def works(*dois: str | None, **columns: str | None) -> pl.DataFrame:
    """Works to sweep, one a DOI; `columns` are the same for all."""
    rows = [
        {
            "work_id": f"doi:{doi}" if doi else columns.get("work_id"),
            "doi": doi,
            "pmid": None,
            "title": None,
            "comment": None,
        }
        | {name: value for name, value in columns.items() if name != "work_id"}
        for doi in dois
    ]
    return pl.DataFrame(rows, schema=dict.fromkeys(("work_id", "doi", "pmid", "title", "comment"), pl.String))
