"""Notices as a register holds them: raw rows with the time in which we saw them there.

A notice is the same one as long as its register shows the same record with the same content. A changed record
closes the old row and opens a new one, a vanished record closes its row, so that any past knowledge can be read
again: live at T = `observed_at <= T < observed_until`. What notices mean is in `precedence`.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

import polars as pl

from verification_pipeline import tables
from verification_pipeline.dois.normalise import doi_url
from verification_pipeline.keys import hash_of

_CONTENT = ("work_id", "pmid", "work_date", "witness", "nature", "notice_date", "notice_doi", "notice_pmid", "reason")


@dataclass(frozen=True, slots=True)
class Outage:
    """A register that could not be asked, or whose answer cannot be trusted, and why."""

    register: str
    reason: str


def pubmed_url(pmid: str) -> str:
    """The page of a PubMed id."""
    return f"https://pubmed.ncbi.nlm.nih.gov/{pmid}/"


def sealed(records: pl.DataFrame, register: str) -> pl.DataFrame:
    """Normalised records as rows of `doi_notices`, named by register, record and content; not yet observed.

    `records` has record (the register's own name for it, or null), doi, pmid, work_date, witness, nature,
    notice_date, notice_doi, notice_pmid, reason, raw (a struct, or JSON text).
    """
    raw = pl.col("raw").struct.json_encode() if isinstance(records.schema["raw"], pl.Struct) else pl.col("raw")
    rows = records.filter(pl.col("doi").is_not_null() | pl.col("pmid").is_not_null()).with_columns(
        work_id=pl.coalesce("doi:" + pl.col("doi"), "pmid:" + pl.col("pmid")),
        register=pl.lit(register),
        raw=raw,
        observed_at=pl.lit(None, dtype=tables.MOMENT),
        observed_until=pl.lit(None, dtype=tables.MOMENT),
    )
    parts = rows.select("record", *_CONTENT).cast(pl.String).fill_null("").iter_rows()
    urls = [
        doi_url(doi) if doi else pubmed_url(pmid) if pmid else None
        for doi, pmid in rows.select("notice_doi", "notice_pmid").iter_rows()
    ]
    return (
        rows.with_columns(
            notice_id=pl.Series([hash_of("notice", register, *part) for part in parts], dtype=pl.String),
            notice_url=pl.Series(urls, dtype=pl.String),
        )
        .select(list(tables.TABLES["doi_notices"].schema))
        .unique("notice_id", keep="first", maintain_order=True)
    )


def merge_notices(
    stored: pl.DataFrame,
    seen: pl.DataFrame,
    register: str,
    snapshot_time: datetime,
    answered: pl.Expr | None = None,
) -> pl.DataFrame:
    """Stored notices brought up to date with what `register` shows at `snapshot_time` (`doi_notices`, both).

    A seen notice that is live in the store stays as it is; a new one opens; a live one that is not seen closes. Only
    stored
    rows for which `answered` holds can close (None: the whole register was read). One that had closed and is back is a
    new row under a derived id, so the gap stays on record.
    """
    own = pl.col("register") == register
    live = own & pl.col("observed_until").is_null()
    closed = set(stored.filter(own & pl.col("observed_until").is_not_null())["notice_id"])
    seen = seen.with_columns(notice_id=pl.Series([_free(one, closed) for one in seen["notice_id"]], dtype=pl.String))
    gone = live & ~pl.col("notice_id").is_in(seen["notice_id"].implode())
    if answered is not None:
        gone &= answered.fill_null(False)
    moment = pl.lit(snapshot_time).cast(tables.MOMENT)
    kept = stored.with_columns(observed_until=pl.when(gone).then(moment).otherwise("observed_until"))
    opened = seen.filter(~pl.col("notice_id").is_in(stored["notice_id"].implode())).with_columns(observed_at=moment)
    return pl.concat([kept, opened]).sort(tables.sort_keys("doi_notices"), nulls_last=True)


def vanished_share(stored: pl.DataFrame, seen: pl.DataFrame, register: str) -> float:
    """The share of the stored live notices of `register` whose work it no longer mentions at all."""
    live = stored.filter((pl.col("register") == register) & pl.col("observed_until").is_null())
    if not live.height:
        return 0.0
    held = live.filter(pl.col("work_id").is_in(seen["work_id"].implode())).height
    return 1 - held / live.height


def live_at(notices: pl.DataFrame, moment: datetime) -> pl.DataFrame:
    """The notices known at `moment`."""
    known = pl.lit(moment).cast(tables.MOMENT)
    return notices.filter(
        (pl.col("observed_at") <= known) & (pl.col("observed_until").is_null() | (known < pl.col("observed_until")))
    )


def _free(notice_id: str, closed: set[str]) -> str:
    while notice_id in closed:
        notice_id = hash_of("again", notice_id)
    return notice_id
