"""Asks the configured registers about cited works and brings lookups, notices and statuses up to date.

The order of a sweep: every register reads or fails (an `Outage`, by name), every question becomes a row of
`doi_lookups`, what was seen is merged into `doi_notices`, statuses follow from both. Registers are one module each;
what an archive cites is in `mentions`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl

from verification_pipeline import tables
from verification_pipeline.config import Registers
from verification_pipeline.dois import crossref, openalex, pubmed, retraction_watch, statuses
from verification_pipeline.dois.normalise import base_doi
from verification_pipeline.dois.notices import Outage, merge_notices, sealed, vanished_share
from verification_pipeline.dois.online import Answers, Record, frame
from verification_pipeline.dois.precedence import REVERSED, kind_of

_FEW_NOTICES = 20
"""Below so many stored notices, some that vanish say nothing about the file."""


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

    `as_of` is a day or the first and last of a range; days that reach the clock's last until the next sweep.
    `known_at` (usually `clock`) is the moment whose knowledge counts. Works that are not swept keep what is stored of
    them.
    """
    lookups, notices = stored.lookups, stored.notices
    outages: list[Outage] = []
    for reply in _replies(statuses.identified(works), stored, settings, clock):
        lookups = _with_new(lookups, reply.questions)
        if reply.seen is not None:
            notices = merge_notices(notices, reply.seen, reply.register, clock, reply.answered)
        if reply.outage is not None:
            outages.append(reply.outage)
    learnt = Stored(lookups, notices, stored.statuses)
    days = statuses.as_range(as_of)
    fresh = known(works, learnt, settings, days, known_at)
    merged = statuses.extended(stored.statuses, fresh, days, clock.date())
    return SweepResult(lookups, notices, merged, tuple(outages))


def known(
    works: pl.DataFrame, stored: Stored, settings: Registers, as_of: date | tuple[date, date], known_at: datetime
) -> pl.DataFrame:
    """Statuses (`doi_statuses`) of works over a day or range by what is stored and was known at a moment; asks nobody.

    Periods start on the first day of the range at the earliest; the last one of a work has no end.
    """
    required, days = registers_asked(settings), statuses.as_range(as_of)
    return statuses.derive(works, stored.notices, stored.lookups, settings, required, days, known_at)


def registers_asked(settings: Registers) -> Sequence[str]:
    """The registers configured: `ok` needs an answer from each of them that can be asked about the work."""
    configured = {
        retraction_watch.REGISTER: settings.retraction_watch is not None,
        crossref.REGISTER: settings.crossref,
        pubmed.REGISTER: settings.pubmed,
        openalex.REGISTER: settings.openalex,
    }
    return [name for name, on in configured.items() if on]


@dataclass(frozen=True, slots=True)
class _Reply:
    """What one register gave: a question a work, the notices seen (None: no answer), and what could have closed.

    `answered` holds for the stored notices that the register would have shown again (None: all of its own).
    """

    register: str
    questions: pl.DataFrame
    seen: pl.DataFrame | None = None
    answered: pl.Expr | None = None
    outage: Outage | None = None


def _replies(asked: pl.DataFrame, stored: Stored, settings: Registers, clock: datetime) -> Iterator[_Reply]:
    if settings.retraction_watch is not None:
        yield _from_file(asked, stored.notices, settings.retraction_watch, settings, clock)
    if settings.crossref:
        yield _online(crossref.REGISTER, crossref.ask, "asked_doi", asked, stored, settings, clock)
    if settings.openalex:
        flagged = _online(openalex.REGISTER, openalex.ask, "asked_doi", asked, stored, settings, clock)
        yield flagged
        asked = _with_pmids(asked, flagged.seen)
    if settings.pubmed:
        yield _online(pubmed.REGISTER, pubmed.ask, "pmid", asked, stored, settings, clock)


def _from_file(asked: pl.DataFrame, stored: pl.DataFrame, path: Path, settings: Registers, clock: datetime) -> _Reply:
    register = retraction_watch.REGISTER
    snapshot = retraction_watch.read(path, settings, clock)
    if not isinstance(snapshot, Outage):
        own = stored.filter(pl.col("register") == register)
        known = own.filter(pl.col("work_id").str.starts_with("doi:"))["work_id"].str.strip_prefix("doi:")
        dois = pl.concat([statuses.spellings(asked), known]).unique()
        pmids = pl.concat([asked["pmid"], own["pmid"]]).drop_nulls().unique()
        seen = snapshot.notices(dois, pmids)
        lost = vanished_share(stored, seen, register)
        if lost <= settings.max_vanished_share or own.height < _FEW_NOTICES:
            hit = pl.col("work_id").is_in(statuses.concerned(asked, seen, settings).implode())
            outcome = pl.when(hit).then(pl.lit("found")).otherwise(pl.lit("clean"))
            return _Reply(register, _questions(asked, register, snapshot.snapshot, clock, outcome), seen)
        snapshot = Outage(register, f"half a file: {lost:.0%} of the notices known are gone from it")
    failed = _questions(asked, register, None, clock, pl.lit(f"failed:{snapshot.reason}"))
    return _Reply(register, failed, outage=snapshot)


