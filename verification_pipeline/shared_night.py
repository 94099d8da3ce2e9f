"""A night that several processes work on, one after another and side by side, on several machines maybe.

They name the same run. The first settles what is to be done and hands it on through the store (`run.json`), so that
a setting that is edited or a corpus that arrives meanwhile does not divide the night. They hold the store together
(`bucket`), and the one that finishes the night frees it. Which process does what, and in which order, is the caller's
business.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager

import polars as pl
from pydantic import TypeAdapter

from verification_pipeline.errors import NoStore, RunOvertaken, StoreError
from verification_pipeline.night import TERMS_FILE, Night, Options, Terms, night_of, settle
from verification_pipeline.shards import Progress, workers
from verification_pipeline.stages.closing import record_run
from verification_pipeline.store import Store

_TERMS = TypeAdapter(Terms)


def file_of(terms: Terms) -> bytes:
    """Terms as the file that hands them on; a path may hold any bytes, which JSON's escapes carry."""
    return json.dumps(_TERMS.dump_python(terms, mode="json"), indent=1).encode()


def terms_of(file: bytes) -> Terms:
    """The terms that a file hands on. ValueError: it is damaged."""
    return _TERMS.validate_python(json.loads(file))


@contextmanager
def open_shared_night(options: Options, run_id: str, progress: Progress = lambda *_: None) -> Iterator[Night]:
    """Enter the night of a run, as its first process or a later one; what the options ask for, the first decides.

    StoreBusy: another run holds the store. RunOvertaken: another held it since this one began. UsageError, StoreError.
    """
    store = _opened(options, run_id)
    over = False
    try:
        with store.locked(run_id) as held, workers(options.workers) as pool:
            begun = run_id in held.read("runs")["run_id"]
            terms = _terms(held, run_id)
            over = begun and terms is None
            if over:
                raise RunOvertaken(
                    f"another run has held {store.name} since this one began: what is there now is that run's; "
                    "start a new run instead of going on with this one"
                )
            night = night_of(terms or _settled(held, options, run_id), held, pool, progress)
            if not begun:
                record_run(night, finished=False)
            yield night
            over = _finished(held, run_id)
    finally:
        if over:
            store.free(run_id)


def _opened(options: Options, run_id: str) -> Store:
    try:
        return Store.open(options.out, create=False)
    except NoStore:
        return Store.open(options.out, shards=settle(options, run_id).settings.storage.shards)


def _settled(store: Store, options: Options, run_id: str) -> Terms:
    """The terms of a run that begins now, handed on."""
    terms = settle(options, run_id)
    Store.open(options.out, shards=terms.settings.storage.shards)  # refuses a store with another number of them
    store.write_file(store.root / TERMS_FILE, file_of(terms))
    return terms


def _finished(store: Store, run_id: str) -> bool:
    return store.read("runs").filter(pl.col("run_id") == run_id)["finished_at"].drop_nulls().len() > 0


def _terms(store: Store, run_id: str) -> Terms | None:
    """The terms of a run, if its first process has settled them and no other run has held the store since."""
    path = store.root / TERMS_FILE
    if not store.fetch(path):
        return None
    try:
        terms = terms_of(path.read_bytes())
    except ValueError as error:
        raise StoreError(f"{path} is damaged: remove it from {store.name} and start a new run") from error
    return terms if terms.run_id == run_id else None
