"""Comparing a quote with a source: verbatim, nearly, or not at all, and on which exact span.

Belongs here: where to look, and what the quoter's marks may stand for. Does not belong here: typography
(`text.normalise`), reading the marks (`quotation`), the closest span (`nearest`), which source a quote cites
(`citing`).

Word 3-grams of the word index say where in a source to look; a window there is normalised and compared character by
character. Verbatim means equal after normalisation, piece by piece in order: a score never verifies.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate, pairwise

import numpy as np
from numpy.typing import NDArray

from verification_pipeline.config import Quotes
from verification_pipeline.quotes.boundaries import ends_whole, starts_whole
from verification_pipeline.quotes.nearest import nearest, negates
from verification_pipeline.quotes.quotation import GRAM, Gap, Piece, Quotation, Reading
from verification_pipeline.text.index import U64, IndexedText
from verification_pipeline.text.normalise import Normalised, ascii_letters, keeps_letters, normalise

_WINDOWS = 4  # places of a source that are compared, best first
_CLEAR_LEAD = 8  # places with no more than one hit in so many of the best are not compared
_PLACE_BITS = 20  # of a 3-gram's hash that give way to its place: enough for a million words
_COMMON = 64  # a 3-gram with more places in one source says little about where to look
_ROOMS = 2  # omissions at full length that a window makes room for, at each side
_STATES = 64  # ways to place the pieces so far that are followed
_LETTERS = re.compile(r"[^\W\d_]{0,6}")
_OWN_BRACKET = re.compile(r"\[([^\[\]]*)\]")
_DIGITS = re.compile(r"\d+")
_ALLOWED: dict[Gap, str] = {
    "omission": "omission",
    "words": "editorial bracket",
    "letters": "editorial bracket in a word",
    "note": "editorial note",
}
_IN_WORDS = re.compile("[\u00ad\u200b\u0300-\u036f\ufb00-\ufb06]")
_TAG, _ENTITY = re.compile("</?[a-zA-Z]"), re.compile("&[a-z]{2,8};")


@dataclass(frozen=True, slots=True)
class Match:
    """Where a source comes closest to a quote: text[start:end] of the source; distance 0 is verbatim.

    `edits` in words for a near miss; `allowed` names the quoter's marks that a verbatim match rests on.
    """

    start: int
    end: int
    distance: int
    edits: tuple[str, ...] = ()
    allowed: tuple[str, ...] = ()


@dataclass(frozen=True)
class Searchable:
    """A source text with its sorted word 3-grams, made on first use."""

    body: IndexedText

    @cached_property
    def _sorted(self) -> U64:
        """The 3-grams in order, each with its place in its low bits."""
        grams = self.body.index.runs(GRAM) & ~self._place
        grams |= np.arange(len(grams), dtype=np.uint64)
        grams.sort()
        return grams

    @cached_property
    def _place(self) -> np.uint64:
        """The bits that hold a place. What is left of a hash tells the 3-grams of one text apart."""
        return np.uint64((1 << max(_PLACE_BITS, len(self.body.index).bit_length())) - 1)

    @cached_property
    def letters(self) -> bytes | None:
        """What `_letters` says of the whole text."""
        return _letters(self.body.text)

    @cached_property
    def clean(self) -> tuple[Searchable, Normalised] | None:
        """The text normalised as a whole, where print or markup splits so many words that 3-grams may all fail."""
        if not _splits_words(self.body.text):
            return None
        normal = normalise(self.body.text)
        return Searchable(IndexedText(self.body.sha256, normal.text)), normal

    def places(self, grams: U64, first_word: int) -> list[int]:
        """For every hit of a piece's 3-grams: the source word at which the quote's first word would stand."""
        known, place = self._sorted, int(self._place)
        if not len(known):
            return []
        wanted = grams & ~self._place
        low = known.searchsorted(wanted)
        nearest, following = known.take(low, mode="clip").tolist(), known.take(low + 1, mode="clip").tolist()
        hits: list[int] = []
        for k, (gram, one, other) in enumerate(zip(wanted.tolist(), nearest, following, strict=True)):
            if other ^ gram <= place:
                return self._all_places(wanted, low, first_word)
            if one ^ gram <= place:
                hits.append((one & place) - k - first_word)
        return hits

    def _all_places(self, wanted: U64, low: NDArray[np.intp], first_word: int) -> list[int]:
        """The same where a 3-gram has several places; one that has very many counts only if all have."""
        known, place = self._sorted, self._place
        counts = known.searchsorted(wanted | place, side="right") - low
        found = counts.nonzero()[0]
        telling = found[counts[found] <= _COMMON]
        hits: list[int] = []
        for k in (telling if len(telling) else found).tolist():
            several = known[low[k] : low[k] + min(int(counts[k]), _COMMON)] & place
            hits += (several.astype(np.int64) - k - first_word).tolist()
        return hits


@dataclass(frozen=True)
class Shelf:
    """The sources of a document by key, side by side: one search over all tells which of them may hold a quote."""

    sources: Mapping[str, Searchable]

    @cached_property
    def _letters(self) -> tuple[bytes, list[int], list[str]]:
        """The letters of all sources one behind the other, where each begins, and its key."""
        told = {key: source.letters for key, source in self.sources.items() if source.letters is not None}
        starts = [0, *accumulate(len(letters) + 1 for letters in told.values())]
        return b" ".join(told.values()), starts, list(told)

    def may_hold(self, quotation: Quotation) -> set[str]:
        """Keys of the sources that may hold a quote verbatim; of the others its letters say that they do not."""
        letters, starts, keys = self._letters
        piece = max(quotation.letters, key=len)
        found = {key for key, source in self.sources.items() if source.letters is None or not piece}
        place = letters.find(piece) if piece else -1
        while place >= 0:
            k = bisect_right(starts, place) - 1
            found.add(keys[k])
            place = letters.find(piece, starts[k + 1])
        return found


def _letters(text: str) -> bytes | None:
    """The letters that stand in a text however it is printed; None where markup makes that a question."""
    return ascii_letters(text) if keeps_letters(text) else None


def _may_stand(quotation: Quotation, letters: bytes | None) -> bool:
    """False only where a quote cannot stand verbatim, because its letters do not follow one another."""
    if letters is not None:
        for piece in quotation.letters:
            if piece not in letters:
                return False
    return True


def _splits_words(text: str) -> bool:
    """Whether invisible characters, marks of their own, tags or entities stand in a text."""
    if not text.isascii() and _IN_WORDS.search(text):
        return True
    return _TAG.search(text) is not None or _ENTITY.search(text) is not None


def find(quotation: Quotation, source: Searchable, settings: Quotes, *, near: bool) -> Match | None:
    """The verbatim place of a quote in a source; else, if `near`, the closest span within the near-miss threshold."""
    if not near and not _may_stand(quotation, source.letters):
        return None
    match = _as_written(quotation.raw, source.body.text, settings) or _in_windows(quotation, source, settings, near)
    if (match is None or match.distance) and source.clean is not None:
        clean, normal = source.clean
        cleaned = _in_windows(quotation, clean, settings, near)
        if cleaned is not None and (match is None or cleaned.distance < match.distance):
            start, end = normal.original(cleaned.start, cleaned.end)
            return replace(cleaned, start=start, end=end)
    return match


def _as_written(raw: str, text: str, settings: Quotes) -> Match | None:
    start = text.find(raw) if raw else -1
    if start < 0 or not _whole(text, start, start + len(raw), settings):
        return None
    return Match(start, start + len(raw), 0)


def _whole(text: str, start: int, end: int, settings: Quotes) -> bool:
    return starts_whole(text, start, settings.magnitudes) and ends_whole(text, end, settings.magnitudes)


def _in_windows(quotation: Quotation, source: Searchable, settings: Quotes, near: bool) -> Match | None:
    windows: list[Normalised] = []
    for start, end in _ranges(quotation, source, settings):
        part = source.body.text[start:end]
        if not near and not _may_stand(quotation, _letters(part)):
            continue
        quotation = quotation.beside(part)
        window = normalise(source.body.text, start, end, beside=quotation.plain)
        for reading in quotation.readings:
            placed = _placed(reading, window.text, settings)
            if placed is not None:
                return Match(*window.original(*placed), 0, (), _allowances(reading))
        windows.append(window)
    return _closest(quotation, windows, settings) if near and windows else None


def _allowances(reading: Reading) -> tuple[str, ...]:
    gaps = {piece.gap for piece in reading}
    return tuple(name for gap, name in _ALLOWED.items() if gap in gaps)


def _closest(quotation: Quotation, windows: Sequence[Normalised], settings: Quotes) -> Match | None:
    """The best of the windows' closest spans, if its edits stay within the threshold."""
    best: Match | None = None
    reading = quotation.loosest
    most = int(settings.near_miss * sum(len(piece.text) for piece in reading))
    for window in windows:
        bound = most if best is None else best.distance - 1
        found = nearest(reading, window.text, bound, settings.magnitudes)
        if found is not None:
            best = Match(*window.original(found.start, found.end), found.distance, found.edits)
    return best


