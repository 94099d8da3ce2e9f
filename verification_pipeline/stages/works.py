"""The sweep of a night: every work that any document cites, asked of the registers its corpus configures."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import date, datetime

import polars as pl

from verification_pipeline.config import Registers
from verification_pipeline.dois import sweep
from verification_pipeline.dois.normalise import normalise_doi
from verification_pipeline.night import Night
from verification_pipeline.store import Store

TABLES = ("doi_lookups", "doi_notices", "doi_statuses")


def sweep_works(night: Night) -> tuple[str, ...]:
    """Bring lookups, notices and statuses up to date; returns the registers that were down, each with its reason."""
    outages: list[str] = []
    for registers, corpora in _by_registers(night):
        works = cited_works(night.store, corpora)
        outages += sweep_day(night.store, works, registers, night.day, night.started_at)
    night.progress("sweep", 1, 1)
    return tuple(outages)


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


def _by_registers(night: Night) -> Iterator[tuple[Registers, list[str]]]:
    """Corpora in groups of equal register settings; those that configure none first, so that an answer prevails."""
    groups: dict[str, list[str]] = {}
    for corpus, settings in sorted(night.scope.settings.items()):
        groups.setdefault(settings.registers.model_dump_json(), []).append(corpus)
    named = [(night.scope.settings[corpora[0]].registers, corpora) for corpora in groups.values()]
    yield from sorted(named, key=lambda group: (group[0].retraction_watch is not None, group[1]))
