"""The sweep of a night: every work that any document cites, asked of the registers its corpus configures."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, datetime

import polars as pl

from verification_pipeline.config import Registers
from verification_pipeline.dois import sweep
from verification_pipeline.dois.normalise import normalise_doi
from verification_pipeline.errors import UsageError
from verification_pipeline.night import Night
from verification_pipeline.shards import Scope
from verification_pipeline.store import Store

TABLES = ("doi_lookups", "doi_notices", "doi_statuses")


def sweep_works(night: Night) -> list[str]:
    """Bring lookups, notices and statuses up to date; returns the registers that were down, each with its reason."""
    works = cited_works(night.store, sorted(night.scope.settings))
    outages = sweep_day(night.store, works, registers_of(night.scope), night.day, night.started_at)
    night.progress("sweep", 1, 1)
    return outages


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


def sweep_day(store: Store, works: pl.DataFrame, registers: Registers, day: date, clock: datetime) -> list[str]:
    """Sweep works as of one day and store what was learnt; returns the registers that were down, with the reason."""
    before = {name: store.read(name) for name in TABLES}
    result = sweep.run(works, sweep.Stored(*(before[name] for name in TABLES)), registers, day, clock, clock)
    for name, table in zip(TABLES, (result.lookups, result.notices, result.statuses), strict=True):
        if not table.equals(before[name]):
            store.write(name, table)
    return [f"{outage.register}: {outage.reason}" for outage in result.outages]


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
    works = pl.DataFrame(rows, schema=WORKS, orient="row")
    return works, refused


WORKS = pl.Schema(
    {"work_id": pl.String(), "doi": pl.String(), "pmid": pl.String(), "title": pl.String(), "comment": pl.String()}
)
"""What a sweep needs of a work."""


def cited_works(store: Store, corpora: list[str]) -> pl.DataFrame:
    """One row a work that documents of these corpora cite: work_id, doi, pmid, title, comment."""
    documents = store.read_all("documents", ["document_key", "corpus"]).filter(pl.col("corpus").is_in(corpora))
    columns = ["document_key", "work_id", "doi", "pmid", "title", "comment"]
    mentions = store.read_all("doi_mentions", columns).join(documents, on="document_key", how="semi")
    told = [pl.col(name).drop_nulls().first() for name in columns[2:]]
    return mentions.sort("work_id", "document_key").group_by("work_id", maintain_order=True).agg(told)
