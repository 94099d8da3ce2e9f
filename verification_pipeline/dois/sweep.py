"""Asks the configured registers about cited works and brings lookups, notices and statuses up to date.

The order of a sweep: every register reads or fails (an `Outage`, by name), every question becomes a row of
`doi_lookups`, what was seen is merged into `doi_notices`, statuses follow from both. Registers are one module each;
what an archive cites is in `mentions`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime

import polars as pl

from verification_pipeline import tables
from verification_pipeline.config import Registers
from verification_pipeline.dois import retraction_watch, statuses
from verification_pipeline.dois.notices import Outage, merge_notices, vanished_share


@dataclass(frozen=True, slots=True)
class Stored:
    """What earlier sweeps left: the tables doi_lookups, doi_notices and doi_statuses."""

    lookups: pl.DataFrame
    notices: pl.DataFrame
    statuses: pl.DataFrame

    @classmethod
    def nothing(cls) -> Stored:
        """Before the first sweep."""
        return cls(*(tables.empty(name) for name in ("doi_lookups", "doi_notices", "doi_statuses")))


@dataclass(frozen=True, slots=True)
class SweepResult:
    """The three tables in their new state, whole, and the registers that were down."""

    lookups: pl.DataFrame
    notices: pl.DataFrame
    statuses: pl.DataFrame
    outages: tuple[Outage, ...]


def run(
    works: pl.DataFrame,
    stored: Stored,
    settings: Registers,
    as_of: date | tuple[date, date],
    known_at: datetime,
    clock: datetime,
) -> SweepResult:
    """Sweep `works` (work_id, doi, pmid, title, comment; one row a work) at the moment `clock`.

    `as_of` is a day or the first and last of a range; `known_at` (usually `clock`) is the moment whose knowledge
    counts. Works that are not swept keep what is stored of them.
    """
    asked = statuses.identified(works)
    lookups, notices = stored.lookups, stored.notices
    outages: list[Outage] = []
    if settings.retraction_watch is not None:
        found = _retraction_watch(asked, notices, settings, clock)
        if isinstance(found, Outage):
            outages.append(found)
            rows = _questions(asked, found.register, None, clock, pl.lit(f"failed:{found.reason}"))
        else:
            seen, snapshot = found
            notices = merge_notices(notices, seen, retraction_watch.REGISTER, clock)
            hit = pl.col("work_id").is_in(statuses.concerned(asked, seen, settings).implode())
            outcome = pl.when(hit).then(pl.lit("found")).otherwise(pl.lit("clean"))
            rows = _questions(asked, retraction_watch.REGISTER, snapshot, clock, outcome)
        lookups = _with_new(lookups, rows)
    days = statuses.as_range(as_of)
    fresh = statuses.derive(works, notices, lookups, settings, registers_asked(settings), days, known_at)
    last_sweep = stored.lookups["asked_at"].max()
    swept_until = last_sweep.date() if isinstance(last_sweep, datetime) else None
    merged = statuses.extended(stored.statuses, fresh, days, swept_until)
    return SweepResult(lookups, notices, merged, tuple(outages))


def registers_asked(settings: Registers) -> Sequence[str]:
    """The registers configured: `ok` needs an answer from each of them."""
    return [retraction_watch.REGISTER] if settings.retraction_watch is not None else []


def _retraction_watch(
    asked: pl.DataFrame, stored: pl.DataFrame, settings: Registers, clock: datetime
) -> tuple[pl.DataFrame, str] | Outage:
    assert settings.retraction_watch is not None
    snapshot = retraction_watch.read(settings.retraction_watch, settings, clock)
    if isinstance(snapshot, Outage):
        return snapshot
    own = stored.filter(pl.col("register") == retraction_watch.REGISTER)
    known = own.filter(pl.col("work_id").str.starts_with("doi:"))["work_id"].str.strip_prefix("doi:")
    dois = pl.concat([statuses.spellings(asked), known]).unique()
    pmids = pl.concat([asked["pmid"], own["pmid"]]).drop_nulls().unique()
    seen = snapshot.notices(dois, pmids)
    lost = vanished_share(stored, seen, retraction_watch.REGISTER)
    if lost > settings.max_vanished_share and own.height >= 20:
        return Outage(retraction_watch.REGISTER, f"half a file: {lost:.0%} of the notices known are gone from it")
    return seen, snapshot.snapshot


def _questions(
    asked: pl.DataFrame, register: str, snapshot: str | None, clock: datetime, outcome: pl.Expr
) -> pl.DataFrame:
    """One row for every work that this register can be asked about."""
    return asked.filter(statuses.applies(register)).select(
        "work_id",
        register=pl.lit(register),
        snapshot=pl.lit(snapshot, dtype=pl.String),
        asked_at=pl.lit(clock).cast(tables.MOMENT),
        outcome=outcome,
    )


def _with_new(stored: pl.DataFrame, asked: pl.DataFrame) -> pl.DataFrame:
    """Stored questions and those that are new: a file asked again about the same work is the same question."""
    same = ["work_id", "register", "snapshot", "outcome"]
    repeated = asked.filter(pl.col("snapshot").is_not_null()).join(stored, on=same, how="semi")
    new = asked.join(repeated, on=same, how="anti", nulls_equal=True)
    return pl.concat([stored, new]).sort(tables.sort_keys("doi_lookups"), nulls_last=True)
