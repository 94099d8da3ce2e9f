"""Comparing quoted words with a source: verbatim, nearly, or not at all, and on which exact span.

Belongs here: what a quoter may change (omissions, editorial brackets, the case of the first letter, closing
punctuation) and the closest span of anything else. Does not belong here: typography (`text.normalise`), which source a
quote cites (`citing`).

Word 3-grams of the word index say where in a source to look; a window there is normalised and compared character by
character. Verbatim means equal after normalisation, piece by piece in order; a score never verifies. The closest span
of a near miss is optimal: Sellers' infix alignment (edlib), moved to whole words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Literal

import edlib
import numpy as np
from numpy.typing import NDArray
from rapidfuzz.distance import Levenshtein

from verification_pipeline.config import Quotes
from verification_pipeline.quotes.marks import is_ideograph
from verification_pipeline.text.index import IndexedText, WordIndex
from verification_pipeline.text.normalise import MINUS, Normalised, normalise

GRAM = 3
_WINDOWS = 4  # places of a source that are compared, best first
_COMMON = 64  # a 3-gram with more places in one source says nothing about where to look
_STATES = 64  # ways to place the pieces before the next one that are followed

_OMISSION = re.compile(r"[\[(]…[\])]|…")
_BRACKET = re.compile(r"\[([^\[\]…]{1,200})\]|[\[(]…[\])]|…")
_NOTE = re.compile(
    r"sic!?|emphasis .*|italics .*|my .*|our .*|hervorhebung.*|herv\..*|c'est nous.*|sic erat.*", re.IGNORECASE
)
_SOFT_END = ".,;:"
_TOKEN = re.compile(rf"[{MINUS}$€£¥]*\d+(?:[.,]\d+)*[%‰°]?|[^\W\d_]+(?:['-][^\W\d_]+)*|\w|[^\w\s]")
_LETTERS = re.compile(r"[^\W\d_]{0,6}")
_DIGITS = re.compile(r"\d+")
_SIGNS = f"{MINUS}±~≈<>≤≥$€£¥#"
_UNITS = "%‰°$€£¥"

Gap = Literal["", "omission", "letters", "words", "note"]


@dataclass(frozen=True, slots=True)
class Piece:
    """Consecutive quoted words, normalised. `gap` is what the quoter marked before them, `inserted` its wording."""

    text: str
    gap: Gap = ""
    inserted: str = ""


@dataclass(frozen=True)
class Quotation:
    """A quote ready to be compared: as written, normalised, and the ways to read its marks."""

    raw: str
    plain: str
    readings: tuple[tuple[Piece, ...], ...]

    @classmethod
    def parse(cls, raw: str) -> Quotation:
        """Read a quote: brackets first as the source's own, then as the quoter's; ellipses always as omissions."""
        normal = normalise(raw).text
        literal = _pieces(normal, _OMISSION)
        editorial = _pieces(normal, _BRACKET)
        readings = (literal,) if editorial == literal else (literal, editorial)
        return cls(raw.strip(_SOFT_END + " \n\t"), normal, tuple(r for r in readings if r))

    @cached_property
    def grams(self) -> list[tuple[int, NDArray[np.uint64]]]:
        """Word 3-grams of the pieces that have any, with the piece's first word counted from the quote's first."""
        found, words = [], 0
        for piece in self.readings[-1] if self.readings else ():
            index = WordIndex.build(piece.text)
            grams = index.grams(GRAM)
            if len(grams):
                found.append((words, grams))
            words += len(index)
        return found

    @cached_property
    def words(self) -> int:
        """Words of all pieces."""
        return sum(len(WordIndex.build(piece.text)) for piece in (self.readings[-1] if self.readings else ()))


@dataclass(frozen=True)
class Searchable:
    """A source text with its sorted word 3-grams."""

    body: IndexedText

    @cached_property
    def _sorted(self) -> tuple[NDArray[np.uint64], NDArray[np.intp]]:
        grams = self.body.index.grams(GRAM)
        order = np.argsort(grams, kind="stable")
        return grams[order], order

    def places(self, grams: NDArray[np.uint64], first_word: int) -> NDArray[np.intp]:
        """For every hit of a piece's 3-grams: the source word at which the quote's first word would stand."""
        known, order = self._sorted
        low = np.searchsorted(known, grams, side="left")
        counts = np.searchsorted(known, grams, side="right") - low
        telling = np.flatnonzero((counts > 0) & (counts <= _COMMON))
        if not len(telling):
            telling = np.flatnonzero(counts)
            counts = np.minimum(counts, _COMMON)
            if not len(telling):
                return np.empty(0, np.intp)
        if int(counts[telling].max()) == 1:
            return order[low[telling]] - telling - first_word
        hits = [order[low[k] : low[k] + counts[k]] - k for k in telling.tolist()]
        return np.concatenate(hits) - first_word


@dataclass(frozen=True, slots=True)
class Match:
    """Where a source comes closest to a quote: text[start:end] of the source; distance 0 and no edits is verbatim."""

    start: int
    end: int
    distance: int
    edits: tuple[str, ...] = ()
    allowed: tuple[str, ...] = ()


def find(quotation: Quotation, source: Searchable, settings: Quotes, *, near: bool) -> Match | None:
    """The verbatim place of a quote in a source; else, if `near`, the closest span within the near-miss threshold."""
    text = source.body.text
    exact = _as_written(quotation.raw, text)
    if exact is not None:
        return exact
    windows: list[Normalised] = []
    for start, end in _windows(quotation, source, settings):
        window = normalise(text, start, end, beside=quotation.plain)
        for reading in quotation.readings:
            placed = _placed(reading, window.text, settings)
            if placed is not None:
                first, last, allowed = placed
                return Match(*window.original(first, last), 0, (), allowed)
        windows.append(window)
    return _closest(quotation, windows, settings) if near and windows else None


def _as_written(raw: str, text: str) -> Match | None:
    start = text.find(raw) if raw else -1
    if start < 0 or not (_starts_whole(text, start) and _ends_whole(text, start + len(raw))):
        return None
    return Match(start, start + len(raw), 0)


# ---- reading the quoter's marks


def _pieces(normal: str, marks: re.Pattern[str]) -> tuple[Piece, ...]:
    """Split a normalised quote at the quoter's marks. Punctuation that a quoter's sentence brings is dropped."""
    pieces: list[Piece] = []
    gap: Gap = ""
    inserted, done = "", 0
    for mark in marks.finditer(normal):
        if mark.start() > done or not pieces:
            pieces.append(Piece(normal[done : mark.start()], gap, inserted))
            gap, inserted = "", ""
        gap = _wider(gap, _kind(mark, normal))
        inserted = f"{inserted} {mark[1] or ''}".strip() if mark.re is _BRACKET else inserted
        done = mark.end()
    pieces.append(Piece(normal[done:], gap, inserted))
    return tuple(_tidied(pieces))


def _kind(mark: re.Match[str], normal: str) -> Gap:
    if mark.re is _OMISSION or mark[1] is None:
        return "omission"
    if _NOTE.fullmatch(mark[1]):
        return "note"
    before = normal[mark.start() - 1 : mark.start()]
    after = normal[mark.end() : mark.end() + 1]
    inside_word = before.isalpha() or (after.isalpha() and len(mark[1]) <= 2)
    return "letters" if mark[1].isalpha() and len(mark[1]) <= 5 and inside_word else "words"


_WIDTH: dict[Gap, int] = {"": 0, "note": 1, "letters": 2, "words": 3, "omission": 4}


def _wider(left: Gap, right: Gap) -> Gap:
    return left if _WIDTH[left] >= _WIDTH[right] else right


def _tidied(pieces: Sequence[Piece]) -> Iterator[Piece]:
    """Pieces without the punctuation around an omission and at the quote's end, and without empty ends."""
    for k, piece in enumerate(pieces):
        text = piece.text
        if k + 1 == len(pieces) or pieces[k + 1].gap == "omission":
            text = text.rstrip(_SOFT_END + " ")
        if piece.gap == "omission":
            text = text.lstrip(_SOFT_END + " ")
        if text or (piece.gap == "letters" and k + 1 == len(pieces)):
            yield Piece(text.strip(), piece.gap, piece.inserted)


