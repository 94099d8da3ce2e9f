"""Runs a stage over the document shards: worker processes, fingerprints, and which rows are kept.

A stage recomputes exactly the documents whose fingerprint moved and keeps the rows of all others. A shard's tables
are written first and its fingerprints last, so a run killed between them repeats work but never doubles a row.
What a stage does with one document is the stage's own business (`stages`); nothing here reads a text.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Protocol

import polars as pl

from verification_pipeline import cycles
from verification_pipeline.config import Settings
from verification_pipeline.errors import WorkerLost
from verification_pipeline.keys import hash_of
from verification_pipeline.store import Store
from verification_pipeline.tables import TABLES

Components = Mapping[str, str]
"""Component → hash, in the order in which a change is attributed."""

CAUSES = ("document", "source", "engine", "checker", "configuration", "register", "policy")
"""Order in which the cause of a change is looked for (architecture, Stages: Fingerprint)."""


_GRACE_SECONDS = 10.0
_UNDER_WAY = "under way"
"""Stands for a component while rows are being written; equals no hash."""


@dataclass(frozen=True, slots=True)
class Scope:
    """What a run works on: corpora by name with their settings, and optionally single document ids."""

    settings: Mapping[str, Settings]
    documents: frozenset[str] = frozenset()
    recheck: bool = False
    run_id: str = ""
    started_at: float = 0.0
    """Seconds since the epoch."""

    def holds(self, corpus: str, document_id: str) -> bool:
        """Whether a document is to be worked on."""
        return corpus in self.settings and (not self.documents or document_id in self.documents)


@dataclass(frozen=True, slots=True)
class Work:
    """One document that a stage may have to recompute, with its current components."""

    document_key: str
    components: Components
    unfinished: bool = False
    """Rows of the last run are open (pending, budget, provider error …) and are taken up again."""


class Stage(Protocol):
    """A stage as this module needs it; `stages` holds the instances."""

    @property
    def name(self) -> str:
        """Name in fingerprints, progress and receipts."""

    @property
    def tables(self) -> tuple[str, ...]:
        """Tables the stage writes, each with a document_key."""

    def survey(self, store: Store, scope: Scope, shard: int) -> list[Work]:
        """Every document of the shard in scope, in a fixed order."""

    def compute(self, store: Store, scope: Scope, shard: int, keys: list[str]) -> dict[str, pl.DataFrame]:
        """Rows of all the stage's tables for these documents."""


@dataclass(frozen=True, slots=True)
class ShardReport:
    """What a stage did in one shard (or, added up, in all)."""

    recomputed: int = 0
    kept: int = 0
    removed: int = 0
    rows: Counter[str] = field(default_factory=Counter)

    def __add__(self, other: ShardReport) -> ShardReport:
        return ShardReport(
            self.recomputed + other.recomputed,
            self.kept + other.kept,
            self.removed + other.removed,
            self.rows + other.rows,
        )


class Workers:
    """Worker processes shared by the stages of one run. `map` keeps the order of its jobs."""

    def __init__(self, pool: ProcessPoolExecutor | None, count: int = 1) -> None:
        self._pool = pool
        self.count = count

    def map(self, function: Callable[..., Any], *jobs: Collection[Any]) -> Iterator[Any]:
        """Call a module-level function with each job, in worker processes when there are any.

        WorkerLost when a worker was killed; what it was writing is not in the store.
        """
        if self._pool is None:
            yield from map(function, *jobs)
            return
        try:
            with _uninterruptible():
                futures = deque(self._pool.submit(function, *job) for job in zip(*jobs, strict=True))
            while futures:
                yield futures.popleft().result()  # let go of: the results of a whole archive are large
        except BrokenProcessPool as error:
            _see_off(self._pool)
            raise WorkerLost(
                "a worker process was killed, most likely for want of memory; the store is sound: "
                "run again, with fewer --workers if it happens again"
            ) from error


@contextmanager
def workers(count: int) -> Iterator[Workers]:
    """`count` worker processes; with one, everything runs in this process. Never forked: threads may be running.

    An error lets them finish what they are at; an interruption (no `Exception`) ends them at once.
    """
    if count <= 1:
        yield Workers(None)
        return
    context = multiprocessing.get_context("spawn")
    watched, lifeline = context.Pipe(duplex=False)
    pool = ProcessPoolExecutor(count, mp_context=context, initializer=_begin, initargs=(watched,))
    try:
        yield Workers(pool, count)
    except BaseException as error:
        if not isinstance(error, Exception):
            lifeline.close()
            _see_off(pool)
        raise
    finally:
        pool.shutdown(cancel_futures=True)
        lifeline.close()
        watched.close()


