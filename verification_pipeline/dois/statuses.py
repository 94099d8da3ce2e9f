"""Works, notices and answers -> the status of every work over a range of days, as it was known at a moment.

Two times are kept apart. `as_of` runs over the days on which a notice was in force (its own date); `known_at` fixes
what we had seen (its observation, and the questions asked by then). Statuses are periods: a range of 2,500 days costs
no more than the notices in it. Which status notices give is in `precedence`; asking is in `sweep`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from itertools import groupby
from operator import itemgetter
from typing import Any

import polars as pl

from verification_pipeline import tables
from verification_pipeline.config import Registers
from verification_pipeline.dois import precedence
from verification_pipeline.dois.normalise import arxiv_doi, base_doi
from verification_pipeline.dois.notices import live_at

NEEDS = {
    "retraction-watch": ("doi", "pmid"),
    "crossref": ("doi",),
    "pubmed": ("pmid",),
    "openalex": ("doi",),
}
"""What a register can be asked by: any of these."""

_SCHEMA = tables.TABLES["doi_statuses"].schema
_SAID = [name for name in _SCHEMA if name not in ("valid_from", "valid_to")]
_READ = (
    "register",
    "nature",
    "notice_date",
    "observed_at",
    "notice_doi",
    "notice_url",
    "reason",
    "work_date",
    "witness",
    "notice_work",
)
WORKS = {"work_id": pl.String, "doi": pl.String, "pmid": pl.String, "title": pl.String, "comment": pl.String}


@dataclass(frozen=True, slots=True)
class _Answers:
    """What the registers said of one kind of work: a group of works that were answered alike."""

    registers: tuple[str, ...]
    missing: tuple[str, ...]
    stale: bool
    unknown: str | None


def derive(
    works: pl.DataFrame,
    notices: pl.DataFrame,
    lookups: pl.DataFrame,
    settings: Registers,
    required: Sequence[str],
    as_of: tuple[date, date],
    known_at: datetime,
) -> pl.DataFrame:
    """`doi_statuses` of the works over the days `as_of` (first and last, both in it), as known at `known_at`.

    `works`: work_id, doi, pmid, title, comment, one row a work; `notices`, `lookups`: everything stored, of any time;
    `required`: the registers configured. A work without a notice has one period; every other has one a change.
    """
    asked = identified(works)
    answers = _answers(asked, lookups, required, known_at)
    signs = _signs(asked, settings)
    live = live_at(notices, known_at)
    about = _about(asked, live)
    published = _published_as_notice(asked, live, settings)
    plain = asked.join(signs, on="work_id", how="left").join(answers, on="work_id", how="left")
    special = set(about["work_id"]) | set(published)
    quiet = plain.filter(~pl.col("work_id").is_in(list(special)) & pl.col("sign").is_null())
    spoken = plain.filter(pl.col("work_id").is_in(list(special)) | pl.col("sign").is_not_null())
    rows = list(_spoken_periods(spoken, about, set(published), settings, as_of))
    periods = pl.DataFrame(rows, schema=_SCHEMA, orient="row")
    return pl.concat([_quiet_periods(quiet, as_of[0]), periods]).sort(tables.sort_keys("doi_statuses"))


def extended(previous: pl.DataFrame, fresh: pl.DataFrame, as_of: tuple[date, date], today: date) -> pl.DataFrame:
    """Stored periods with the days `as_of` replaced by `fresh`; adjacent periods that say the same become one.

    Days that reach `today` last until another sweep says otherwise. A back-fill of older days says nothing of the
    days after them: it ends where they end, and what was stored of later days stays.
    """
    first, after = as_of[0], as_of[1] + timedelta(days=1)
    swept = pl.col("work_id").is_in(fresh["work_id"].unique().implode())
    before = previous.filter(swept & (pl.col("valid_from") < first)).with_columns(
        valid_to=pl.min_horizontal(pl.col("valid_to"), pl.lit(first))
    )
    parts = [before, fresh]
    if as_of[1] < today:
        lasting = pl.col("valid_to").is_null() | (pl.col("valid_to") > after)
        later = previous.filter(swept & lasting).with_columns(
            valid_from=pl.max_horizontal(pl.col("valid_from"), pl.lit(after))
        )
        parts = [before, fresh.with_columns(pl.col("valid_to").fill_null(after)), later]
    kept = previous.filter(~swept)
    return pl.concat([kept, _coalesced(pl.concat(parts))]).sort(tables.sort_keys("doi_statuses"))


def identified(works: pl.DataFrame) -> pl.DataFrame:
    """The works with the DOI under which registers are asked: an arXiv paper's is the one DataCite registers."""
    arxiv = pl.col("work_id").str.strip_prefix("arxiv:")
    by_arxiv = pl.when(pl.col("work_id").str.starts_with("arxiv:")).then(
        arxiv.map_elements(arxiv_doi, return_dtype=pl.String)
    )
    return works.select(list(WORKS)).with_columns(asked_doi=pl.coalesce("doi", by_arxiv))