# ---- where to look


def _windows(quotation: Quotation, source: Searchable, settings: Quotes) -> Iterator[tuple[int, int]]:
    """Stretches of the source that may hold the quote, most shared 3-grams first, as code-point ranges."""
    text, index = source.body.text, source.body.index
    if not quotation.grams:
        if len(text) <= settings.max_text_without_grams:
            yield 0, len(text)
        return
    hits = [source.places(grams, first) for first, grams in quotation.grams]
    places = hits[0] if len(hits) == 1 else np.concatenate(hits)
    if not len(places):
        return
    omissions = sum(piece.gap == "omission" for piece in quotation.readings[-1])
    slack = 4 + quotation.words // 4
    for first in _densest(places, slack):
        start = max(0, first - slack)
        end = min(len(index) - 1, first + quotation.words + 2 * slack)
        room = omissions * settings.max_omitted_chars
        yield max(0, int(index.starts[start]) - room - 3), min(len(text), int(index.ends[end]) + room + 3)


def _densest(places: NDArray[np.intp], width: int) -> list[int]:
    """Starts of the stretches of `width` words in which most hits agree on where the quote begins, best first."""
    if len(places) == 1:
        return [int(places[0])]
    places = np.sort(places)
    if places[-1] - places[0] <= width:
        return [int(places[0])]
    votes = np.searchsorted(places, places + width, side="right") - np.arange(len(places))
    best: list[int] = []
    for _ in range(_WINDOWS):
        k = int(votes.argmax())
        if votes[k] <= 0:
            break
        best.append(int(places[k]))
        votes[np.searchsorted(places, places[k] - width) : k + votes[k]] = 0
    return best


