"""Cited works and what the retraction registers say of them."""

from collections.abc import Iterator

import dagster as dg

from assets.registry import check_spec, results, spec
from verification_pipeline.night import Night
from verification_pipeline.stages.works import TABLES, sweep_works

_REACHED = dg.AssetCheckSpec("registers_answered", asset="doi_lookups", description="No configured register was down.")


@dg.multi_asset(
    specs=[
        spec("doi_lookups", "works", ["doi_mentions"]),
        spec("doi_notices", "works", ["doi_lookups"]),
        spec("doi_statuses", "works", ["doi_lookups", "doi_notices"]),
    ],
    check_specs=[*(check_spec(name) for name in TABLES), _REACHED],
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
