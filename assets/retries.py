"""Which failures a run is started again for: those that pass by themselves.

A run that crashed (its machine, its container) is started again by the instance's `run_retries`; a step that failed is
not, since a broken setting or a broken sum fails the second time too. The exception is a worker process that was
killed, most likely for want of memory: the run that met it asks to be started again. A store that another run holds is
waited for when the night is opened (`resources`).
"""

import dagster as dg
from dagster._core.storage.tags import RETRY_ON_ASSET_OR_OP_FAILURE_TAG, RETRY_STRATEGY_TAG

from verification_pipeline.errors import WorkerLost

FROM_THE_BEGINNING = {RETRY_STRATEGY_TAG: "ALL_STEPS"}
"""A run that is started again begins at the beginning: what is done costs nothing, and one run is one night."""

A_STEP = dg.RetryPolicy(max_retries=2, delay=2, backoff=dg.Backoff.EXPONENTIAL)
"""Of a run that is shared out, a step that fails is tried again by itself: on many machines it is most often a machine,
and what the step had done costs nothing. A check that fails is no such failure."""


@dg.failure_hook(name="retry_what_passes")
def retry_what_passes(context: dg.HookContext) -> None:
    """Mark the run to be started again if the step failed for a reason that passes."""
    if passes(context.op_exception):
        context.instance.add_run_tags(context.run_id, {RETRY_ON_ASSET_OR_OP_FAILURE_TAG: "true"})


def passes(error: BaseException | None) -> bool:
    """Whether an error, or what caused it, passes by itself."""
    while error is not None:
        if isinstance(error, WorkerLost):
            return True
        error = error.__cause__
    return False
