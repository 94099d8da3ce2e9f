"""Claims and sources as the embedded checker sees them: words by hash, sentences, figures, names, clauses.

Everything is read off the word index; nothing here compares a claim with a source (`retrieve`, `features`) and nothing
is learned, except the weights of words, which are counts over texts (`lexicon`).
"""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from verification_pipeline.checkers.embedded.lexicon import U32, Lexicon, short
from verification_pipeline.text import numbers, sentences
from verification_pipeline.text.index import U64, IndexedText, WordIndex, prefix_hashes
from verification_pipeline.text.numbers import Number

F32 = NDArray[np.float32]
I64 = NDArray[np.int64]

STEM = 5
"""Code points of a word that decide whether two words are forms of one."""
LONGEST_SENTENCE = 80
"""A longer sentence is cut into pieces of so many words: tables and run-on text have no sentence marks."""

_LINES = re.compile(r"[^\n]*[^\s][^\n]*")
_CLAUSE = re.compile(
    r"[,;:()–—]|\s(?:and|but|while|whereas|although|because|which|who|that|with|by|after|before|when|where|if|or)\s"
)
_MONTHS = frozenset(
    [
        "january",
        "february",
        "march",
        "april",
        "may",
        "june",
        "july",
        "august",
        "september",
        "october",
        "november",
        "december",
        "jan",
        "feb",
        "mar",
        "apr",
        "jun",
        "jul",
        "aug",
        "sep",
        "sept",
        "oct",
        "nov",
        "dec",
    ]
)


@dataclass(frozen=True)
class SourceView:
    """One source text. Sentences are numbered in text order; every word lies in exactly one."""

    text: str
    index: WordIndex
    stems: U64
    starts: I64
    """First code point of each sentence."""
    ends: I64
    """Code point after each sentence."""
    short: U32
    """Short hashes of the words, for tables of related words."""
    sentence_of: I64
    """Number of the sentence of each word."""
    language: str | None

    @classmethod
    def of(cls, body: IndexedText, language: str | None = None) -> SourceView:
        """Read a text once for all claims that cite it."""
        bounds = _sentences(body.text, body.index, language)
        starts, ends = bounds[:, 0], bounds[:, 1]
        owner = np.searchsorted(starts, body.index.starts, side="right") - 1
        stems = prefix_hashes(body.text, body.index, STEM)
        owner = np.maximum(owner, 0)
        return cls(body.text, body.index, stems, starts, ends, short(body.index.words), owner, language)

    @property
    def count(self) -> int:
        """Number of sentences."""
        return len(self.starts)

    @cached_property
    def word_bounds(self) -> I64:
        """Index of the first word of each sentence, and after the last one the number of words."""
        return np.searchsorted(self.sentence_of, np.arange(self.count + 1)).astype(np.int64)

    @cached_property
    def _numbers(self) -> dict[int, tuple[Number, ...]]:
        return {}

    def numbers(self, sentence: int) -> tuple[Number, ...]:
        """Typed numbers of one sentence, read on first use."""
        if sentence not in self._numbers:
            piece = self.text[self.starts[sentence] : self.ends[sentence]]
            self._numbers[sentence] = numbers.parse(piece, self.language)
        return self._numbers[sentence]


def _sentences(text: str, index: WordIndex, language: str | None) -> I64:
    found: list[tuple[int, int]] = []
    for line in _LINES.finditer(text):
        piece = line.group()
        found += [(line.start() + a, line.start() + b) for a, b in sentences.split(piece, language)]
    if not found:
        return np.array([(0, len(text))], dtype=np.int64)
    bounds = np.array(found, dtype=np.int64)
    first = np.searchsorted(index.starts, bounds[:, 0])
    last = np.searchsorted(index.ends, bounds[:, 1], side="right")
    cut: list[tuple[int, int]] = []
    for (start, end), a, b in zip(found, first.tolist(), last.tolist(), strict=True):
        if a < b <= a + LONGEST_SENTENCE:
            cut.append((start, end))
        elif b > a:
            edges = [start, *index.starts[a + LONGEST_SENTENCE : b : LONGEST_SENTENCE].tolist(), end]
            cut += [(x, x + len(text[x:y].rstrip())) for x, y in itertools.pairwise(edges)]
    return np.array(cut or [(0, len(text))], dtype=np.int64).reshape(-1, 2)


@dataclass(frozen=True)
class ClaimView:
    """One claim: its words in order, their weights, and what must not be lost of it."""

    text: str
    index: WordIndex
    words: tuple[str, ...]
    """Case-folded words, in order."""
    stems: U64
    weights: F32
    """How much each word says: its rarity over many texts; stop words weigh little."""
    content: NDArray[np.bool_]
    """Whether a word is more than grammar."""
    names: NDArray[np.bool_]
    """Whether a word is part of a name: written with a capital though no sentence starts there, or in capitals."""
    months: NDArray[np.bool_]
    numbers: tuple[Number, ...]
    number_words: tuple[tuple[int, int], ...]
    """Word range of each number."""
    clauses: tuple[tuple[int, int], ...]
    """Word ranges between commas, brackets and conjunctions."""

    @classmethod
    def of(cls, text: str, lexicon: Lexicon, language: str | None = None) -> ClaimView:
        """Read a claim."""
        index = WordIndex.build(text)
        written = [text[a:b] for a, b in zip(index.starts.tolist(), index.ends.tolist(), strict=True)]
        words = tuple(word.casefold() for word in written)
        weights, content = lexicon.weigh(index.words)
        found = numbers.parse(text, language)
        return cls(
            text,
            index,
            words,
            prefix_hashes(text, index, STEM),
            weights,
            content,
            _names(text, index, written, content),
            np.array([word in _MONTHS for word in words], dtype=bool),
            found,
            tuple(_touching(index, number.start, number.end) for number in found),
            _clauses(text, index),
        )

    def __len__(self) -> int:
        return len(self.words)


def _names(text: str, index: WordIndex, written: list[str], content: NDArray[np.bool_]) -> NDArray[np.bool_]:
    marks = np.zeros(len(written), dtype=bool)
    for k, word in enumerate(written):
        if word[0].isupper():
            before = text[: index.starts[k]].rstrip(" \"'“‘([*_")
            opens = not before or before[-1] in ".!?:•\n"
            marks[k] = (len(word) > 1 and word[1:] != word[1:].lower()) or (not opens and content[k])
    return marks


def _touching(index: WordIndex, start: int, end: int) -> tuple[int, int]:
    """Range of the words that a stretch of the text touches."""
    first = int(np.searchsorted(index.ends, start, side="right"))
    last = int(np.searchsorted(index.starts, end, side="left"))
    return first, max(first, last)


def _clauses(text: str, index: WordIndex) -> tuple[tuple[int, int], ...]:
    """Clauses of three words or more; shorter pieces go to the one before."""
    cuts = sorted({int(np.searchsorted(index.starts, match.start())) for match in _CLAUSE.finditer(text)})
    edges = [0]
    for cut in cuts:
        if cut - edges[-1] >= 3 and len(index) - cut >= 3:
            edges.append(cut)
    edges.append(len(index))
    return tuple((a, b) for a, b in itertools.pairwise(edges) if b > a)
