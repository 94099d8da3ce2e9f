"""Numbers of uncited sentences that no source of the document holds.

They are a lint, not a verdict: nothing says which source such a number should stand in. Sources are searched through
their word indexes; text is read only around words with which the number may begin.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from verification_pipeline.config import Settings
from verification_pipeline.records import Citations, Document, Evidence
from verification_pipeline.text.index import IndexedText, WordIndex
from verification_pipeline.text.numbers import NUMBER_WORDS, ONE, Number, first_words, parse

_CODE = re.compile(r"`[^`\n]*`")
_BEFORE_NUMBER, _AFTER_NUMBER = 24, 64
"""How much text around a word shows the whole number that it begins, with the other end of a range."""


@dataclass(frozen=True, slots=True)
class UncitedNumber:
    """A number of an uncited sentence that no source of the document holds: a row of `uncited_numbers`."""

    document_key: str
    start: int
    end: int
    number: str


def uncited_numbers(
    document: Document, citations: Citations, evidence: Mapping[str, Evidence], settings: Settings
) -> list[UncitedNumber]:
    """Numbers of sentences without a citation that no usable source of the document holds, in document order."""
    del settings
    cited = sorted({(pair.sentence_start, pair.sentence_end) for pair in citations.pairs})
    cited += [span for pair in citations.pairs for span in pair.claim_spans]
    missing: list[tuple[int, Number]] = []
    for start, end in _uncited(citations.prose, sorted(cited)):
        written = _CODE.sub(lambda match: " " * len(match.group()), document.text[start:end])
        missing += [(start, number) for number in parse(written, document.language)]
    held = _held_in(evidence.values(), [number for _, number in missing])
    return [
        UncitedNumber(document.document_key, start + number.start, start + number.end, number.text)
        for (start, number), is_held in zip(missing, held, strict=True)
        if not is_held
    ]


def _uncited(prose: Sequence[tuple[int, int]], cited: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Sentences that no cited range touches."""
    free: list[tuple[int, int]] = []
    reach, position = -1, 0
    for start, end in prose:
        while position < len(cited) and cited[position][0] < end:
            reach = max(reach, cited[position][1])
            position += 1
        if reach <= start:
            free.append((start, end))
    return free


def _held_in(sources: Iterable[Evidence], numbers: Sequence[Number]) -> list[bool]:
    """For each number, whether a source holds it. Texts are read only around words with which it may begin."""
    wanted: defaultdict[str, list[int]] = defaultdict(list)
    for position, number in enumerate(numbers):
        for written in sorted(first_words(number)):
            wanted[written].append(position)
    index = WordIndex.build(" ".join(wanted))
    asked = dict(zip(index.words.tolist(), wanted.values(), strict=True))
    table = np.zeros(1 << 16, dtype=np.bool_)
    table[index.words.astype(np.uint16)] = True
    held = [False] * len(numbers)
    bodies = [source.body for source in sources]
    for body, word, start in _may_begin(bodies, table) if bodies and numbers else ():
        open_ones = [position for position in asked.get(word, ()) if not held[position]]
        if open_ones:
            begin = max(0, start - _BEFORE_NUMBER)
            at = start - begin
            read = parse(body.text[begin : start + _AFTER_NUMBER])
            near = [other for other in read if other.start <= at < other.end]
            for position in open_ones:
                held[position] = any(numbers[position].same_quantity(other) for other in near)
    return held


def _may_begin(bodies: Sequence[IndexedText], table: NDArray[np.bool_]) -> Iterator[tuple[IndexedText, int, int]]:
    """Words of the texts that may be among those in the table, with their places; `one` only before a word of a number.

    Most texts are full of `one`, and alone it is none.
    """
    one, more = _number_words()
    words = np.concatenate([body.index.words for body in bodies])
    starts = np.concatenate([body.index.starts for body in bodies])
    ends = np.cumsum([len(body.index) for body in bodies])
    hits = table.take(words.astype(np.uint16)).nonzero()[0]
    texts = ends.searchsorted(hits, side="right")
    following = words[np.minimum(hits + 1, ends[texts] - 1)].tolist()
    found = zip(texts.tolist(), words[hits].tolist(), starts[hits].tolist(), following, strict=True)
    for text, word, start, after in found:
        if word != one or after in more:
            yield bodies[text], word, start


@cache
def _number_words() -> tuple[int, frozenset[int]]:
    """The hash of `one`, and those of the words that a number may go on with."""
    one, *more = WordIndex.build(" ".join((ONE, "and", *sorted(NUMBER_WORDS)))).words.tolist()
    return one, frozenset(more)