def spellings(asked: pl.DataFrame) -> pl.Series:
    """Every DOI under which a register may hold one of the works: as cited, and without a preprint's version."""
    dois = asked["asked_doi"].drop_nulls()
    versioned = dois.filter(dois.str.contains(r"v[0-9]{1,3}$"))
    bases = [base for base in map(base_doi, versioned) if base]
    return pl.concat([dois, pl.Series("asked_doi", bases, dtype=pl.String)]).unique()


def concerned(asked: pl.DataFrame, notices: pl.DataFrame, settings: Registers) -> pl.Series:
    """work_id of the works that these notices are about, or are."""
    published = _published_as_notice(asked, notices, settings)
    return pl.concat([_about(asked, notices)["work_id"], pl.Series("work_id", published, dtype=pl.String)]).unique()


def as_range(as_of: date | tuple[date, date]) -> tuple[date, date]:
    """A day, or first and last day, as first and last day."""
    return as_of if isinstance(as_of, tuple) else (as_of, as_of)


def applies(register: str) -> pl.Expr:
    """Whether a register can be asked about a work (columns asked_doi, pmid)."""
    columns = {"doi": "asked_doi", "pmid": "pmid"}
    return pl.any_horizontal(pl.col(columns[name]).is_not_null() for name in NEEDS[register])


def _answers(asked: pl.DataFrame, lookups: pl.DataFrame, required: Sequence[str], known_at: datetime) -> pl.DataFrame:
    """Per work: the registers that answered, those that are required and never did, and whether one failed since."""
    known = lookups.filter(pl.col("asked_at") <= pl.lit(known_at).cast(tables.MOMENT)).sort(
        "asked_at", maintain_order=True
    )
    failed = pl.col("outcome").str.starts_with("failed")
    silent = pl.col("outcome").str.starts_with("unknown:")
    last = known.group_by("work_id", "register").agg(
        answered=(~failed & ~silent).any(),
        failing=failed.last(),
        outcome=pl.col("outcome").last(),
        good=pl.col("outcome").filter(~failed).last(),
    )
    table = asked.select("work_id", "asked_doi", "pmid")
    for register in required:
        one = last.filter(pl.col("register") == register).select(
            "work_id",
            pl.col("answered").alias(f"answered {register}"),
            pl.col("failing").alias(f"failing {register}"),
            pl.coalesce("good", "outcome").alias(f"outcome {register}"),
        )
        table = table.join(one, on="work_id", how="left")
    answered = [pl.col(f"answered {name}").fill_null(False) for name in required]
    names = [pl.when(flag).then(pl.lit(name)) for name, flag in zip(required, answered, strict=True)]
    missing = [
        pl.when(applies(name) & ~flag & ~pl.col(f"outcome {name}").fill_null("").str.starts_with("unknown:")).then(
            pl.lit(f"{name} ") + pl.coalesce(pl.col(f"outcome {name}"), pl.lit("not asked"))
        )
        for name, flag in zip(required, answered, strict=True)
    ]
    stale = [flag & pl.col(f"failing {name}").fill_null(False) for name, flag in zip(required, answered, strict=True)]
    unknown = [pl.when(pl.col(f"outcome {name}") == "unknown").then(pl.lit(f"unknown to {name}")) for name in required]
    return table.select(
        "work_id",
        registers=pl.concat_list(names).list.drop_nulls() if names else pl.lit([], dtype=tables.TEXTS),
        missing=pl.concat_list(missing).list.drop_nulls() if names else pl.lit([], dtype=tables.TEXTS),
        stale=pl.any_horizontal(stale) if names else pl.lit(False),
        unknown=pl.coalesce(unknown) if names else pl.lit(None, dtype=pl.String),
    )