# ---- where to look


def _ranges(quotation: Quotation, source: Searchable, settings: Quotes) -> Iterator[tuple[int, int]]:
    """Stretches of the source that may hold the quote, most shared 3-grams first, as code-point ranges."""
    text, index = source.body.text, source.body.index
    if not quotation.grams:
        if len(text) <= settings.max_text_without_grams:
            yield 0, len(text)
        return
    places = [place for first, grams in quotation.grams for place in source.places(grams, first)]
    if not places:
        return
    slack = 4 + quotation.words // 4
    room = min(quotation.omissions, _ROOMS) * settings.max_omitted_chars
    for first in _densest(places, slack):
        start = max(0, first - slack)
        end = min(len(index) - 1, first + quotation.words + 2 * slack)
        yield max(0, int(index.starts[start]) - room - 3), min(len(text), int(index.ends[end]) + room + 3)


def _densest(hits: list[int], width: int) -> list[int]:
    """Starts of the stretches of `width` words in which most hits agree on where the quote begins, best first."""
    hits.sort()
    if hits[-1] - hits[0] <= width:
        return [hits[0]]
    places = np.array(hits)
    votes = np.searchsorted(places, places + width, side="right") - np.arange(len(places))
    best: list[int] = []
    most = 0
    while len(best) < _WINDOWS:
        k = int(votes.argmax())
        most = max(most, int(votes[k]))
        if votes[k] <= most // _CLEAR_LEAD:
            break
        best.append(int(places[k]))
        votes[np.searchsorted(places, places[k] - width) : k + votes[k]] = 0
    return best


