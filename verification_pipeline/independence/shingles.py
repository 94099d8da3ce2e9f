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
_STOPS, _WIDE_STOPS = "!?", "。！？…"
_ADDRESS = re.compile(r"https?://[^\s<>\"]*")
_MIN_CAPITAL_RUN = 6  # words of a stretch before capitals say anything


def shingles(body: IndexedText, settings: Independence) -> U64:
    """Sorted distinct hashes of every run of `settings.shingle_words` consecutive words of prose."""
    return distinct(all_shingles(body, settings))


def all_shingles(body: IndexedText, settings: Independence) -> U64:
    """The same as they come, in text order and with repetitions."""
    index = body.index
    size = settings.shingle_words
    if len(index) < size:
        return np.empty(0, np.uint64)
    grams = index.grams(size)
    prose = _prose_words(body.text, index, settings)
    if not prose.all():
        whole = np.cumsum(np.concatenate(([0], prose)))
        grams = grams[whole[size:] - whole[:-size] == size]
    return grams


def distinct(values: U64) -> U64:
    """Ascending, each once (numpy's own `unique` is four times slower on some thousand values)."""
    values = np.sort(values)
    return values[np.concatenate(([True], values[1:] != values[:-1]))[: len(values)]]


def _prose_words(text: str, index: WordIndex, settings: Independence) -> NDArray[np.bool_]:
    """For each word whether its stretch is prose."""
    points = _points(text)
    cuts, by_line = _cuts(points)
    stretch = np.searchsorted(cuts, index.starts)
    words = np.bincount(stretch, minlength=len(by_line))
    skipped = by_line & (words < settings.short_line_words)
    capital = _CAPITAL[points[index.starts]]
    if np.count_nonzero(capital) < settings.capital_share * len(capital):
        capitals = np.bincount(stretch[capital], minlength=len(by_line))
        skipped |= (words >= _MIN_CAPITAL_RUN) & (capitals >= settings.capital_share * words)
    for place in phrase_places(index, settings.boilerplate):
        skipped[stretch[place]] = True
    return ~skipped[stretch] & ~_in_addresses(text, index)


def _cuts(points: NDArray[np.uint8] | NDArray[np.uint32]) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """Where stretches end, and for each stretch, the last included, whether a line end (no stop) ends it.

    A stop ends a stretch before white space or an ideograph; a line end does unless the next line is in lower case.
    """
    last = len(points) - 1
    stops = points == ord(".")
    for stop in _STOPS if points.dtype == np.uint8 else _STOPS + _WIDE_STOPS:
        stops |= points == ord(stop)
    ends = np.flatnonzero(stops)
    ends = ends[(ends == last) | _AFTER_STOP[points[np.minimum(ends + 1, last)]]]
    lines = np.flatnonzero(points == _NEWLINE)
    lines = lines[~_LOWER[points[np.minimum(lines + 1, last)]]]
    cuts = np.sort(np.concatenate((ends, lines)))
    return cuts, np.append(points[cuts] == _NEWLINE, True)


def _in_addresses(text: str, index: WordIndex) -> NDArray[np.bool_]:
    """For each word whether it stands in a web address."""
    spans = np.array([match.span() for match in _ADDRESS.finditer(text)], np.int64).reshape(-1, 2)
    if not len(spans):
        return np.zeros(len(index), dtype=bool)
    k = np.searchsorted(spans[:, 0], index.starts, side="right") - 1
    inside: NDArray[np.bool_] = (k >= 0) & (index.starts < spans[np.maximum(k, 0), 1])
    return inside


def phrase_places(index: WordIndex, phrases: tuple[str, ...]) -> list[int]:
    """First words of the places where a text holds one of the phrases (each of three words or more)."""
    table, known = _phrases(phrases)
    grams = index.grams(PHRASE_WORDS)
    found: list[int] = []
    for place in np.flatnonzero(table[grams & _LOW_BITS]).tolist():
        wholes = known.get(int(grams[place]), ())
        if any(np.array_equal(index.words[place : place + len(words)], words) for words in wholes):
            found.append(place)
    return found


@lru_cache(maxsize=8)
def _phrases(phrases: tuple[str, ...]) -> tuple[NDArray[np.bool_], dict[int, list[U64]]]:
    """A table of the low bits of each phrase's first three words, and by those words all words of the phrases."""
    table = np.zeros(int(_LOW_BITS) + 1, dtype=bool)
    known: dict[int, list[U64]] = {}
    for index in map(WordIndex.build, phrases):
        for lead in index.grams(PHRASE_WORDS)[:1].tolist():
            table[lead & int(_LOW_BITS)] = True
            known.setdefault(lead, []).append(index.words)
    return table, known


def _points(text: str) -> NDArray[np.uint8] | NDArray[np.uint32]:
    """Code points; those beyond the basic plane, which hold no stops and few capitals, as its last."""
    if text.isascii():
        return np.frombuffer(text.encode("ascii"), dtype=np.uint8)
    points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    return np.where(points > _LAST, np.uint32(_LAST), points)


_LAST = 0xFFFF
_LOW_BITS = np.uint64(0xFFFF)
_NEWLINE = 10
_CAPITAL = np.fromiter((chr(point).isupper() for point in range(_LAST + 1)), dtype=bool, count=_LAST + 1)
_LOWER = np.fromiter((chr(point).islower() for point in range(_LAST + 1)), dtype=bool, count=_LAST + 1)
_AFTER_STOP = np.fromiter(
    (chr(point).isspace() or chr(point) in "\"'”’)]»" or 0x3000 <= point <= 0x9FFF for point in range(_LAST + 1)),
    dtype=bool,
    count=_LAST + 1,
)
