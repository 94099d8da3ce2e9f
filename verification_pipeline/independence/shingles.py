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
_STOPS, _WIDE_STOPS = ".!?", "。！？…"
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
    if prose is not None:
        whole = np.zeros(len(index) + 1, np.int64)
        np.add.accumulate(prose, out=whole[1:])
        grams = grams[whole[size:] - whole[:-size] == size]
    return grams


def distinct(values: U64) -> U64:
    """Ascending, each once (numpy's own `unique` is four times slower on some thousand values)."""
    values = np.sort(values)
    new = np.ones(len(values), dtype=bool)
    np.not_equal(values[1:], values[:-1], out=new[1:])
    return values[new]


def _prose_words(text: str, index: WordIndex, settings: Independence) -> NDArray[np.bool_] | None:
    """For each word whether its stretch is prose; None where every word's is."""
    points = _points(text)
    cuts, by_line = _cuts(points)
    reached = np.full(len(by_line), len(index))  # words up to the end of each stretch
    reached[:-1] = index.starts.searchsorted(cuts, side="right")
    words = _steps(reached)
    skipped = by_line & (words < settings.short_line_words)
    capital = _CAPITAL.take(points.take(index.starts))
    if np.count_nonzero(capital) < settings.capital_share * len(capital):
        upto = np.zeros(len(index) + 1, np.int64)
        np.add.accumulate(capital, out=upto[1:])
        capitals = _steps(upto.take(reached))
        skipped |= (words >= _MIN_CAPITAL_RUN) & (capitals >= settings.capital_share * words)
    if phrases := phrase_places(index, settings.boilerplate):
        skipped[reached.searchsorted(phrases, side="right")] = True
    addressed = _in_addresses(text, index)
    if addressed is None and not words[skipped].any():
        return None
    prose = np.repeat(~skipped, words)
    return prose if addressed is None else prose & ~addressed


def _steps(sums: NDArray[np.intp]) -> NDArray[np.intp]:
    """What each of the running sums adds to the one before."""
    steps = sums.copy()
    steps[1:] -= sums[:-1]
    return steps


def _cuts(points: NDArray[np.uint8] | NDArray[np.uint32]) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """Where stretches end, and for each stretch, the last included, whether a line end (no stop) ends it.

    A stop ends a stretch before white space or an ideograph; a line end does unless the next line is in lower case.
    """
    last = len(points) - 1
    ends = points == _NEWLINE
    for stop in _STOPS if points.dtype == np.uint8 else _STOPS + _WIDE_STOPS:
        ends |= points == ord(stop)
    cuts = ends.nonzero()[0]
    by_line = points.take(cuts) == _NEWLINE
    following = points.take(np.minimum(cuts + 1, last))
    kept = np.where(by_line, ~_LOWER.take(following), _AFTER_STOP.take(following) | (cuts == last)).nonzero()[0]
    ended_by_line = np.ones(len(kept) + 1, dtype=bool)
    by_line.take(kept, out=ended_by_line[:-1])
    return cuts.take(kept), ended_by_line


def _in_addresses(text: str, index: WordIndex) -> NDArray[np.bool_] | None:
    """For each word whether it stands in a web address; None without any."""
    if "://" not in text:
        return None
    inside = np.zeros(len(index), dtype=bool)
    for match in _ADDRESS.finditer(text):
        first, last = index.starts.searchsorted(match.span())
        inside[first:last] = True
    return inside


def phrase_places(index: WordIndex, phrases: tuple[str, ...]) -> list[int]:
    """First words of the places where a text holds one of the phrases (each of three words or more)."""
    table, known = _phrases(phrases)
    grams = index.runs(PHRASE_WORDS)
    found: list[int] = []
    for place in table.take(grams & _LOW_BITS).nonzero()[0].tolist():
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
        for lead in index.runs(PHRASE_WORDS)[:1].tolist():
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
