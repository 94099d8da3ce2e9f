"""Reads the Retraction Watch CSV into notices, or says by name why it cannot be trusted tonight.

Only the format stands here: header, sentinels, month-first dates, mangled DOIs, lists by `;`. A file that is cut,
half, of another header or too old is an `Outage`: an answer is never taken from it. What the rows mean for a work
is in `precedence`; what changed since the last file, in `notices`.
"""

from __future__ import annotations

import io
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from hashlib import sha256
from pathlib import Path

import polars as pl

from verification_pipeline.config import Registers
from verification_pipeline.dois.normalise import find_dois, normalise_pmid
from verification_pipeline.dois.notices import Outage, sealed

REGISTER = "retraction-watch"

COLUMNS = (
    "Record ID", "Title", "Subject", "Institution", "Journal", "Publisher", "Country", "Author", "URLS", "ArticleType",
    "RetractionDate", "RetractionDOI", "RetractionPubMedID", "OriginalPaperDate", "OriginalPaperDOI",
    "OriginalPaperPubMedID", "RetractionNature", "Reason", "Paywalled", "Notes",
)  # fmt: skip
"""The header; the register's file has a nameless 21st column (a trailing comma)."""

_NEEDED = frozenset(COLUMNS[10:18]) | {"Record ID"}
_PLAIN_DOI = r"^10\.[0-9]{4,9}/(?:[a-z0-9._/:\-]|\([a-z0-9._/:\-]*\))*(?:[a-z0-9]|\([a-z0-9._/:\-]*[a-z0-9]\))$"
"""Spellings that the nine rules leave as they are: tested to be, so that most of the file needs no scan."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One file of the register.

    `records`: the rows as read, with normalised columns (`doi`, `pmid`, `notice_doi`, …), one a (record, work);
    `snapshot`: the file's SHA-256; `rows`: records in the file, blank ones apart.
    """

    records: pl.DataFrame
    snapshot: str
    rows: int

    def notices(self, dois: pl.Series, pmids: pl.Series) -> pl.DataFrame:
        """The notices about, or published as, one of these works: rows of `doi_notices` still to be observed."""
        wanted = (
            pl.col("doi").is_in(dois.implode())
            | pl.col("loose").is_in(dois.str.replace_all("[<>]", "").implode())
            | pl.col("pmid").is_in(pmids.implode())
            | pl.col("notice_doi").is_in(dois.implode())
            | pl.col("notice_pmid").is_in(pmids.implode())
        )
        return sealed(self.records.filter(wanted.fill_null(False)), REGISTER)


def read(path: Path, settings: Registers, clock: datetime) -> Snapshot | Outage:
    """The register's file, checked: header, rows, end of file, size, age, canaries."""
    try:
        content = path.read_bytes()
    except OSError as error:
        return Outage(REGISTER, f"file cannot be read: {error.strerror or error}")
    fault = _fault_of_form(content)
    if fault:
        return Outage(REGISTER, fault)
    try:
        table = pl.read_csv(
            io.BytesIO(content), infer_schema=False, encoding="utf8-lossy", raise_if_empty=True, low_memory=False
        )
    except pl.exceptions.PolarsError as error:
        return Outage(REGISTER, f"damaged file: {str(error).splitlines()[0]}")
    table = table.select(pl.col([name for name in COLUMNS if name in table.columns]))
    table = table.filter(pl.any_horizontal(pl.all().str.strip_chars().fill_null("") != ""))
    records = _normalised(table)
    fault = _fault_of_content(table, records, settings, clock)
    if fault:
        return Outage(REGISTER, fault)
    return Snapshot(records, sha256(content).hexdigest(), table.height)


def _fault_of_form(content: bytes) -> str | None:
    header, _, body = content.removeprefix(b"\xef\xbb\xbf").partition(b"\n")
    names = [name.strip().strip('"') for name in header.decode("utf-8", "replace").strip("\r").split(",")]
    missing = sorted(_NEEDED - set(names))
    if not content.strip():
        return "empty file"
    if missing:
        return f"wrong header: no column {', '.join(missing)}"
    if not body.strip(b"\r\n, "):
        return "no rows"
    last = body.rsplit(b"\n", 1)[-1].rstrip(b"\r")
    if header.rstrip(b"\r").endswith(b",") and last and not last.endswith(b","):
        return "cut file: the last row is incomplete"
    return None


