"""CPU time of a call, for tests that tell a cost that grows with the size from one that grows with its square."""

from __future__ import annotations

import time
from collections.abc import Callable


def least_seconds(call: Callable[[], object], times: int = 3) -> float:
    """CPU seconds of the quickest of several calls: on a busy machine the others also paid for their neighbours."""
    spent = []
    for _ in range(times):
        started = time.process_time()
        call()
        spent.append(time.process_time() - started)
    return min(spent)