def _quiet_periods(quiet: pl.DataFrame, first: date) -> pl.DataFrame:
    """One period for every work of which no register and no title says anything."""
    nobody = pl.col("registers").list.len() == 0
    lacking = pl.col("missing").list.len() > 0
    unnamed = pl.col("asked_doi").is_null() & pl.col("pmid").is_null()
    reason = (
        pl.when(unnamed)
        .then(pl.lit("no identifier"))
        .when(lacking)
        .then(pl.col("missing").list.join("; "))
        .when(nobody)
        .then(pl.lit("no register asked"))
        .otherwise("unknown")
    )
    return quiet.select(
        "work_id",
        "doi",
        valid_from=pl.lit(first, dtype=pl.Date),
        valid_to=pl.lit(None, dtype=pl.Date),
        status=pl.when(reason.is_null()).then(pl.lit(precedence.OK)).otherwise(pl.lit(precedence.UNAVAILABLE)),
        date=pl.lit(None, dtype=pl.Date),
        notice_url=pl.lit(None, dtype=pl.String),
        flags=pl.when(pl.col("stale")).then(pl.lit(["stale"])).otherwise(pl.lit([], dtype=tables.TEXTS)),
        registers="registers",
        disagreement=pl.lit(None, dtype=pl.String),
        stale="stale",
        reason=reason,
    )


def _spoken_periods(
    spoken: pl.DataFrame,
    about: pl.DataFrame,
    published: set[str],
    settings: Registers,
    as_of: tuple[date, date],
) -> Iterator[tuple[object, ...]]:
    rows = about.select("work_id", *_READ).iter_rows(named=True)
    by_work = {
        work_id: [_notice(row, settings) for row in group] for work_id, group in groupby(rows, itemgetter("work_id"))
    }
    for work in spoken.iter_rows(named=True):
        all_notices = by_work.get(work["work_id"], [])
        answers = _Answers(tuple(work["registers"]), tuple(work["missing"]), work["stale"], work["unknown"])
        yield from _periods(work, all_notices, work["work_id"] in published, answers, as_of)


def _periods(
    work: dict[str, Any],
    all_notices: list[precedence.Notice],
    is_notice: bool,
    answers: _Answers,
    as_of: tuple[date, date],
) -> list[tuple[object, ...]]:
    notices = precedence.reconciled(all_notices)
    first, last = as_of
    changes = sorted({first} | {one.since for one in notices if one.since and first < one.since <= last})
    periods: list[tuple[date, tuple[object, ...]]] = []
    for day in changes:
        in_force = [one for one in notices if one.since is None or one.since <= day]
        known = [one for one in all_notices if one.since is None or one.since <= day]
        decision = precedence.decide(in_force, doi=work["asked_doi"], is_notice=is_notice, sign=work["sign"])
        said = _said(decision, known, work, answers)
        if not periods or periods[-1][1] != said:
            periods.append((day, said))
    ends: list[date | None] = [start for start, _ in periods[1:]] + [None]
    return [(work["work_id"], work["doi"], start, end, *said) for (start, said), end in zip(periods, ends, strict=True)]


