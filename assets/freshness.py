"""When results are late: by eight in the morning (UTC) a night that began at two has brought them.

The orchestrator's freshness daemon reports; nothing is started by it.
"""

from datetime import timedelta

import dagster as dg

BY_MORNING = dg.FreshnessPolicy.cron(deadline_cron="0 8 * * *", lower_bound_delta=timedelta(hours=7))
EXPECTED = frozenset({"documents", "doi_statuses", "receipts", "runs", "verification_duckdb"})
"""Assets that are looked at in the morning; the others are made with them."""


def policy_of(asset: str) -> dg.FreshnessPolicy | None:
    """The freshness policy of an asset; None where nobody waits for it."""
    return BY_MORNING if asset in EXPECTED else None
