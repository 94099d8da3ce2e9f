"""Jobs and the nightly schedule."""

import dagster as dg

_BY_DAY = dg.AssetSelection.assets("doi_statuses_by_day")

nightly = dg.define_asset_job(
    "nightly",
    selection=dg.AssetSelection.all() - _BY_DAY,
    description="Verify the configured corpora, all stages.",
)

selection = dg.define_asset_job(
    "selection",
    selection=dg.AssetSelection.assets("batches").upstream().required_multi_asset_neighbors(),
    description="Read the corpora and select what a checker would be given; grade nothing.",
)

sweep = dg.define_asset_job(
    "sweep",
    selection=dg.AssetSelection.assets("doi_lookups", "doi_notices", "doi_statuses"),
    description="Ask the retraction registers again, without touching documents.",
)

sweep_by_day = dg.define_asset_job(
    "sweep_by_day",
    selection=_BY_DAY,
    description="Fill in the statuses of days past from what is stored: a range of days is one run.",
)

every_night = dg.ScheduleDefinition(
    name="every_night", job=nightly, cron_schedule="0 2 * * *", execution_timezone="UTC", tags={"kind": "night"}
)
