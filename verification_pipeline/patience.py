"""A limit on the time that one piece of work may take, so that one input never holds up the rest.

Belongs here: interrupting. Does not belong here: what becomes of the work that was interrupted (the stage says why).
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Raise TimeoutError in the block once it took so long.

    Only where the system can interrupt it: in the main thread of a process (worker processes have no other), on POSIX.
    """
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return

    def give_up(*_: object) -> None:
        raise TimeoutError(f"not done within {seconds:g} s")

    before = signal.signal(signal.SIGALRM, give_up)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