def _said(
    decision: precedence.Decision, known: list[precedence.Notice], work: dict[str, Any], answers: _Answers
) -> tuple[object, ...]:
    """The columns from `status` on. What a register failed to confirm is never `ok`."""
    status, reason = decision.status, decision.reason
    flags = set(decision.flags) | ({"stale"} if answers.stale else set())
    named = work["asked_doi"] or work["pmid"]
    lacking = list(answers.missing) or (["no register asked"] if named and not answers.registers else [])
    if answers.unknown and not known:
        lacking.append(answers.unknown)
    if status == precedence.OK and lacking:
        status, reason = precedence.UNAVAILABLE, "; ".join(lacking)
    elif lacking and status != precedence.UNAVAILABLE:
        flags.add("incomplete")
        reason = "; ".join(filter(None, [reason, *lacking]))
    elif status == precedence.OK:
        reason = None
    disagreement = decision.disagreement or _disagreement(status, known, work["asked_doi"], answers)
    return (
        status,
        decision.date,
        decision.notice_url,
        sorted(flags),
        list(answers.registers),
        disagreement,
        answers.stale,
        reason,
    )


def _disagreement(status: str, known: list[precedence.Notice], doi: str, answers: _Answers) -> str | None:
    if len(answers.registers) < 2:
        return None
    silent = {name: precedence.OK for name in answers.registers if name != "openalex"}
    alone = silent | precedence.by_register(known, doi)
    other = {name: value for name, value in alone.items() if value != status and name in answers.registers}
    return "; ".join(f"{name}: {value}" for name, value in sorted(other.items())) or None


def _notice(row: dict[str, Any], settings: Registers) -> precedence.Notice:
    stated = row["notice_date"]
    observed = row["observed_at"]
    since = None
    if isinstance(stated, date) and stated.year >= settings.oldest_year:
        since = min(stated, observed.date()) if isinstance(observed, datetime) else stated
    reasons = {part.strip().casefold() for part in str(row["reason"] or "").split(";")}
    return precedence.Notice(
        register=str(row["register"]),
        nature=str(row["nature"]),
        date=stated,
        since=since,
        notice_doi=row["notice_doi"],
        notice_url=row["notice_url"],
        reasons=frozenset(reasons - {""}),
        work_date=row["work_date"],
        witness=str(row["witness"] or ""),
        key=str(row["notice_work"]),
    )


def _about(asked: pl.DataFrame, live: pl.DataFrame) -> pl.DataFrame:
    """Live notices with the work they are about: by exact DOI, else base or loose DOI, else PubMed id (rules 7, 8)."""
    notices = live.with_columns(
        notice_work="work_id",
        key=pl.col("work_id").str.strip_prefix("doi:"),
        has_doi=pl.col("work_id").str.starts_with("doi:"),
    ).drop("work_id")
    by_doi = notices.filter("has_doi")
    exact = _joined(asked.select("work_id", key="asked_doi"), by_doi, "key")
    rest = asked.filter(~pl.col("work_id").is_in(exact["work_id"].implode()))
    versions = rest.select("work_id", key=pl.col("asked_doi").map_elements(base_doi, return_dtype=pl.String))
    based = _joined(versions, by_doi, "key")
    rest = rest.filter(~pl.col("work_id").is_in(based["work_id"].implode()))
    loose = _joined(
        rest.select("work_id", loose=pl.col("asked_doi").str.replace_all("[<>]", "")),
        by_doi.with_columns(loose=pl.col("key").str.replace_all("[<>]", "")),
        "loose",
    ).drop("loose")
    rest = rest.filter(~pl.col("work_id").is_in(loose["work_id"].implode()))
    undoubted = rest.filter(pl.col("asked_doi").is_null())
    by_pmid = _joined(undoubted.select("work_id", "pmid"), notices, "pmid")
    doubtful = asked.filter(pl.col("asked_doi").is_not_null())
    by_only_pmid = _joined(doubtful.select("work_id", "pmid"), notices.filter(~pl.col("has_doi")), "pmid")
    columns = exact.columns
    return pl.concat([part.select(columns) for part in (exact, based, loose, by_pmid, by_only_pmid)]).sort(
        "work_id", "notice_id"
    )