def _see_off(pool: ProcessPoolExecutor) -> None:
    """Wait until the workers have left, and let go of what was on its way to them.

    Before 3.11.5 Python does not: with the pipe to its workers full it waits for ever (python/cpython#94777).
    """
    for child in multiprocessing.active_children():
        child.join(_GRACE_SECONDS)
        child.kill()
    queue: Any = getattr(pool, "_call_queue", None)
    if queue is not None:
        queue._reader.close()


def _begin(watched: Connection) -> None:
    """What a worker does before its first job."""
    cycles.look_seldom()
    _end_with_lifeline(watched)


def _end_with_lifeline(watched: Connection) -> None:
    """Leave when the command was killed or interrupted: a worker that lived on would write into the next run's store.

    The other end of the pipe is the command's alone, and the system closes it however the command ends.
    """

    def watch() -> None:
        with suppress(EOFError, OSError):
            watched.recv_bytes()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


@contextmanager
def _uninterruptible() -> Iterator[None]:
    """Hold Ctrl-C back, here and for good in processes that start meanwhile: the command hears it, and ends them."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


Progress = Callable[[str, int, int], None]
"""Called with a stage's name, its shards done, and its shards in all."""


def run_stage(
    stage: Stage, store: Store, scope: Scope, pool: Workers, progress: Progress, shards: Sequence[int] | None = None
) -> ShardReport:
    """Bring a stage's tables up to date in these shards (None: in every one)."""
    shards = range(store.shards) if shards is None else shards
    total = ShardReport()
    reports = pool.map(_update_shard, [stage] * len(shards), [store] * len(shards), [scope] * len(shards), shards)
    for done, report in enumerate(reports, 1):
        total += report
        progress(stage.name, done, len(shards))
    return total


def _update_shard(stage: Stage, store: Store, scope: Scope, shard: int) -> ShardReport:
    survey = stage.survey(store, scope, shard)
    present = set(store.read("documents", shard, columns=["document_key"])["document_key"])
    stored = read_fingerprints(store, stage.name, shard)
    stale = [
        w.document_key
        for w in survey
        if w.unfinished or scope.recheck or dict(w.components) != stored.get(w.document_key)
    ]
    removed = [key for key in stored if key not in present]
    if not stale and not removed:
        return ShardReport(0, len(stored), 0, Counter(_row_counts(stage, store, shard)))
    fresh = stage.compute(store, scope, shard, stale) if stale else {}
    if stale:  # named before their rows are written: a document that vanishes after a kill is still cleared away
        write_fingerprints(store, stage.name, shard, {**stored, **{key: {"document": _UNDER_WAY} for key in stale}})
    replaced = pl.Series([*stale, *removed], dtype=pl.String)
    rows: Counter[str] = Counter()
    for name in stage.tables:
        kept = store.read(name, shard).filter(~pl.col("document_key").is_in(replaced.implode()))
        table = pl.concat([kept, fresh.pop(name)]) if stale else kept  # held once: a shard's largest fills memory
        store.write(name, table, shard)
        rows[name] = table.height
    fingerprints = {key: value for key, value in stored.items() if key in present}
    settled = stage.survey(store, scope, shard)  # again: components may build on the tables just written
    fingerprints.update({w.document_key: dict(w.components) for w in settled})
    write_fingerprints(store, stage.name, shard, fingerprints)
    return ShardReport(len(stale), len(fingerprints) - len(stale), len(removed), rows)


def read_fingerprints(store: Store, stage: str, shard: int) -> dict[str, dict[str, str]]:
    """Stored components of every document of a shard in a stage."""
    found: dict[str, dict[str, str]] = {}
    for key, component, value in store.read(
        "fingerprints", shard, stage=stage, columns=["key", "component", "hash"]
    ).iter_rows():
        found.setdefault(key, {})[component] = value
    return found


def write_fingerprints(store: Store, stage: str, shard: int, found: Mapping[str, Components]) -> None:
    """Store the components of every document of a shard in a stage."""
    rows = [(stage, key, component, value) for key, parts in found.items() for component, value in parts.items()]
    frame = pl.DataFrame(rows, schema=TABLES["fingerprints"].schema, orient="row")
    store.write("fingerprints", frame, shard, stage=stage)


def _row_counts(stage: Stage, store: Store, shard: int) -> dict[str, int]:
    return {name: store.height(path) for name in stage.tables if (path := store.path(name, shard)).exists()}


@cache
def engine(*packages: str) -> str:
    """Hash of the source code of modules and packages below this one: the engine component of a fingerprint.

    It moves exactly when the code that makes a stage's rows moves, with no number to forget.
    """
    root = Path(__file__).parent
    files = sorted(path for package in packages for path in _code_of(root, package))
    return hash_of(*(f"{path.relative_to(root).as_posix()}\n{path.read_text('utf-8')}" for path in files))


def _code_of(root: Path, package: str) -> list[Path]:
    module = root / f"{package}.py"
    found = [module] if module.exists() else list((root / package).rglob("*.py"))
    if not found:
        raise FileNotFoundError(f"no code {package!r} below {root}")
    return found