# ---- verbatim


def _placed(pieces: Sequence[Piece], window: str, settings: Quotes) -> tuple[int, int, tuple[str, ...]] | None:
    """The span of a window that holds the pieces in order, each whole, and what was allowed for between them."""
    states = list(_first_places(pieces[0], window))
    for before, piece in pairwise(pieces):
        following: dict[int, int] = {}
        for start, end in states:
            for reached in _next_places(before, piece, window, end, settings):
                following.setdefault(reached, start)
                if len(following) >= _STATES:
                    break
        states = [(start, end) for end, start in following.items()]
    for start, end in states:
        if not pieces[-1].text or _ends_whole(window, end):
            gaps = {piece.gap for piece in pieces}
            return start, end, tuple(name for gap, name in _ALLOWED.items() if gap in gaps)
    return None


_ALLOWED: dict[Gap, str] = {
    "omission": "omission",
    "words": "editorial bracket",
    "letters": "editorial bracket in a word",
}


def _first_places(piece: Piece, window: str) -> Iterator[tuple[int, int]]:
    for place in _occurrences(window, piece.text, 0, len(window), any_case=piece.gap != "letters"):
        start = place
        if piece.gap == "letters":
            while start > 0 and place - start <= 6 and window[start - 1].isalpha():
                start -= 1
        if _starts_whole(window, start):
            yield start, place + len(piece.text)


def _next_places(before: Piece, piece: Piece, window: str, end: int, settings: Quotes) -> Iterator[int]:
    """Ends of the places of a piece that the quoter's mark allows after `end`."""
    text = piece.text
    if piece.gap == "letters":
        letters = _LETTERS.match(window, end)
        for cut in range(end, letters.end() + 1 if letters else end + 1):
            for place in (cut, cut + 1) if window[cut : cut + 1] == " " else (cut,):
                if window.startswith(text, place):
                    yield place + len(text) if text else letters.end() if letters else end
        return
    if before.text and not _ends_whole(window, end):
        return
    furthest = {"omission": settings.max_omitted_chars, "words": 16 * settings.max_inserted_words}.get(piece.gap, 2)
    for place in _occurrences(window, text, end, end + furthest + len(text), any_case=piece.gap == "omission"):
        if _starts_whole(window, place) and _may_stand_for(piece, window[end:place], settings):
            yield place + len(text)


def _may_stand_for(piece: Piece, replaced: str, settings: Quotes) -> bool:
    """Whether a mark may stand for these source words: an omission hides no bare negation, a bracket no figure."""
    words = replaced.split()
    negated = _negates(replaced, settings)
    if piece.gap == "omission":
        return not (negated and len(words) <= settings.max_inserted_words)
    if piece.gap == "note":
        return not words
    figures = set(_DIGITS.findall(replaced)) - set(_DIGITS.findall(piece.inserted))
    return len(words) <= settings.max_inserted_words and not figures and negated == _negates(piece.inserted, settings)


def _negates(words: str, settings: Quotes) -> bool:
    lowered = words.casefold()
    return "n't" in lowered or any(token in settings.negations for token in _TOKEN.findall(lowered))


def _occurrences(window: str, text: str, start: int, end: int, *, any_case: bool) -> Iterator[int]:
    """Places of text in window[start:end]; `any_case`: its first letter in either case."""
    lead = text[:1]
    if any_case and lead.isalpha() and len(text) > 1:
        place = window.find(text[1:], start + 1, end)
        while place >= 0:
            if window[place - 1].casefold() == lead.casefold():
                yield place - 1
            place = window.find(text[1:], place + 1, end)
        return
    place = window.find(text, start, end)
    while place >= 0:
        yield place
        place = window.find(text, place + 1, end)


def _starts_whole(text: str, start: int) -> bool:
    """Whether a span that starts here takes its first word or figure whole, sign and currency included."""
    if start == 0 or start >= len(text):
        return True
    first, before = text[start], text[start - 1]
    if _joined(before, first):
        return False
    if first.isdigit():
        return before not in _SIGNS and not (before in ".," and start > 1 and text[start - 2].isdigit())
    return True