def _fault_of_content(table: pl.DataFrame, records: pl.DataFrame, settings: Registers, clock: datetime) -> str | None:
    last = table.tail(1).row(0, named=True)
    if not last["RetractionNature"] or last["Reason"] is None:
        return "cut file: the last row is incomplete"
    if table["RetractionNature"].null_count() > table.height // 100 + 1:
        return f"damaged file: {table['RetractionNature'].null_count()} rows without RetractionNature"
    if table.height < settings.retraction_watch_min_rows:
        return f"half a file: {table.height} rows, at least {settings.retraction_watch_min_rows} expected"
    today = clock.date()
    if settings.retraction_watch_max_age_days is not None:
        newest = records.filter(pl.col("notice_date") <= today)["notice_date"].max()
        oldest_allowed = today - timedelta(days=settings.retraction_watch_max_age_days)
        if not isinstance(newest, date) or newest < oldest_allowed:
            return f"old file: its newest notice is of {newest!s}"
    if table.height >= settings.canary_min_rows:
        retracted = set(records.filter(pl.col("nature") == "Retraction")["doi"].drop_nulls())
        lost = [doi for doi in settings.canaries if doi not in retracted]
        if lost:
            return f"canary not retracted: {', '.join(lost)}"
    return None


def _normalised(table: pl.DataFrame) -> pl.DataFrame:
    """One row a (record, work): identifiers in normal form, dates as dates, reasons without their `+`."""
    text = pl.col(table.columns).str.strip_chars()
    records = (
        table.select(text)
        .with_columns(
            record=pl.col("Record ID"),
            nature=pl.col("RetractionNature").fill_null("unknown"),
            reason=pl.col("Reason").str.replace_all(r"(^|;)\s*\+?\s*", "$1").str.strip_chars("; "),
            notice_date=_day("RetractionDate"),
            work_date=_day("OriginalPaperDate"),
            witness=pl.lit(None, dtype=pl.String),
            raw=pl.struct(table.columns),
        )
        .with_columns(pl.when(pl.col("reason") != "").then("reason").alias("reason"))
    )
    dois = _dois(records["OriginalPaperDOI"])
    return (
        records.with_columns(
            doi=dois,
            pmid=_pmids(records["OriginalPaperPubMedID"]),
            notice_doi=_dois(records["RetractionDOI"]).list.first(),
            notice_pmid=_pmids(records["RetractionPubMedID"]),
        )
        .explode("doi", empty_as_null=True, keep_nulls=True)
        .with_columns(loose=pl.col("doi").str.replace_all("[<>]", ""))
        .select(
            "record", "doi", "loose", "pmid", "work_date", "witness", "nature", "notice_date", "notice_doi",
            "notice_pmid", "reason", "raw",
        )
    )  # fmt: skip


def _day(column: str) -> pl.Expr:
    """`M/D/YYYY H:MM` (month first), or ISO; anything else is undated."""
    text = pl.col(column)
    american = r"^(\d{1,2})/(\d{1,2})/(\d{4})(?:\s|$)"
    parts = text.str.extract_groups(american)
    padded = pl.concat_str(
        parts.struct[2], pl.lit("-"), parts.struct[0].str.zfill(2), pl.lit("-"), parts.struct[1].str.zfill(2)
    )
    iso = text.str.extract(r"^(\d{4}-\d{2}-\d{2})")
    return pl.coalesce(padded, iso).str.to_date("%Y-%m-%d", strict=False)


def _dois(column: pl.Series) -> pl.Series:
    """The DOIs of each field, in normal form; plain ones in one vectorised pass, the rest by the nine rules."""
    field = column.str.to_lowercase()
    plain = field.str.contains(_PLAIN_DOI).fill_null(False)
    odd = field.filter(~plain).drop_nulls().unique()
    read = {value: [found.doi for found in find_dois(value)] for value in odd}
    kept = field.to_frame("field").select(
        pl.when(plain).then(pl.concat_list("field")).otherwise(None).alias("plain"),
        pl.col("field"),
    )
    table = pl.DataFrame(
        {"field": list(read), "odd": list(read.values())}, schema={"field": pl.String, "odd": pl.List(pl.String)}
    )
    joined = kept.join(table, on="field", how="left", maintain_order="left")
    return joined.select(pl.coalesce("plain", "odd").alias(column.name))[column.name]


def _pmids(column: pl.Series) -> pl.Series:
    values = column.drop_nulls().unique()
    table = {value: normalise_pmid(value) for value in values}
    return column.replace_strict(list(table), list(table.values()), default=None, return_dtype=pl.String)
