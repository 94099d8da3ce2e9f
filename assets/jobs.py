"""Jobs and the nightly schedule. A run's tags say which night it is and what started it."""

import os

import dagster as dg
from dagster._core.definitions.unresolved_asset_job_definition import UnresolvedAssetJobDefinition

from assets import resources
from assets.retries import A_STEP, FROM_THE_BEGINNING, retry_what_passes
from assets.spread import GROUPS

STORE = "store"
"""Tag of a run: the store it works on, so that an instance with several stores can run one night at a time in each."""

_OUT = os.environ.get("VERIFICATION_OUT", resources.DEFAULT_OUT)
_GROUPS = os.environ.get("VERIFICATION_GROUPS", "")
_DEFAULT_GROUPS = "4"

NIGHT = "nightly_spread" if _GROUPS else "nightly"
"""Name of the job that the schedule and the sensors start: VERIFICATION_GROUPS says that runs are to be shared out."""

_BY_DAY = dg.AssetSelection.assets("doi_statuses_by_day")

nightly = dg.define_asset_job(
    "nightly",
    selection=dg.AssetSelection.all() - _BY_DAY,
    description="Verify the configured corpora, all stages.",
    hooks={retry_what_passes},
    run_tags=FROM_THE_BEGINNING | {STORE: _OUT},
)


def nightly_spread(executor: dg.ExecutorDefinition) -> UnresolvedAssetJobDefinition:
    """The nightly job in steps, which an executor runs where it likes."""
    return dg.define_asset_job(
        "nightly_spread",
        selection=dg.AssetSelection.all() - _BY_DAY,
        description="Verify the configured corpora, document shards shared out among steps; wants an object store.",
        executor_def=executor,
        op_retry_policy=A_STEP,
        run_tags={STORE: _OUT, GROUPS: _GROUPS or _DEFAULT_GROUPS},
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


@dg.schedule(job_name=NIGHT, cron_schedule="0 2 * * *", execution_timezone="UTC")
def every_night(context: dg.ScheduleEvaluationContext) -> dg.RunRequest:
    """One night a day, at two in the morning (UTC)."""
    day = context.scheduled_execution_time.date().isoformat()
    return dg.RunRequest(run_key=day, tags={"night": day, "reason": "schedule"})