def _ends_whole(text: str, end: int) -> bool:
    """Whether a span that ends here takes its last word or figure whole, unit sign included."""
    if end == 0 or end >= len(text):
        return True
    last, after = text[end - 1], text[end]
    if _joined(last, after):
        return False
    if last.isdigit():
        rest = text[end : end + 2].lstrip()
        return rest[:1] not in _UNITS if rest else True
    return True


def _joined(left: str, right: str) -> bool:
    return left.isalnum() and right.isalnum() and not (is_ideograph(left) or is_ideograph(right))


# ---- near misses


def _closest(quotation: Quotation, windows: Sequence[Normalised], settings: Quotes) -> Match | None:
    """The best of the windows' closest spans, if its edits stay within the threshold."""
    best: Match | None = None
    pieces = quotation.readings[-1]
    size = sum(len(piece.text) for piece in pieces)
    most = int(settings.near_miss * size)
    for window in windows:
        nearest = _nearest(pieces, window.text, most if best is None else best.distance)
        if nearest is None:
            continue
        first, last, distance, edits = nearest
        if distance <= most and (best is None or distance < best.distance):
            best = Match(*window.original(first, last), distance, edits)
    return best


def _nearest(pieces: Sequence[Piece], window: str, most: int) -> tuple[int, int, int, tuple[str, ...]] | None:
    """First and last offset, distance and edits of the closest stretch, the pieces aligned one after the other."""
    begin, after, distance = -1, 0, 0
    edits: list[str] = []
    for piece in pieces:
        if not piece.text:
            continue
        aligned = infix(piece.text, window[after:], 2 * most + 8)
        if aligned is None:
            return None
        first, last, cost = _to_words(piece.text, window, after + aligned[0], after + aligned[1])
        distance += cost
        edits += word_edits(piece.text, window[first:last])
        begin, after = (first if begin < 0 else begin), last
    return (begin, after, max(1, distance), tuple(edits)) if begin >= 0 else None


def infix(query: str, target: str, most: int) -> tuple[int, int, int] | None:
    """Start, end and edit distance of the stretch of target closest to query; None beyond `most` edits.

    edlib takes at most 256 distinct symbols: those of the target that the query lacks become one, and where the query
    alone has too many, its rarest are compared as one symbol too (they then may match each other).
    """
    if not (query.isascii() and target.isascii()):
        query, target = _coded(query, target)
    result = edlib.align(query, target, mode="HW", task="locations", k=most)
    if result["editDistance"] < 0:
        return None
    first, last = result["locations"][0]
    return (first or 0), last + 1, result["editDistance"]


def _coded(query: str, target: str) -> tuple[str, str]:
    symbols = dict.fromkeys(query)
    codes = {ord(symbol): min(k, 254) for k, symbol in enumerate(symbols)}
    codes.update((ord(symbol), 255) for symbol in set(target) if symbol not in symbols)
    return query.translate(codes), target.translate(codes)


def _to_words(piece: str, window: str, first: int, last: int) -> tuple[int, int, int]:
    """The aligned span moved to whole words, outwards or inwards at each end, whichever is closest to the piece."""
    starts = {_outwards(window, first, -1), _inwards(window, first, 1)}
    ends = {_outwards(window, last, 1), _inwards(window, last, -1)}
    options = sorted((a, b) for a in starts for b in ends if a < b) or [(first, last)]
    costs = [(Levenshtein.distance(piece, window[a:b]), a - b, a, b) for a, b in options]
    cost, _, first, last = min(costs)
    return first, last, cost


def _outwards(window: str, place: int, step: int) -> int:
    whole = _starts_whole if step < 0 else _ends_whole
    while 0 < place < len(window) and not whole(window, place):
        place += step
    return place


def _inwards(window: str, place: int, step: int) -> int:
    whole = _starts_whole if step > 0 else _ends_whole
    while 0 < place < len(window) and not whole(window, place):
        place += step
    while 0 < place < len(window) and window[place if step > 0 else place - 1] == " ":
        place += step
    return place


def word_edits(quoted: str, source: str) -> list[str]:
    """What the quote has instead of the source's words, left to right, in words."""
    ours, theirs = _TOKEN.findall(quoted), _TOKEN.findall(source)
    edits: list[str] = []
    for operation in Levenshtein.opcodes(theirs, ours):
        if operation.tag == "equal":
            continue
        was = " ".join(theirs[operation.src_start : operation.src_end])
        became = " ".join(ours[operation.dest_start : operation.dest_end])
        if not became:
            edits.append(f"“{was}” left out")
        elif not was:
            edits.append(f"“{became}” added")
        else:
            edits.append(f"“{became}” instead of “{was}”")
    return edits
