"""The closest span of a text to a quote that does not stand there, its edit distance and its edits in words.

Belongs here: optimal infix alignment (Sellers 1980, by edlib's bit vectors) and the move to whole words. Does not
belong here: where to look (`compare`), when a near miss is one (settings).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import NamedTuple

import edlib
from rapidfuzz.distance import Levenshtein, Postfix, Prefix

from verification_pipeline.quotes.boundaries import ends_whole, starts_whole
from verification_pipeline.quotes.quotation import Piece
from verification_pipeline.text.normalise import MINUS

_TOKEN = re.compile(rf"[{MINUS}$€£¥]*\d+(?:[.,]\d+)*[%‰°]?|[^\W\d_]+(?:['-][^\W\d_]+)*|\w|[^\w\s]")
_OTHER = 255  # the one symbol of everything in the target that the query lacks


class Nearest(NamedTuple):
    """A span [start, end) of a normalised text, its character edits from the quote, and those edits in words."""

    start: int
    end: int
    distance: int
    edits: tuple[str, ...]


def nearest(pieces: Sequence[Piece], window: str, most: int, magnitudes: tuple[str, ...]) -> Nearest | None:
    """The closest stretch of a window, the pieces aligned one after the other; None beyond `most` edits."""
    begin, after, distance = -1, 0, 0
    edits: list[str] = []
    for piece in pieces:
        if not _TOKEN.search(piece.text):
            continue
        aligned = infix(piece.text, window[after:], most - distance)
        if aligned is None:
            return None
        span = (after + aligned[0], after + aligned[1])
        first, last, cost = _to_words(piece.text, window, span, magnitudes)
        distance += cost
        if distance > most:
            return None
        edits += word_edits(piece.text, window[first:last])
        begin, after = (first if begin < 0 else begin), last
    return Nearest(begin, after, max(1, distance), tuple(edits)) if begin >= 0 else None


def infix(query: str, target: str, most: int) -> tuple[int, int, int] | None:
    """Start, end and edit distance of the stretch of target closest to query; None beyond `most` edits.

    edlib takes at most 256 distinct symbols: those of the target that the query lacks become one, and of a query with
    more than 255 the latest to appear share one.
    """
    if most < 0:
        return None
    if not (query.isascii() and target.isascii()):
        query, target = _coded(query, target)
    result = edlib.align(query, target, mode="HW", task="locations", k=most)
    if result["editDistance"] < 0:
        return None
    first, last = result["locations"][0]
    return (first or 0), last + 1, result["editDistance"]


def _coded(query: str, target: str) -> tuple[str, str]:
    codes = {ord(symbol): min(k, _OTHER - 1) for k, symbol in enumerate(dict.fromkeys(query))}
    codes.update((ord(symbol), _OTHER) for symbol in set(target) if ord(symbol) not in codes)
    return query.translate(codes), target.translate(codes)


def _to_words(piece: str, window: str, span: tuple[int, int], magnitudes: tuple[str, ...]) -> tuple[int, int, int]:
    """The aligned span moved to whole words, outwards or inwards at each end, whichever is closest to the piece.

    An end at which the piece's own word stands in full, but cut out of a longer one, is moved outwards only.
    """
    first_word, last_word = piece.partition(" ")[0], piece.rpartition(" ")[2]
    outwards = window.startswith(first_word, span[0]), window.endswith(last_word, 0, span[1])
    starts = {_start_near(window, span[0], step, magnitudes) for step in ((-1,) if outwards[0] else (-1, 1))}
    ends = {_end_near(window, span[1], step, magnitudes) for step in ((1,) if outwards[1] else (1, -1))}
    options = sorted((a, b) for a in starts for b in ends if a < b) or [span]
    cost, _, first, last = min((Levenshtein.distance(piece, window[a:b]), a - b, a, b) for a, b in options)
    return first, last, cost


def _start_near(window: str, place: int, step: int, magnitudes: tuple[str, ...]) -> int:
    """The next place in a direction where a span may start; inwards, spaces and stops are passed over too."""
    while 0 < place < len(window):
        if starts_whole(window, place, magnitudes) and not (step > 0 and _stop(window[place])):
            break
        place += step
    return place


def _end_near(window: str, place: int, step: int, magnitudes: tuple[str, ...]) -> int:
    """The next place in a direction where a span may end, likewise."""
    while 0 < place < len(window) or (place == len(window) and step < 0):
        if ends_whole(window, place, magnitudes) and not (step < 0 and _stop(window[place - 1])):
            break
        place += step
    return place


def _stop(character: str) -> bool:
    return character.isspace() or character in ".,;:"


def word_edits(quoted: str, source: str) -> list[str]:
    """What the quote has instead of the source's words, left to right, in words."""
    quoted, source = _without_common_words(quoted, source)
    ours, theirs = _without_common_ends(_TOKEN.findall(quoted), _TOKEN.findall(source))
    edits: list[str] = []
    for operation in Levenshtein.opcodes(theirs, ours):
        was = " ".join(theirs[operation.src_start : operation.src_end])
        became = " ".join(ours[operation.dest_start : operation.dest_end])
        if operation.tag == "delete":
            edits.append(f"“{was}” left out")
        elif operation.tag == "insert":
            edits.append(f"“{became}” added")
        elif operation.tag == "replace":
            edits.append(f"“{became}” instead of “{was}”")
    return edits


def _without_common_words(left: str, right: str) -> tuple[str, str]:
    """Both texts without the spaced words that they begin and end with alike."""
    head = left.rfind(" ", 0, Prefix.similarity(left, right)) + 1
    left, right = left[head:], right[head:]
    same = Postfix.similarity(left, right)
    tail = left.find(" ", len(left) - same) if same else -1
    return (left, right) if tail < 0 else (left[:tail], right[: tail - len(left)])


def _without_common_ends(left: list[str], right: list[str]) -> tuple[list[str], list[str]]:
    """Both lists without what they begin and end with alike: most of a near miss, and the aligner's cost."""
    shorter = min(len(left), len(right))
    head = next((k for k in range(shorter) if left[k] != right[k]), shorter)
    tail = next((k for k in range(shorter - head) if left[-1 - k] != right[-1 - k]), shorter - head)
    return left[head : len(left) - tail], right[head : len(right) - tail]


def negates(words: str, negations: Collection[str]) -> bool:
    """Whether words hold a negation, an English contraction included."""
    lowered = words.casefold()
    return "n't" in lowered or any(token in negations for token in _TOKEN.findall(lowered))
