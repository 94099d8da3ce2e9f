"""Pairs that triage did not settle: which are read, and what the checker said."""

from collections.abc import Iterator

import dagster as dg

from assets.registry import check_spec, results, spec
from verification_pipeline.night import Night
from verification_pipeline.shards import run_stage
from verification_pipeline.stages.grading import Grading
from verification_pipeline.stages.selection import Selection
from verification_pipeline.sums import broken_sums

_SUMS = dg.AssetCheckSpec(
    "sums_hold", asset="verdicts", blocking=True, description="Every marker, pair and verdict is accounted for."
)


@dg.multi_asset(specs=[spec("batches", "verdicts", ["pairs", "triage"])], check_specs=[check_spec("batches")])
def batches(night: dg.ResourceParam[Night]) -> Iterator[dg.MaterializeResult[None]]:
    """Select pairs for the checker by stratum and seed."""

    yield from results(
        night.store, ["batches"], run_stage(Selection(), night.store, night.scope, night.pool, night.progress)
    )


@dg.multi_asset(
    specs=[spec("verdicts", "verdicts", ["batches", "pairs", "document_sources", "texts"])],
    check_specs=[check_spec("verdicts"), _SUMS],
)
def verdicts(night: dg.ResourceParam[Night]) -> Iterator[dg.MaterializeResult[None] | dg.AssetCheckResult]:
    """Have the selected pairs graded."""

    report = run_stage(Grading(), night.store, night.scope, night.pool, night.progress)
    broken = broken_sums(night.store)
    yield from results(night.store, ["verdicts"], report)
    yield dg.AssetCheckResult(
        check_name="sums_hold", asset_key="verdicts", passed=not broken, metadata={"broken": broken or ["none"]}
    )
