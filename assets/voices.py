"""Independent voices of the whole archive."""

import dagster as dg

from verification_pipeline.night import Night
from verification_pipeline.stages.voices import cluster_all


@dg.asset(
    deps=["sources", "sketches", "overlaps", "clusters"],
    group_name="voices",
    kinds={"polars", "parquet"},
    description="Rows of `clusters` for the whole archive (document_key is null).",
)
def archive_clusters(night: dg.ResourceParam[Night]) -> dg.MaterializeResult[None]:
    """Find sources of the archive that are one voice."""
    rows = cluster_all(night)
    return dg.MaterializeResult(metadata={"dagster/row_count": rows})
