"""The code location: every asset, check, job, schedule and sensor, put together by `build_defs`."""

from typing import Any

import dagster as dg

from assets import elsewhere, inventory, jobs, reading, receipts, sensors, verdicts, voices, works
from assets.resources import from_environment


def build_defs(spread_by: dg.ExecutorDefinition = dg.multiprocess_executor, **overrides: Any) -> dg.Definitions:
    """The definitions; `overrides` replace resources by name (`night=` an open `Night`).

    `spread_by` runs the steps of `nightly_spread`: processes here, pods, … whatever a deployment has an executor for.
    """
    resources: dict[str, Any] = {"night": from_environment(), **overrides}
    return dg.Definitions(
        assets=[
            inventory.inventory,
            reading.reading,
            verdicts.batches,
            verdicts.verdicts,
            voices.archive_clusters,
            works.doi_statuses,
            works.doi_statuses_by_day,
            elsewhere.found_elsewhere,
            receipts.receipts,
            receipts.fleet,
        ],
        jobs=[jobs.nightly, jobs.nightly_spread(spread_by), jobs.selection, jobs.sweep, jobs.sweep_by_day],
        schedules=[jobs.every_night],
        sensors=[sensors.corpus_arrived, sensors.register_renewed, sensors.batch_finished],
        resources=resources,
        executor=dg.in_process_executor,
    )


defs = build_defs()
