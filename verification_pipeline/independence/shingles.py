"""What of a text counts when two texts are compared: word shingles of its prose, without the page around it.

Belongs here: which words are prose, and their shingles. Does not belong here: sampling of shingles (`sketches`), when
two texts are one voice (`clusters`).

A text is cut at line ends and sentence ends. A stretch is no prose if it is a short line without a full stop (menu,
heading), if nearly all its words are capitalised (a menu in one line), or if it holds a phrase of consent banners and
footers; the words of addresses never count. All of it is array work on the word index: no second tokenisation.
"""

from __future__ import annotations

import re
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from verification_pipeline.config import Independence
from verification_pipeline.text.index import U64, IndexedText, WordIndex

PHRASE_WORDS = 3
_ENDS = ".!?。！？…"
_ADDRESS = re.compile(r"https?://[^\s<>\"]*")
_MIN_CAPITAL_RUN = 6  # words of a stretch before capitals say anything


def shingles(body: IndexedText, settings: Independence) -> U64:
    """Sorted distinct hashes of every run of `settings.shingle_words` consecutive words of prose."""
    index = body.index
    size = settings.shingle_words
    if len(index) < size:
        return np.empty(0, np.uint64)
    grams = index.grams(size)
    prose = _prose_words(body.text, index, settings)
    if not prose.all():
        whole = np.cumsum(np.concatenate(([0], prose)))
        grams = grams[whole[size:] - whole[:-size] == size]
    return np.unique(grams)


def _prose_words(text: str, index: WordIndex, settings: Independence) -> NDArray[np.bool_]:
    """For each word whether its stretch is prose."""
    points = _points(text)
    ends = np.flatnonzero(_ENDING[points])
    lines = np.flatnonzero(points == 10)
    cuts = np.sort(np.concatenate((ends, lines)))
    stretch = np.searchsorted(cuts, index.starts)
    count = len(cuts) + 1
    words = np.bincount(stretch, minlength=count)
    by_line = np.append(points[cuts] == 10, True)
    capital = _CAPITAL[points[index.starts]]
    capitals = np.bincount(stretch, weights=capital, minlength=count)
    skipped = by_line & (words < settings.short_line_words)
    if capital.mean() < settings.capital_share:
        skipped |= (words >= _MIN_CAPITAL_RUN) & (capitals >= settings.capital_share * words)
    phrases = _phrases(settings.boilerplate)
    hits = np.flatnonzero(np.isin(index.grams(PHRASE_WORDS), phrases))
    skipped[stretch[hits]] = True
    return ~skipped[stretch] & ~_in_addresses(text, index)


def _in_addresses(text: str, index: WordIndex) -> NDArray[np.bool_]:
    """For each word whether it stands in a web address."""
    spans = np.array([match.span() for match in _ADDRESS.finditer(text)], np.int64).reshape(-1, 2)
    if not len(spans):
        return np.zeros(len(index), dtype=bool)
    k = np.searchsorted(spans[:, 0], index.starts, side="right") - 1
    inside: NDArray[np.bool_] = (k >= 0) & (index.starts < spans[np.maximum(k, 0), 1])
    return inside


@lru_cache(maxsize=8)
def _phrases(phrases: tuple[str, ...]) -> U64:
    """The first words of each phrase as one hash."""
    grams = [WordIndex.build(phrase).grams(PHRASE_WORDS)[:1] for phrase in phrases]
    return np.unique(np.concatenate(grams)) if grams else np.empty(0, np.uint64)


def _points(text: str) -> NDArray[np.uint8] | NDArray[np.uint32]:
    """Code points; those beyond the basic plane, which hold no stops and few capitals, as its last."""
    if text.isascii():
        return np.frombuffer(text.encode("ascii"), dtype=np.uint8)
    points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    return np.where(points > _LAST, np.uint32(_LAST), points)


_LAST = 0xFFFF
_ENDING = np.zeros(_LAST + 1, dtype=bool)
_ENDING[[ord(end) for end in _ENDS]] = True
_CAPITAL = np.fromiter((chr(point).isupper() for point in range(_LAST + 1)), dtype=bool, count=_LAST + 1)
