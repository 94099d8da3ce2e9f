"""Sweeps: works asked of the configured registers, for a night, for days past, and for what was known then.

Documents are not touched. How registers are asked and what their notices mean is in `dois`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta

import polars as pl
from pydantic import ValidationError

from verification_pipeline import duckdb_file
from verification_pipeline.config import Registers
from verification_pipeline.dois import sweep
from verification_pipeline.dois.normalise import normalise_doi
from verification_pipeline.dois.statuses import WORKS, extended
from verification_pipeline.errors import UsageError
from verification_pipeline.night import Night
from verification_pipeline.shards import Scope
from verification_pipeline.store import Store

TABLES = ("doi_lookups", "doi_notices", "doi_statuses")
_REGISTERS_FILE = "registers.json"

Days = tuple[date, date]
"""First and last day, both included."""


@dataclass(frozen=True, slots=True)
class Swept:
    """What a sweep gives: periods of `doi_statuses` within the days asked about, and registers that were down.

    `history` has the same periods uncut, with what is stored of the days before and after.
    """

    statuses: pl.DataFrame
    history: pl.DataFrame
    outages: list[str]


def sweep_works(night: Night) -> list[str]:
    """Bring lookups, notices and statuses up to date; returns the registers that were down, each with its reason."""
    works = cited_works(night.store, sorted(night.scope.settings))
    registers = registers_of(night.scope)
    remember_registers(night.store, registers)
    outages = _ask(night.store, works, registers, (night.day, night.day), night.started_at)
    night.progress("sweep", 1, 1)
    return outages


def unanswered_at(store: Store, asked_at: datetime) -> list[str]:
    """What the registers left unanswered of what the run of this moment asked them, a line a register."""
    lookups = store.read("doi_lookups").filter(pl.col("asked_at") == asked_at)
    failed = lookups.filter(pl.col("outcome").str.starts_with("failed:"))
    reasons = failed.group_by("register").agg(pl.len(), pl.col("outcome").min().str.strip_prefix("failed:"))
    return [
        f"register {register} did not answer for {count} of {lookups.filter(register=register).height} works ({reason})"
        for register, count, reason in reasons.sort("register").iter_rows()
    ]


def registers_of(scope: Scope) -> Registers:
    """The registers of a night: those its corpora configure. UsageError when two corpora configure different ones.

    Statuses belong to the archive, not to a corpus: one register cannot have two contents on one night.
    """
    named = {
        corpus: settings.registers for corpus, settings in scope.settings.items() if settings.registers != Registers()
    }
    different = {registers.model_dump_json(): corpus for corpus, registers in sorted(named.items())}
    if len(different) > 1:
        corpora = " and ".join(sorted(different.values()))
        raise UsageError(f"corpora {corpora} configure different registers: verify them apart, or set them in --config")
    return next(iter(named.values()), Registers())


def any_register(registers: Registers) -> bool:
    """Whether any register is configured."""
    return bool(sweep.registers_asked(registers))


def remember_registers(store: Store, registers: Registers) -> None:
    """Keep a night's registers in OUT/registers.json, for sweeps that name none. Keys are never in settings."""
    told = registers.model_dump(mode="json", exclude_defaults=True)
    if registers.retraction_watch is not None:
        told["retraction_watch"] = str(registers.retraction_watch.absolute())
    store.write_if_other(store.root / _REGISTERS_FILE, json.dumps(told, indent=1, sort_keys=True).encode() + b"\n")


def last_registers(store: Store) -> Registers:
    """The registers of the last night; none before the first. UsageError: a damaged file."""
    path = store.root / _REGISTERS_FILE
    if not store.fetch(path):
        return Registers()
    try:
        return Registers.model_validate_json(path.read_bytes())
    except (OSError, ValidationError) as error:
        raise UsageError(f"{path} is damaged: name the registers, or run a night again") from error


def registers_by(store: Store, known_at: date) -> Registers:
    """The registers of the last night without those that nobody had asked by the end of a day, unless that is all.

    What was known on that day is not made doubtful by a register that was configured later.
    """
    registers = last_registers(store)
    asked = store.read("doi_lookups").filter(pl.col("asked_at") <= _end_of(known_at))["register"].unique()
    later = [name for name in sweep.registers_asked(registers) if name not in asked]
    if len(later) == len(sweep.registers_asked(registers)):
        return registers
    off = {name.replace("-", "_"): None if name == "retraction-watch" else False for name in later}
    return registers.model_copy(update=off)


def sweep_days(
    store: Store, works: pl.DataFrame, registers: Registers, days: Days, known_at: date | None, clock: datetime
) -> Swept:
    """Statuses of works over days. UsageError: days in the future, or the wrong way round.

    Up to now, the registers are asked and what they say is stored, with the statuses of these days. Of a past
    `known_at` (the end of that UTC day) nothing is asked and nothing stored: the answer is what was known then.
    """
    _refuse_impossible(days, known_at, clock.date())
    if known_at is None or known_at == clock.date():
        outages = _ask(store, works, registers, days, clock)
        _publish(store)
        history = store.read("doi_statuses").join(works, on="work_id", how="semi")
    else:
        outages = []
        history = sweep.known(works, _stored(store), registers, days, _end_of(known_at))
    return Swept(_within(history, days), history, outages)


