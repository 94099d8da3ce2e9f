"""Pairs that triage did not settle: which are read, and what the checker said."""

from collections.abc import Iterator, Sequence

import dagster as dg

from assets.registry import check_spec, results, spec
from assets.spread import by_shards
from verification_pipeline.night import Night
from verification_pipeline.shards import ShardReport, run_stage
from verification_pipeline.stages.grading import Grading, asks_a_model
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


def grade(night: Night, shards: Sequence[int]) -> ShardReport:
    """Have the selected pairs of these shards graded."""
    return run_stage(Grading(), night.store, night.scope, night.pool, night.progress, shards)


def _graded(night: Night, report: ShardReport) -> Iterator[dg.MaterializeResult[None] | dg.AssetCheckResult]:
    broken = broken_sums(night.store)
    yield from results(night.store, ["verdicts"], report)
    yield dg.AssetCheckResult(
        check_name="sums_hold", asset_key="verdicts", passed=not broken, metadata={"broken": broken or ["none"]}
    )


verdicts = by_shards(
    "verdicts",
    "grade_shards",
    specs=[spec("verdicts", "verdicts", ["batches", "pairs", "document_sources", "texts"])],
    check_specs=[check_spec("verdicts"), _SUMS],
    work=grade,
    told=_graded,
    undivided=lambda night: asks_a_model(night.scope),
)
