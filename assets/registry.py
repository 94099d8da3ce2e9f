"""What the table registry says, in the orchestrator's words: asset specs, column schemas, schema checks, row counts."""

from collections.abc import Iterator, Mapping, Sequence

import dagster as dg
import polars as pl

from assets.freshness import policy_of
from verification_pipeline.shards import ShardReport
from verification_pipeline.store import Store
from verification_pipeline.tables import TABLES

SCHEMA_CHECK = "matches_registry"


def spec(name: str, group: str, deps: Sequence[str] = (), kinds: Sequence[str] = ("polars", "parquet")) -> dg.AssetSpec:
    """The asset of one table."""
    table = TABLES[name]
    return dg.AssetSpec(
        name,
        deps=list(deps),
        group_name=group,
        kinds=set(kinds),
        freshness_policy=policy_of(name),
        description=f"One row a {table.grain}."
        + (f" Key: {', '.join(table.key)}." if table.key else "")
        + (" By document shard." if table.partitioning == "document" else " Whole archive."),
        metadata={"dagster/column_schema": _column_schema(name), "dagster/table_name": f"verification.{name}"},
    )


def check_spec(name: str) -> dg.AssetCheckSpec:
    """The blocking check that a table on disk is what the registry says."""
    return dg.AssetCheckSpec(SCHEMA_CHECK, asset=name, blocking=True, description="Columns and types as registered.")


def results(
    store: Store, names: Sequence[str], report: ShardReport | None = None, **figures: float | str
) -> Iterator[dg.MaterializeResult[None]]:
    """One materialisation a table, with rows and the outcome of its schema check."""
    shared: dict[str, float | str] = dict(figures)
    if report is not None:
        shared |= {"recomputed": report.recomputed, "kept": report.kept, "removed": report.removed}
    for name in names:
        rows, faults = inspect(store, name)
        yield dg.MaterializeResult(
            asset_key=name,
            metadata={"dagster/row_count": rows, **shared},
            check_results=[
                dg.AssetCheckResult(
                    check_name=SCHEMA_CHECK, asset_key=name, passed=not faults, metadata={"faults": faults or ["none"]}
                )
            ],
        )


def inspect(store: Store, name: str) -> tuple[int, list[str]]:
    """Rows of a table on disk, and every file whose schema is not the registered one."""
    rows = 0
    faults = []
    for path in store.files(name):
        rows += store.height(path)
        found: Mapping[str, pl.DataType] = pl.read_parquet_schema(path)
        if dict(found) != dict(TABLES[name].schema):
            faults.append(f"{path.relative_to(store.root)}: {dict(found)}")
    return rows, faults


def _column_schema(name: str) -> dg.TableSchema:
    return dg.TableSchema(
        columns=[
            dg.TableColumn(
                column.name,
                str(column.dtype),
                column.doc,
                dg.TableColumnConstraints(nullable=column.nullable, unique=TABLES[name].key == (column.name,)),
            )
            for column in TABLES[name].columns
        ]
    )