def fill_days(store: Store, works: pl.DataFrame, registers: Registers, days: Days, clock: datetime) -> pl.DataFrame:
    """Statuses of works over days from what is stored, written to `doi_statuses`; nobody is asked. UsageError.

    Returns the periods within the days.
    """
    _refuse_impossible(days, None, clock.date())
    before = store.read("doi_statuses")
    fresh = sweep.known(works, _stored(store), registers, days, clock)
    after = extended(before, fresh, days, clock.date())
    if not after.equals(before):
        store.write("doi_statuses", after)
    _publish(store)
    return _within(after.join(works, on="work_id", how="semi"), days)


def on_each_day(statuses: pl.DataFrame, days: Days) -> dict[date, dict[str, int]]:
    """How many works have which status, on every day of a range, from periods within it."""
    each = pl.DataFrame({"day": pl.date_range(*days, eager=True)})
    holds = (pl.col("valid_from") <= pl.col("day")) & (
        pl.col("valid_to").is_null() | (pl.col("valid_to") > pl.col("day"))
    )
    spans = statuses.group_by("valid_from", "valid_to", "status").len()
    counted = each.join_where(spans, holds).group_by("day", "status").agg(pl.col("len").sum()).sort("day", "status")
    found: dict[date, dict[str, int]] = {day: {} for day in each["day"]}
    for day, status, count in counted.iter_rows():
        found[day][status] = count
    return found


def listed_works(lines: Iterable[str]) -> tuple[pl.DataFrame, list[str]]:
    """Works of a list with one DOI a line, and the lines that hold none (blank lines and `#` comments aside)."""
    dois: dict[str, None] = {}
    refused = []
    for line in lines:
        doi = normalise_doi(line.strip())
        if doi is not None:
            dois[doi] = None
        elif line.strip() and not line.lstrip().startswith("#"):
            refused.append(line.strip())
    rows = [(f"doi:{doi}", doi, None, None, None) for doi in dois]
    return pl.DataFrame(rows, schema=WORKS, orient="row"), refused


def cited_works(store: Store, corpora: list[str]) -> pl.DataFrame:
    """One row a work that documents of these corpora cite: work_id, doi, pmid, title, comment."""
    documents = store.read_all("documents", ["document_key", "corpus"]).filter(pl.col("corpus").is_in(corpora))
    columns = ["document_key", "work_id", "doi", "pmid", "title", "comment"]
    mentions = store.read_all("doi_mentions", columns).join(documents, on="document_key", how="semi")
    told = [pl.col(name).drop_nulls().first() for name in columns[2:]]
    return mentions.sort("work_id", "document_key").group_by("work_id", maintain_order=True).agg(told)


def _ask(store: Store, works: pl.DataFrame, registers: Registers, days: Days, clock: datetime) -> list[str]:
    """Ask the registers about works and store what was learnt; the registers that were down, with the reason."""
    before = _stored(store)
    result = sweep.run(works, before, registers, days, clock, clock)
    for name in TABLES:
        field = name.removeprefix("doi_")
        table = getattr(result, field)
        if not table.equals(getattr(before, field)):
            store.write(name, table)
    return [f"{outage.register}: {outage.reason}" for outage in result.outages]


def _publish(store: Store) -> None:
    """Bring the DuckDB file up to date, so that SQL sees what a sweep between two nights learnt."""
    duckdb_file.build(store.tables_folder(), store.root / "verification.duckdb", shards=store.shards)


def _stored(store: Store) -> sweep.Stored:
    return sweep.Stored(*(store.read(name) for name in TABLES))


def _end_of(day: date) -> datetime:
    return datetime.combine(day + timedelta(days=1), time(), UTC) - timedelta(microseconds=1)


def _within(periods: pl.DataFrame, days: Days) -> pl.DataFrame:
    """The periods that touch these days, cut to them; one that lasts beyond has no end."""
    first, last = days
    touching = (pl.col("valid_from") <= last) & (pl.col("valid_to").is_null() | (pl.col("valid_to") > first))
    return periods.filter(touching).with_columns(
        valid_from=pl.max_horizontal("valid_from", pl.lit(first)),
        valid_to=pl.when(pl.col("valid_to") <= last).then("valid_to"),
    )


def _refuse_impossible(days: Days, known_at: date | None, today: date) -> None:
    if days[0] > days[1]:
        raise UsageError(f"the days {days[0]}..{days[1]} run backwards")
    if days[1] > today:
        raise UsageError(f"{days[1]} has not come yet: no status of a future day is known (today is {today}, UTC)")
    if known_at is not None and known_at > today:
        raise UsageError(f"what will be known on {known_at} is not known yet (today is {today}, UTC)")
