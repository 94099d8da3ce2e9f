"""Jobs and the nightly schedule. A run's tags say which night it is and what started it."""

import os

import dagster as dg

from assets import resources
from assets.retries import FROM_THE_BEGINNING, retry_what_passes

STORE = "store"
"""Tag of a run: the store it works on, so that an instance with several stores can run one night at a time in each."""

_BY_DAY = dg.AssetSelection.assets("doi_statuses_by_day")

nightly = dg.define_asset_job(
    "nightly",
    selection=dg.AssetSelection.all() - _BY_DAY,
    description="Verify the configured corpora, all stages.",
    hooks={retry_what_passes},
    run_tags=FROM_THE_BEGINNING | {STORE: os.environ.get("VERIFICATION_OUT", resources.DEFAULT_OUT)},
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


@dg.schedule(job=nightly, cron_schedule="0 2 * * *", execution_timezone="UTC")
def every_night(context: dg.ScheduleEvaluationContext) -> dg.RunRequest:
    """One night a day, at two in the morning (UTC)."""
    day = context.scheduled_execution_time.date().isoformat()
    return dg.RunRequest(run_key=day, tags={"night": day, "reason": "schedule"})
