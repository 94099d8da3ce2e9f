"""How often Python looks for cycles of objects that nobody holds.

A night makes a great many objects and hardly any cycle: at Python's own pace looking for them takes a tenth of the
start and of the receipts, and one part in twenty-five of the reading.
"""

import gc

_NEW_OBJECTS = 50_000
"""More containers made than let go of since the last look: the next one is due. (Python: 700.)"""


def look_seldom() -> None:
    """Set this process's pace."""
    gc.set_threshold(_NEW_OBJECTS)
