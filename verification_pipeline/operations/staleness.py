"""What has fallen behind: register snapshots, batches that are out, corpora whose files moved since they were read.

Only looks; ages at which something is stale are those of the settings, or stated here.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import polars as pl

from verification_pipeline import corpora
from verification_pipeline.config import Registers
from verification_pipeline.corpus.archive import open_archive
from verification_pipeline.dois import retraction_watch
from verification_pipeline.dois.notices import Outage
from verification_pipeline.dois.sweep import registers_asked
from verification_pipeline.errors import UsageError
from verification_pipeline.operations.findings import Finding
from verification_pipeline.store import Store

_SNAPSHOT_OLD = timedelta(days=7)
"""Crossref renews the Retraction Watch file every working day; a week without a new one is an oversight."""
_BATCH_OLD = timedelta(hours=24)
"""The Batch API's completion window."""


def registers(store: Store | None, settings: Registers) -> Iterator[Finding]:
    """Which registers are configured, whether the file among them is sound and fresh, when each last answered."""
    asked = registers_asked(settings)
    if not asked:
        advice = "configure one: without a register every cited work is `unavailable`"
        yield Finding("registers", "warning", "none is configured", advice)
        return
    if settings.retraction_watch is not None:
        yield _snapshot(settings.retraction_watch, settings)
    lookups = store.read("doi_lookups") if store is not None else None
    for name in asked:
        if lookups is not None:
            yield _last_answer(name, lookups.filter(register=name))


def _snapshot(path: Path, settings: Registers) -> Finding:
    subject = "retraction-watch file"
    now = datetime.now(UTC)
    read = retraction_watch.read(path, settings, now)
    if isinstance(read, Outage):
        return Finding(subject, "failed", f"{path}: {read.reason}", "fetch it again; the last good statuses stand")
    age = now - datetime.fromtimestamp(path.stat().st_mtime, UTC)
    words = f"{path}, {age.days} days old"
    limit = settings.retraction_watch_max_age_days
    if age > (_SNAPSHOT_OLD if limit is None else timedelta(days=limit)):
        return Finding(subject, "warning", words, "fetch the current file")
    return Finding(subject, "ok", words)


def _last_answer(name: str, lookups: pl.DataFrame) -> Finding:
    subject = f"register {name}"
    if not lookups.height:
        return Finding(subject, "warning", "was never asked", "run, or sweep")
    latest = lookups.filter(pl.col("asked_at") == pl.col("asked_at").max())
    last: datetime = latest["asked_at"][0]
    failed = latest.filter(pl.col("outcome").str.starts_with("failed:"))
    words = f"last asked {last:%Y-%m-%d %H:%M} UTC about {latest.height} works"
    if failed.height:
        reason = str(failed["outcome"][0]).removeprefix("failed:")
        words = f"{words}, of which {failed.height} failed ({reason})"
        return Finding(subject, "warning", words, "the last good statuses stand, marked stale; run or sweep again")
    return Finding(subject, "ok", words)


def pending(store: Store) -> Iterator[Finding]:
    """Questions to a model that have no answer yet, and how long its oldest batch is out."""
    ledger = store.root / "llm" / "ledger.sqlite"
    if not ledger.is_file():
        return
    sql = (
        "SELECT count(*), min(sent_at) FROM requests r JOIN batches b ON b.id = r.batch"
        " WHERE r.state = 'sent' AND b.state NOT IN ('collected', 'failed')"
    )
    try:
        with closing(sqlite3.connect(f"file:{ledger.absolute()}?mode=ro", uri=True)) as connection:
            (count, oldest) = connection.execute(sql).fetchone()
    except sqlite3.Error as error:
        yield Finding("ledger", "failed", f"{ledger} cannot be read: {error}", "restore llm/ from a backup")
        return
    if not count:
        yield Finding("ledger", "ok", "no request to a model is out")
        return
    age = datetime.now(UTC) - datetime.fromtimestamp(oldest, UTC)
    words = f"{count} requests are out in batches, the oldest since {age.total_seconds() / 3600:.0f} hours"
    if age > _BATCH_OLD:
        yield Finding("ledger", "warning", words, "run again: it collects what came back; see the provider's page")
    else:
        yield Finding("ledger", "ok", f"{words}; a later run collects them")


def moved_files(store: Store) -> Iterator[Finding]:
    """Corpora that are gone, or whose files are other ones than those the last night read."""
    inputs = store.read("inputs")
    known = corpora.places(store)
    for name in sorted({*inputs["corpus"], *known}):
        place = known.get(name)
        if place is None:
            yield Finding(f"corpus {name}", "warning", "where it lies is not recorded", "run it again")
            continue
        yield _moved(name, place, inputs.filter(corpus=name))


def _moved(name: str, place: Path, read: pl.DataFrame) -> Finding:
    subject = f"corpus {name}"
    try:
        found = {file.relative: (file.size, file.modified_ns) for file in open_archive(place).files()}
    except UsageError as error:
        return Finding(subject, "failed", str(error), "mount it, or leave the corpus out of the next run")
    before = {file: stamp for file, *stamp in read.select("file", "size", "modified_ns").iter_rows()}
    new = len(found.keys() - before.keys())
    gone = len(before.keys() - found.keys())
    edited = sum(tuple(before[file]) != found[file] for file in found.keys() & before.keys())
    if new or gone or edited:
        counts = {"new": new, "edited": edited, "gone": gone}
        words = ", ".join(f"{count} {what}" for what, count in counts.items() if count)
        return Finding(subject, "warning", f"{place}: files since it was read: {words}", "run: only these are read")
    return Finding(subject, "ok", f"{place}: {len(found)} files, as they were read")
