"""CPU time of a call, for tests that tell a cost that grows with the size from one that grows with its square."""

from __future__ import annotations

import time
import timeit
from collections.abc import Callable


def least_seconds(call: Callable[[], object], times: int = 3) -> float:
    """CPU seconds of the quickest of several calls, garbage collection paused.

    The slower ones paid for neighbours on the machine; a collection pays for whatever earlier tests left in memory.
    """
    return min(timeit.repeat(call, timer=time.process_time, number=1, repeat=times))
