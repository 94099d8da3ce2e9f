"""Another process that holds a store, for tests of what happens meanwhile.

The two talk through a pipe, not through a `multiprocessing.Event`: setting an event waits for every waiter to wake, and
one that was killed in its wait never does.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from pathlib import Path

from verification_pipeline.store import Store

_PATIENCE = 60  # seconds


@contextmanager
def held(root: Path) -> Iterator[SpawnProcess]:
    """A process that holds the store in `root` until the block ends, or until it is killed there."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    holder = context.Process(target=_hold, args=(root, there))
    holder.start()
    there.close()
    try:
        assert here.poll(_PATIENCE)
        assert here.recv() == "held"
        yield holder
    finally:
        here.close()
        holder.join()


def _hold(root: Path, pipe: Connection) -> None:
    with Store.open(root).locked():
        pipe.send("held")
        pipe.poll(_PATIENCE)  # ends with the test's end of the pipe
