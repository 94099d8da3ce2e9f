"""Several texts one under the other: array work on all of them at once.

Of the time that array work on one text of some pages takes, most is spent on calling it. What belongs elsewhere: what
a word is (`index`), and what is worked out of the words.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

import numpy as np
from numpy.typing import NDArray

from verification_pipeline.text.index import IndexedText, WordIndex

_BETWEEN = "\n\n"
"""Parts two texts as paragraphs are parted: no word, line or address reaches across."""
_MOST_CHARS = 1 << 19
"""Texts of so many code points in all are put together: a document's sources mostly, and memory stays small."""


@dataclass(frozen=True, slots=True)
class Stack:
    """Some texts as one, with its word index: of text k it has the words from `bounds[k]` up to `bounds[k + 1]`."""

    names: tuple[str, ...]
    text: str
    index: WordIndex
    bounds: NDArray[np.intp]

    @classmethod
    def of(cls, texts: Sequence[IndexedText]) -> Stack:
        """A stack of these texts, which get their own word indexes out of it; a single one brings its own."""
        if len(texts) == 1:
            [only] = texts
            return cls((only.sha256,), only.text, only.index, np.array([0, len(only.index)]))
        places = list(accumulate((len(one.text) + len(_BETWEEN) for one in texts), initial=0))
        whole = _BETWEEN.join([one.text for one in texts])
        index = WordIndex.build(whole)
        bounds = index.starts.searchsorted(places)
        for one, place, (first, last) in zip(texts, places, pairwise(bounds.tolist()), strict=False):
            one.take_index(index.part(place, first, last))
        return cls(tuple([one.sha256 for one in texts]), whole, index, bounds)

    def across(self, size: int) -> NDArray[np.intp]:
        """Which runs of `size` words reach from one text into another; several times over where texts are short."""
        places = (self.bounds[1:-1, None] - np.arange(1, size)).ravel()
        return places[(places >= 0) & (places <= len(self.index) - size)]


def stacked(texts: Iterable[IndexedText]) -> Iterator[Stack]:
    """Stacks of these texts, each text once. ASCII keeps to itself, because its work is much cheaper."""
    waiting: dict[bool, dict[str, IndexedText]] = {True: {}, False: {}}
    chars = {True: 0, False: 0}
    for one in texts:
        kind = one.text.isascii()
        if one.sha256 in waiting[kind]:
            continue
        if waiting[kind] and chars[kind] + len(one.text) > _MOST_CHARS:
            yield Stack.of(list(waiting[kind].values()))
            waiting[kind], chars[kind] = {}, 0
        waiting[kind][one.sha256] = one
        chars[kind] += len(one.text)
    yield from (Stack.of(list(some.values())) for some in waiting.values() if some)