def _joined(works: pl.DataFrame, notices: pl.DataFrame, key: str) -> pl.DataFrame:
    return works.filter(pl.col(key).is_not_null()).join(notices, on=key, how="inner")


def _published_as_notice(asked: pl.DataFrame, live: pl.DataFrame, settings: Registers) -> list[str]:
    """Works that another work's notice names as itself, or whose title is that of a notice (row 16)."""
    own = pl.col("work_id") == "doi:" + pl.col("notice_doi")
    speaks = pl.col("nature").map_elements(precedence.is_notice_of, return_dtype=pl.Boolean)
    straight = pl.col("reason").fill_null("") != precedence.REVERSED
    foreign = live.filter(~own.fill_null(False) & straight & speaks)
    by_doi = asked.filter(pl.col("asked_doi").is_in(foreign["notice_doi"].drop_nulls().implode()))
    unnamed = asked.filter(pl.col("asked_doi").is_null())
    by_pmid = unnamed.filter(pl.col("pmid").is_in(foreign["notice_pmid"].drop_nulls().implode()))
    words = "|".join(re.escape(word) for word in settings.notice_titles)
    titled = asked.filter(pl.col("title").str.contains(rf"(?i)^\W*(?:{words})(?:\s*[:：—–]|\s+(?:to|of|for)\b)"))
    return [*by_doi["work_id"], *by_pmid["work_id"], *titled["work_id"]]


def _signs(asked: pl.DataFrame, settings: Registers) -> pl.DataFrame:
    """What a work's own title or comment says of it: `retracted`, `withdrawn` (row 21)."""
    words = "|".join(re.escape(word) for word in settings.title_signs)
    kind = r"(?:\s+(?:article|paper|chapter|manuscript|publication|preprint|study))?"
    before = rf"(?i)^\W*(?:{words}){kind}(?:\s*[:：\]\)】]|\s+[-–—]\s)"
    around = rf"(?i)[\[\(【](?:{words}){kind}(?:\s+(?:in|on)\s+[\w ]{{1,20}})?(?:[\]\)】]|[.,;:]\s)"
    title, comment = pl.col("title").fill_null(""), pl.col("comment").fill_null("")
    sign = (
        pl.when(comment.str.contains(_says("withdrawn")))
        .then(pl.lit("withdrawn"))
        .when(comment.str.contains(_says("retracted")))
        .then(pl.lit("retracted"))
        .when(title.str.contains(before) | title.str.contains(around))
        .then(pl.lit("retracted"))
    )
    return asked.select("work_id", sign=sign)


def _says(participle: str) -> str:
    """A comment in which the authors or the server say so; `never withdrawn` and `not withdrawn` do not."""
    been = r"\b(?:has|have|was|were|is)\s+(?:since\s+|now\s+|later\s+)?(?:been\s+)?"
    return rf"(?i){been}{participle}\b|\b{participle}\s+by\b|^\W*{participle}\b"


def _coalesced(periods: pl.DataFrame) -> pl.DataFrame:
    ordered = periods.sort("work_id", "valid_from", maintain_order=True)
    same = pl.all_horizontal(pl.col(name).eq_missing(pl.col(name).shift(1)) for name in _SAID)
    touching = pl.col("valid_from").eq_missing(pl.col("valid_to").shift(1))
    grouped = ordered.with_columns(run=(~(same & touching)).cum_sum())
    return (
        grouped.group_by("run", maintain_order=True)
        .agg(*(pl.col(name).first() for name in _SCHEMA if name != "valid_to"), valid_to=pl.col("valid_to").last())
        .select(list(_SCHEMA))
    )
