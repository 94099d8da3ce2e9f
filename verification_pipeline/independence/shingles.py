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
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from verification_pipeline.config import Independence
from verification_pipeline.text.index import U64, IndexedText, WordIndex
from verification_pipeline.text.stack import Stack

PHRASE_WORDS = 3
_STOPS, _WIDE_STOPS = ".!?", "。！？…"
_ADDRESS = re.compile(r"https?://[^\s<>\"]*")
_MAY_BE_ADDRESS = re.compile(r":(?=//)")  # one sign is found several times sooner than three
_MIN_CAPITAL_RUN = 6  # words of a stretch before capitals say anything


def shingles(body: IndexedText, settings: Independence) -> U64:
    """Sorted distinct hashes of every run of `settings.shingle_words` consecutive words of prose."""
    return distinct(all_shingles(Stack.of([body]), settings)[0])


def all_shingles(stack: Stack, settings: Independence) -> list[U64]:
    """The same for each text of a stack, as they come: in text order and with repetitions."""
    size = settings.shingle_words
    grams = stack.index.grams(size)
    prose = _running(_prose_words(stack, settings))
    kept = prose[size:] - prose[:-size] == size
    kept[stack.across(size)] = False
    found = grams[kept]
    edges = _running(kept).take(np.minimum(stack.bounds, len(kept))).tolist()
    return [found[first:last] for first, last in pairwise(edges)]


def distinct(values: U64) -> U64:
    """Ascending, each once (numpy's own `unique` is four times slower on some thousand values)."""
    values = np.sort(values)
    new = np.ones(len(values), dtype=bool)
    np.not_equal(values[1:], values[:-1], out=new[1:])
    return values[new]


def _prose_words(stack: Stack, settings: Independence) -> NDArray[np.bool_]:
    """For each word whether its stretch is prose."""
    index = stack.index
    points = _points(stack.text)
    cuts, by_line = _cuts(points)
    reached = np.full(len(by_line), len(index))  # words up to the end of each stretch
    reached[:-1] = index.starts.searchsorted(cuts, side="right")
    words = np.diff(reached, prepend=0)
    skipped = by_line & (words < settings.short_line_words)
    capital = _running(_CAPITAL.take(points.take(index.starts)))
    few = np.diff(capital.take(stack.bounds)) < settings.capital_share * np.diff(stack.bounds)
    if few.any():  # a text all in capitals is no menu
        capitals = np.diff(capital.take(reached), prepend=0)
        text_of = stack.bounds.searchsorted(reached, side="left") - 1
        run = (words >= _MIN_CAPITAL_RUN) & (capitals >= settings.capital_share * words)
        skipped |= run & few.take(text_of, mode="clip")
    if phrases := phrase_places(stack, settings.boilerplate):
        skipped[reached.searchsorted(phrases, side="right")] = True
    prose = np.repeat(~skipped, words)
    addressed = _in_addresses(stack.text, index)
    return prose if addressed is None else prose & ~addressed


def _running(counted: NDArray[np.bool_]) -> NDArray[np.int64]:
    """How many are counted before each place, and in all."""
    sums = np.zeros(len(counted) + 1, np.int64)
    np.add.accumulate(counted, out=sums[1:])
    return sums


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
    if not _MAY_BE_ADDRESS.search(text):
        return None
    inside = np.zeros(len(index), dtype=bool)
    for match in _ADDRESS.finditer(text):
        first, last = index.starts.searchsorted(match.span())
        inside[first:last] = True
    return inside


def phrase_places(stack: Stack, phrases: tuple[str, ...]) -> list[int]:
    """First words of the places where a text of a stack holds one of the phrases (each of three words or more)."""
    table, known = _phrases(phrases)
    index = stack.index
    grams = index.runs(PHRASE_WORDS)
    found: list[int] = []
    for place in table.take(grams & _LOW_BITS).nonzero()[0].tolist():
        end = stack.bounds[stack.bounds.searchsorted(place, side="right")]
        wholes = known.get(int(grams[place]), ())
        if any(np.array_equal(index.words[place:end][: len(words)], words) for words in wholes):
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
