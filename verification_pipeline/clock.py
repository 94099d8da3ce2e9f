"""This machine's clock, held against the moments in a store: nights and notices are ordered by when they were.

Under a clock that was set back tonight would come before last night: `changes` would tell of last night, and a notice
seen then would not be known yet.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from verification_pipeline.errors import StoreError
from verification_pipeline.store import Store

_TOLERATED = timedelta(seconds=5)
"""Clocks of several machines agree no better."""


def refuse_if_set_back(store: Store) -> None:
    """StoreError: a night or a sweep of the store lies in what this machine takes for the future."""
    now, last = datetime.now(UTC), last_moment(store)
    if last is not None and last > now + _TOLERATED:
        raise StoreError(
            f"{store.name} was last written to at {last:%Y-%m-%d %H:%M:%S} UTC, and this machine's clock says "
            f"{now:%Y-%m-%d %H:%M:%S}: correct the clock; nothing was changed"
        )


def last_moment(store: Store) -> datetime | None:
    """The latest moment at which a run began or ended or a register was asked; None before the first."""
    runs, lookups = store.read("runs"), store.read("doi_lookups", columns=["asked_at"])
    moments = [column.max() for column in (runs["started_at"], runs["finished_at"], lookups["asked_at"])]
    return max((moment for moment in moments if isinstance(moment, datetime)), default=None)
