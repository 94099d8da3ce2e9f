"""A night that several processes work on, one after another and side by side, on several machines maybe.

They name the same run. The first settles what is to be done and hands it on through the store (`run.json`), so that
a setting that is edited or a corpus that arrives meanwhile does not divide the night. They hold the store together
(`bucket`), and the one that finishes the night frees it. Which process does what, and in which order, is the caller's
business.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import polars as pl
from pydantic import TypeAdapter, ValidationError

from verification_pipeline.errors import NoStore, RunOvertaken, StoreError
from verification_pipeline.night import TERMS_FILE, Night, Options, Terms, night_of, settle
from verification_pipeline.shards import Progress, workers
from verification_pipeline.stages.closing import record_run
from verification_pipeline.store import Store

_TERMS = TypeAdapter(Terms)


@contextmanager
def open_shared_night(options: Options, run_id: str, progress: Progress = lambda *_: None) -> Iterator[Night]:
    """Enter the night of a run, as its first process or a later one; what the options ask for, the first decides.

    StoreBusy: another run holds the store. RunOvertaken: another held it since this one began. UsageError, StoreError.
    """
    store, terms = _handed_on(options, run_id)
    known = terms is not None
    if terms is None:
        terms = settle(options, run_id)
        store = None
    if store is None:
        store = Store.open(options.out, shards=terms.settings.storage.shards)
    over = False
    try:
        with store.locked(run_id) as held, workers(options.workers) as pool:
            begun = run_id in held.read("runs")["run_id"]
            over = (known or begun) and _terms(held, run_id) is None
            if over:
                raise RunOvertaken(
                    f"another run has held {store.name} since this one began: what is there now is that run's; "
                    "start a new run instead of going on with this one"
                )
            if not known:
                held.write_file(held.root / TERMS_FILE, _TERMS.dump_json(terms, indent=1))
            night = night_of(terms, held, pool, progress)
            if not begun:
                record_run(night, finished=False)
            yield night
            over = _finished(held, run_id)
    finally:
        if over:
            store.free(run_id)


def _finished(store: Store, run_id: str) -> bool:
    return store.read("runs").filter(pl.col("run_id") == run_id)["finished_at"].drop_nulls().len() > 0


def _handed_on(options: Options, run_id: str) -> tuple[Store | None, Terms | None]:
    """The store, if there is one, and the run's terms, if its first process has settled them."""
    try:
        store = Store.open(options.out, create=False)
    except NoStore:
        return None, None
    return store, _terms(store, run_id)


def _terms(store: Store, run_id: str) -> Terms | None:
    path = store.root / TERMS_FILE
    if not store.fetch(path):
        return None
    try:
        terms = _TERMS.validate_json(path.read_bytes())
    except ValidationError as error:
        raise StoreError(f"{path} is damaged: remove it from {store.name} and start a new run") from error
    return terms if terms.run_id == run_id else None
