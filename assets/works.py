"""Cited works and what the retraction registers say of them: every night, and for days past."""

from collections.abc import Iterator
from datetime import date

import dagster as dg
import polars as pl

from assets.registry import check_spec, results, spec
from verification_pipeline.night import Night
from verification_pipeline.stages.exposure import newly_affected
from verification_pipeline.stages.works import TABLES, cited_works, fill_days, on_each_day, registers_of, sweep_works

DAYS = dg.DailyPartitionsDefinition(start_date="2010-01-01", end_offset=1)
"""Days whose statuses can be filled in: since about when retractions have been recorded systematically, to today."""

_REACHED = dg.AssetCheckSpec("registers_answered", asset="doi_lookups", description="No configured register was down.")
_NEWLY = dg.AssetCheckSpec(
    "no_document_newly_affected",
    asset="doi_statuses",
    description="No document cites, without saying so, a retracted work that the last finished night did not list.",
)
_SHOWN = 100


@dg.multi_asset(
    specs=[
        spec("doi_lookups", "works", ["doi_mentions"]),
        spec("doi_notices", "works", ["doi_lookups"]),
        spec("doi_statuses", "works", ["doi_lookups", "doi_notices"]),
    ],
    check_specs=[*(check_spec(name) for name in TABLES), _REACHED, _NEWLY],
)
def doi_statuses(night: dg.ResourceParam[Night]) -> Iterator[dg.MaterializeResult[None] | dg.AssetCheckResult]:
    """Ask the registers about every cited work."""

    outages = sweep_works(night)
    yield from results(night.store, TABLES)
    yield dg.AssetCheckResult(
        check_name="registers_answered",
        asset_key="doi_lookups",
        passed=not outages,
        severity=dg.AssetCheckSeverity.WARN,
        metadata={"outages": list(outages) or ["none"]},
    )
    affected = newly_affected(night.store)
    yield dg.AssetCheckResult(
        check_name="no_document_newly_affected",
        asset_key="doi_statuses",
        passed=not affected.height,
        severity=dg.AssetCheckSeverity.WARN,
        metadata={"count": affected.height, "documents": _named(affected)},
    )


@dg.multi_asset(
    specs=[
        dg.AssetSpec(
            "doi_statuses_by_day",
            deps=["doi_statuses"],
            group_name="works",
            kinds={"polars", "parquet"},
            partitions_def=DAYS,
            description="Periods of doi_statuses for past days, from stored notices and questions; a range is one run.",
        )
    ],
    backfill_policy=dg.BackfillPolicy.single_run(),
)
def doi_statuses_by_day(context: dg.AssetExecutionContext, night: dg.ResourceParam[Night]) -> None:
    """Fill in days; nobody is asked and no document touched."""
    keys = context.partition_keys
    days = (date.fromisoformat(keys[0]), date.fromisoformat(keys[-1]))
    works = cited_works(night.store, sorted(night.scope.settings))
    periods = fill_days(night.store, works, registers_of(night.scope), days, night.started_at)
    for day, counts in on_each_day(periods, days).items():
        context.add_asset_metadata({"works": works.height, **counts}, partition_key=day.isoformat())


def _named(affected: pl.DataFrame) -> list[str]:
    """Documents in words, the first hundred."""
    rows = affected.head(_SHOWN).select("corpus", "document_id", "work_id", "notice_date", "cited_when").iter_rows()
    return [
        f"{corpus}/{document} cites {work}, retracted {day or 'on an unknown day'} (cited: {when})"
        for corpus, document, work, day, when in rows
    ] or ["none"]
