"""Receipts, and what a night closes with: changes, metrics, runs, the DuckDB file."""

from collections.abc import Iterator

import dagster as dg
import polars as pl

from assets.freshness import policy_of
from assets.registry import check_spec, results, spec
from verification_pipeline.fleet import FILE
from verification_pipeline.night import Night
from verification_pipeline.receipts.inputs import input_tables
from verification_pipeline.stages.assembling import assemble_receipts
from verification_pipeline.stages.closing import close
from verification_pipeline.stages.regressions import gate_regressions
from verification_pipeline.stages.waiving import audit

_WAIVERS_HOLD = "waivers_hold"
_CAUSED = "every_change_has_a_cause"
_HELD = "no_document_fell_through_the_gate"
_SHOWN = 100
_CLOSING = ("changes", "costs", "metrics", "runs")
_INPUTS = [name for name in input_tables() if name != "fingerprints"]


@dg.multi_asset(
    specs=[spec("receipts", "receipts", _INPUTS, ("polars", "parquet", "json"))],
    check_specs=[
        check_spec("receipts"),
        dg.AssetCheckSpec(_WAIVERS_HOLD, asset="receipts", description="No waiver ran out, and each waives something."),
    ],
)
def receipts(night: dg.ResourceParam[Night]) -> Iterator[dg.MaterializeResult[None] | dg.AssetCheckResult]:
    """Assemble the receipt of every document of which anything moved."""

    report = assemble_receipts(night)
    yield from results(
        night.store,
        ["receipts"],
        made=report.made,
        documents=report.documents,
        gone=report.gone,
        pages=report.pages,
    )
    found = audit(night.store, night.waivers, night.day)
    yield dg.AssetCheckResult(
        check_name=_WAIVERS_HOLD,
        asset_key="receipts",
        passed=not found.expired and not found.unused,
        severity=dg.AssetCheckSeverity.WARN,
        metadata={"in_force": found.in_force, "expired": list(found.expired), "unused": list(found.unused)},
    )


@dg.multi_asset(
    specs=[spec(name, "fleet", ["receipts", "found_elsewhere", "archive_clusters"]) for name in _CLOSING]
    + [
        dg.AssetSpec(
            "verification_duckdb",
            deps=["receipts", *_CLOSING],
            group_name="fleet",
            kinds={"duckdb"},
            freshness_policy=policy_of("verification_duckdb"),
            description="Every table but the texts, with column comments and the views of sql/.",
        ),
        dg.AssetSpec(
            "fleet_page",
            deps=["verification_duckdb"],
            group_name="fleet",
            kinds={"html"},
            description="The state of the archive on one page, with trends and links to receipts.",
        ),
    ],
    check_specs=[
        *(check_spec(name) for name in _CLOSING),
        dg.AssetCheckSpec(_CAUSED, asset="changes", description="No receipt changed without a known cause."),
        dg.AssetCheckSpec(_HELD, asset="changes", description="No document that passed the night before fails now."),
    ],
)
def fleet(night: dg.ResourceParam[Night]) -> Iterator[dg.MaterializeResult[None] | dg.AssetCheckResult]:
    """Say what changed, count, and build the file that analysts open."""

    made = close(night)
    yield from results(night.store, _CLOSING, made=made["changes"])
    yield dg.AssetCheckResult(
        check_name=_CAUSED,
        asset_key="changes",
        passed=not made["unexplained"],
        severity=dg.AssetCheckSeverity.WARN,
        metadata={"unexplained": made["unexplained"]},
    )
    fallen = gate_regressions(night.store, night.run_id)
    yield dg.AssetCheckResult(
        check_name=_HELD,
        asset_key="changes",
        passed=not fallen.height,
        severity=dg.AssetCheckSeverity.WARN,
        metadata={"count": fallen.height, "documents": _named(fallen)},
    )
    path = night.store.root / "verification.duckdb"
    yield dg.MaterializeResult(
        asset_key="verification_duckdb", metadata={"path": str(path), "bytes": path.stat().st_size}
    )
    page = night.store.root / FILE
    yield dg.MaterializeResult(asset_key="fleet_page", metadata={"path": dg.MetadataValue.path(page)})


def _named(fallen: pl.DataFrame) -> list[str]:
    """Documents in words, the first hundred."""
    rows = fallen.head(_SHOWN).iter_rows()
    return [f"{corpus}/{document} is {state}: {cause}" for corpus, document, state, cause in rows] or ["none"]
