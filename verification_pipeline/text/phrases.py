"""Phrases of a text: a sample of its runs of words that any unbroken stretch of another text's words is found by.

Winnowing (Schleimer, Wilkerson & Aiken, SIGMOD 2003): of every few neighbouring runs the one with the smallest hash is
kept. Two texts that have `CERTAIN_WORDS` words in a row in common keep the same phrases of that stretch, wherever it
stands in either, and no others need be stored. What a shared phrase is worth is judged where it is asked about.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from verification_pipeline.text.index import WordIndex

U32 = NDArray[np.uint32]

RUN_WORDS = 6
"""Words of a run: fewer stand by chance in many texts."""
_NEIGHBOURS = 3
CERTAIN_WORDS = RUN_WORDS + _NEIGHBOURS - 1
"""Words in a row that two texts must share to be sure to share a phrase."""


def phrases(index: WordIndex) -> U32:
    """Distinct hashes of a text's phrases, ascending: about half as many as it has words.

    A text with too few runs to choose among keeps them all; one shorter than a run has none.
    """
    runs = (index.grams(RUN_WORDS) >> np.uint64(32)).astype(np.uint32)
    count = len(runs) - _NEIGHBOURS + 1
    if count > 0:
        kept = runs[:count].copy()
        for offset in range(1, _NEIGHBOURS):
            np.minimum(kept, runs[offset : offset + count], out=kept)
        runs = _without_repeats(kept)
    return _without_repeats(np.sort(runs))


def _without_repeats(values: U32) -> U32:
    """Of equal values side by side the first."""
    new = np.ones(len(values), dtype=np.bool_)
    np.not_equal(values[1:], values[:-1], out=new[1:])
    return values[new]
