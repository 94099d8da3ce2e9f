"""Jobs and the nightly schedule."""

import dagster as dg

nightly = dg.define_asset_job(
    "nightly", selection=dg.AssetSelection.all(), description="Verify the configured corpora, all stages."
)

sweep = dg.define_asset_job(
    "sweep",
    selection=dg.AssetSelection.assets("doi_statuses").upstream(depth=0)
    | dg.AssetSelection.assets("doi_lookups", "doi_notices"),
    description="Ask the retraction registers again, without touching documents.",
)

every_night = dg.ScheduleDefinition(
    name="every_night", job=nightly, cron_schedule="0 2 * * *", execution_timezone="UTC", tags={"kind": "night"}
)
