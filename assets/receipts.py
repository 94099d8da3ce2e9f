"""Receipts, and what a night closes with: changes, metrics, runs, the DuckDB file."""

from collections.abc import Iterator

import dagster as dg

from assets.registry import check_spec, results, spec
from verification_pipeline.night import Night
from verification_pipeline.receipts.inputs import input_tables
from verification_pipeline.stages.assembling import assemble_receipts
from verification_pipeline.stages.closing import close

_CLOSING = ("changes", "metrics", "runs")
_INPUTS = [name for name in input_tables() if name != "fingerprints"]


@dg.multi_asset(
    specs=[spec("receipts", "receipts", _INPUTS, ("polars", "parquet", "json"))], check_specs=[check_spec("receipts")]
)
def receipts(night: dg.ResourceParam[Night]) -> Iterator[dg.MaterializeResult[None]]:
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


@dg.multi_asset(
    specs=[spec(name, "fleet", ["receipts", "found_elsewhere", "archive_clusters"]) for name in _CLOSING]
    + [
        dg.AssetSpec(
            "verification_duckdb",
            deps=["receipts", *_CLOSING],
            group_name="fleet",
            kinds={"duckdb"},
            description="Every table but the texts, with column comments and the views of sql/.",
        )
    ],
    check_specs=[check_spec(name) for name in _CLOSING],
)
def fleet(night: dg.ResourceParam[Night]) -> Iterator[dg.MaterializeResult[None]]:
    """Say what changed, count, and build the file that analysts open."""

    made = close(night)
    yield from results(night.store, _CLOSING, made=made["changes"])
    path = night.store.root / "verification.duckdb"
    yield dg.MaterializeResult(
        asset_key="verification_duckdb", metadata={"path": str(path), "bytes": path.stat().st_size}
    )
