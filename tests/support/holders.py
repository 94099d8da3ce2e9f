"""Another process that holds a store, for tests of what happens meanwhile."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.context import SpawnProcess
from multiprocessing.synchronize import Event
from pathlib import Path

from verification_pipeline.store import Store

_PATIENCE = 30  # seconds


@contextmanager
def held(root: Path) -> Iterator[SpawnProcess]:
    """A process that holds the store in `root` until the block ends, or until it is killed there."""
    context = multiprocessing.get_context("spawn")
    ready, release = context.Event(), context.Event()
    holder = context.Process(target=_hold, args=(root, ready, release))
    holder.start()
    try:
        assert ready.wait(_PATIENCE)
        yield holder
    finally:
        release.set()
        holder.join()


def _hold(root: Path, ready: Event, release: Event) -> None:
    with Store.open(root).locked():
        ready.set()
        release.wait(_PATIENCE)
