"""What the checker knows about words apart from any claim: how rare they are, what means the same, what the opposite.

The tables are made by the training scripts and shipped as arrays of word hashes; a word that they lack is rare, and
has neither synonyms nor opposites.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from verification_pipeline.text.index import U64

U32 = NDArray[np.uint32]
CONTENT = 1.6
"""Words less rare than this (in more than a fifth of all passages) are grammar."""


def short(words: U64) -> U32:
    """The upper half of word hashes: what tables of related words hold."""
    return (words >> np.uint64(32)).astype(np.uint32)


@dataclass(frozen=True, slots=True)
class Lexicon:
    """Rarity, synonyms and opposites of English words.

    `hashes` (sorted) and `rarity`: word hashes of `text.index` and -log of the share of passages that hold the word.
    `synonyms`, `opposites`, `far_opposites`: sorted pairs (n × 2) of short hashes, both ways round; far opposites are
    opposites of synonyms.
    """

    hashes: U64
    rarity: NDArray[np.float32]
    synonyms: U32
    opposites: U32
    far_opposites: U32
    unseen: float
    """Rarity of a word that no passage held."""

    def weigh(self, words: U64) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
        """Weight of each word, and whether it is more than grammar."""
        if not len(self.hashes):
            return np.ones(len(words), np.float32), np.ones(len(words), bool)
        at = np.minimum(np.searchsorted(self.hashes, words), len(self.hashes) - 1)
        weights = np.where(self.hashes[at] == words, self.rarity[at], np.float32(self.unseen)).astype(np.float32)
        return np.maximum(weights, np.float32(0.05)), weights >= CONTENT


def related(table: U32, words: U64) -> tuple[NDArray[np.int64], U32]:
    """For every relation of every word: position of the word in `words`, short hash of the other word."""
    keys = short(words)
    first = np.searchsorted(table[:, 0], keys, side="left")
    counts = np.searchsorted(table[:, 0], keys, side="right") - first
    rows = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts - first, counts)
    return np.repeat(np.arange(len(words)), counts), table[rows, 1]