def _online(
    register: str,
    ask: Callable[[Sequence[str], Registers], Coroutine[Any, Any, Answers]],
    column: str,
    asked: pl.DataFrame,
    stored: Stored,
    settings: Registers,
    clock: datetime,
) -> _Reply:
    """Ask an online register about the works that have `column` and no answer of tonight yet."""
    due = _due(asked.filter(pl.col(column).is_not_null()), register, stored.lookups, settings, clock)
    named = {key: base_doi(key) for key in due[column].unique().sort()}
    canaries = settings.canaries if column == "asked_doi" and due.height else ()
    keys = sorted({*named, *filter(None, named.values()), *canaries})
    answers = asyncio.run(ask(keys, settings)) if keys else Answers()
    retracted = {record["doi"] for record in answers.records if _retracts(record)}
    lost = [doi for doi in canaries if doi not in retracted and not answers.outcomes[doi].startswith("failed:")]
    if lost:
        answers.records = []
        answers.fail(keys, f"canary not retracted: {', '.join(lost)}")
    outcomes = {key: _outcome(key, base, answers) for key, base in named.items()}
    outcome = pl.col(column).replace_strict(list(outcomes), list(outcomes.values()), return_dtype=pl.String)
    if column == "pmid":
        elsewhere = (outcome == "unknown") & pl.col("asked_doi").is_not_null()
        outcome = pl.when(elsewhere).then(pl.lit("unknown:not indexed")).otherwise(outcome)
    questions = due.select(
        "work_id",
        register=pl.lit(register),
        snapshot=pl.lit(None, dtype=pl.String),
        asked_at=pl.lit(clock).cast(tables.MOMENT),
        outcome=outcome,
    )
    heard = [key for key in keys if not answers.outcomes[key].startswith("failed:")]
    failed = answers.failed()
    outage = Outage(register, _summary(failed, len(keys))) if failed else None
    return _Reply(register, questions, sealed(frame(answers.records), register), _shown_by(column, heard), outage)


def _due(
    asked: pl.DataFrame, register: str, lookups: pl.DataFrame, settings: Registers, clock: datetime
) -> pl.DataFrame:
    since = pl.lit(clock - timedelta(hours=settings.fresh_hours)).cast(tables.MOMENT)
    answered = lookups.filter(
        (pl.col("register") == register) & (pl.col("asked_at") > since) & ~pl.col("outcome").str.starts_with("failed")
    )
    return asked.join(answered, on="work_id", how="anti")


def _outcome(key: str, base: str | None, answers: Answers) -> str:
    """The outcome of a work; a preprint's version stands for its base where only that is registered (rule 7)."""
    own = answers.outcomes[key]
    return answers.outcomes[base] if base is not None and own.startswith(("unknown", "clean")) else own


def _retracts(record: Record) -> bool:
    return kind_of(str(record["nature"])) in ("retraction", "flag") and record.get("reason") != REVERSED


def _shown_by(column: str, heard: list[str]) -> pl.Expr:
    """Stored notices about, or published as, one of the works that a register answered for."""
    if column == "pmid":
        return pl.col("pmid").is_in(heard) | pl.col("notice_pmid").is_in(heard)
    return pl.col("work_id").is_in([f"doi:{key}" for key in heard]) | pl.col("notice_doi").is_in(heard)


def _summary(failed: dict[str, int], asked: int) -> str:
    reasons = ", ".join(
        f"{reason} ({count})" for reason, count in sorted(failed.items(), key=lambda one: (-one[1], one))
    )
    return f"{sum(failed.values())} of {asked} questions failed: {reasons}"


def _with_pmids(asked: pl.DataFrame, flagged: pl.DataFrame | None) -> pl.DataFrame:
    """Works that OpenAlex flags, with its PubMed id for them: PubMed can then confirm the flag (row 18)."""
    if flagged is None:
        return asked
    ids = flagged.select(asked_doi=pl.col("work_id").str.strip_prefix("doi:"), flagged_pmid="pmid").unique("asked_doi")
    joined = asked.join(ids, on="asked_doi", how="left", maintain_order="left")
    return joined.with_columns(pmid=pl.coalesce("pmid", "flagged_pmid")).drop("flagged_pmid")


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
    """Stored questions and those that are new: a file asked again about the same work is the same question.

    Of equal answers in a row only the first and the last stay. They tell what was known at any moment, and the table
    grows with what changes instead of with the nights.
    """
    same = ["work_id", "register", "snapshot", "outcome"]
    repeated = asked.filter(pl.col("snapshot").is_not_null()).join(stored, on=same, how="semi")
    new = asked.join(repeated, on=same, how="anti", nulls_equal=True)
    history = pl.concat([stored, new]).sort("work_id", "register", "asked_at", maintain_order=True)
    like_before, like_after = (
        pl.all_horizontal(pl.col(name) == pl.col(name).shift(step) for name in ("work_id", "register", "outcome"))
        for step in (1, -1)
    )
    kept = history.filter(~(like_before & like_after).fill_null(False))
    return kept.sort(tables.sort_keys("doi_lookups"), nulls_last=True)