# ---- verbatim


def _placed(reading: Reading, window: str, settings: Quotes) -> tuple[int, int] | None:
    """The span of a window that holds the pieces in order, each whole, with what their gaps allow between them."""
    states = list(_first_places(reading[0], window, settings))
    for before, piece in pairwise(reading):
        reached: dict[int, int] = {}
        for start, end in states[:_STATES]:
            for following in _next_places(before, piece, window, end, settings):
                reached.setdefault(following, start)
        states = [(start, end) for end, start in reached.items()]
    for start, end in states:
        if not reading[-1].text or ends_whole(window, end, settings.magnitudes):
            return start, end
    return None


def _first_places(piece: Piece, window: str, settings: Quotes) -> Iterator[tuple[int, int]]:
    for place in _occurrences(window, piece.text, 0, len(window), any_case=piece.gap != "letters"):
        start = place
        while piece.gap == "letters" and start > 0 and place - start < _MOST_LETTERS and window[start - 1].isalpha():
            start -= 1
        if starts_whole(window, start, settings.magnitudes):
            yield start, place + len(piece.text)


_MOST_LETTERS = 6  # of a source's word that a bracket in a word stands for


def _next_places(before: Piece, piece: Piece, window: str, end: int, settings: Quotes) -> Iterator[int]:
    """Ends of the places of a piece that the quoter's mark allows after `end`."""
    if piece.gap == "letters":
        yield from _after_letters(piece.text, window, end)
        return
    if before.text and not ends_whole(window, end):
        return
    furthest = {"omission": settings.max_omitted_chars, "words": 16 * settings.max_inserted_words}.get(piece.gap, 0)
    reach = end + furthest + 4 * len(piece.inserted) + 4 + len(piece.text)
    for place in _occurrences(window, piece.text, end, reach, any_case=piece.gap == "omission"):
        if starts_whole(window, place) and _may_stand_for(piece, window[end:place], settings):
            yield place + len(piece.text)


def _after_letters(text: str, window: str, end: int) -> Iterator[int]:
    letters = _LETTERS.match(window, end)
    last = letters.end() if letters else end
    if not text:
        yield last
        return
    for cut in range(end, last + 1):
        for place in (cut, cut + 1) if window[cut : cut + 1] == " " else (cut,):
            if window.startswith(text, place):
                yield place + len(text)


def _may_stand_for(piece: Piece, replaced: str, settings: Quotes) -> bool:
    """Whether a mark may stand for these source words: no omission hides a bare negation, no bracket a figure."""
    for own in _OWN_BRACKET.findall(replaced):
        if own in piece.inserted:  # the source has the same bracket
            replaced = replaced.replace(f"[{own}]", " ", 1)
    words = replaced.split()
    if "[" in replaced and piece.gap != "omission":
        return False  # the source has another bracket there
    if piece.gap == "note":
        return not words
    negated = negates(replaced, settings.negations)
    if piece.gap == "omission":
        return not (negated and len(words) <= settings.max_inserted_words)
    figures = set(_DIGITS.findall(replaced)) - set(_DIGITS.findall(piece.inserted))
    same_sense = negated == negates(piece.inserted, settings.negations)
    return len(words) <= settings.max_inserted_words and not figures and same_sense


def _occurrences(window: str, text: str, start: int, end: int, *, any_case: bool) -> Iterator[int]:
    """Places of text in window[start:end]; `any_case`: its first letter in either case."""
    skipped = 1 if any_case and len(text) > 1 and text[0].isalpha() else 0
    place = window.find(text[skipped:], start + skipped, end)
    while place >= 0:
        if not skipped or window[place - 1].casefold() == text[0].casefold():
            yield place - skipped
        place = window.find(text[skipped:], place + 1, end)
