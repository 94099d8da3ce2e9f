"""The word index: token offsets and word hashes of one text, made once and used by every tier.

Triage, quotes, sketches and retrieval read this; nobody tokenises a text a second time. It holds no text
rules of its own beyond "what is a word": typed numbers, sentences and normalisation live beside it.

A word is a maximal run of letters, digits and combining marks; an ideograph, kana or hangul-free CJK sign is
a word by itself (CJK is written without spaces). Case and compatibility forms (full width, long s) are folded one
code point at a time, so an offset in the index is an offset in the text.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

U64 = NDArray[np.uint64]
I32 = NDArray[np.int32]

_OTHER, _WORD, _IDEOGRAPH = 0, 1, 2
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)  # odd, hence invertible modulo 2**64
_GRAM_MULTIPLIER = 0xD6E8FEB86659FD93
_SHIFTS = np.uint64(30), np.uint64(27), np.uint64(31)
_FACTORS = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_CJK_RANGES = (
    (0x3040, 0x30FF),
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),
    (0xF900, 0xFAFF),
    (0x20000, 0x323AF),
)


def _character_tables() -> tuple[NDArray[np.uint8], NDArray[np.uint32]]:
    """For every code point of the planes in use: its class, and its folded form."""
    size = 0x32400
    kinds = np.zeros(size, dtype=np.uint8)
    folded = np.arange(size, dtype=np.uint32)
    for point in range(size):
        character = chr(point)
        if point > 0x7F and unicodedata.category(character)[0] not in "LNM":
            continue
        if character.isalnum() or unicodedata.category(character)[0] == "M":
            kinds[point] = _WORD
            lower = unicodedata.normalize("NFKC", character).casefold()
            if len(lower) == 1 and ord(lower) < size:
                folded[point] = ord(lower)
    for first, last in _CJK_RANGES:
        span = kinds[first : last + 1]
        span[span == _WORD] = _IDEOGRAPH
    return kinds, folded


_KINDS, _FOLDED = _character_tables()
_ASCII_KINDS = bytes(_KINDS[:128]).ljust(256, b"\0")
_powers: U64 = np.ones(1, dtype=np.uint64)
_inverse_powers: U64 = np.ones(1, dtype=np.uint64)


def _power_tables(length: int) -> tuple[U64, U64]:
    """Powers of the multiplier and of its inverse, modulo 2**64, grown on demand and kept."""
    global _powers, _inverse_powers
    if len(_powers) < length:
        size = 1 << (length - 1).bit_length()
        inverse = np.uint64(pow(int(_MULTIPLIER), -1, 1 << 64))
        _powers = np.concatenate(
            (np.ones(1, np.uint64), np.cumprod(np.full(size, _MULTIPLIER, dtype=np.uint64), dtype=np.uint64))
        )
        _inverse_powers = np.concatenate(
            (np.ones(1, np.uint64), np.cumprod(np.full(size, inverse, dtype=np.uint64), dtype=np.uint64))
        )
    return _powers, _inverse_powers


def _mixed(values: U64) -> U64:
    """SplitMix64's finaliser: spreads the weak low bits of a polynomial hash."""
    values = values ^ (values >> _SHIFTS[0])
    values *= _FACTORS[0]
    values ^= values >> _SHIFTS[1]
    values *= _FACTORS[1]
    values ^= values >> _SHIFTS[2]
    return values


@dataclass(frozen=True, slots=True)
class WordIndex:
    """Words of one text, in order.

    `starts`, `ends`: code-point offsets (half-open) of each word; `words`: a 64-bit hash of its folded form.
    """

    starts: I32
    ends: I32
    words: U64
    _whole: tuple[WordIndex, int] | None = field(default=None, repr=False, compare=False)
    """The index that this one is a part of, and its first word there."""
    _made: dict[tuple[str, int], U64] = field(default_factory=dict, init=False, repr=False, compare=False)
    """Grams and runs by size, each made once."""

    @classmethod
    def build(cls, text: str) -> WordIndex:
        """Index a text in one vectorised pass; linear in its length."""
        if text.isascii():
            return cls._of_ascii(text.encode("ascii"))
        points = _code_points(text)
        kinds = np.zeros(len(points) + 2, np.uint8)  # nothing stands before and after
        _KINDS.take(points, out=kinds[1:-1])
        if kinds.max() < _IDEOGRAPH:
            edges = (kinds[1:] != kinds[:-1]).nonzero()[0]
            starts, ends = edges[0::2], edges[1::2]
        else:
            inside, ideograph = kinds != _OTHER, kinds == _IDEOGRAPH
            apart = ideograph[1:] | ideograph[:-1] | (inside[1:] != inside[:-1])
            starts, ends = (inside[1:] & apart).nonzero()[0], (inside[:-1] & apart).nonzero()[0]
        return cls(starts.astype(np.int32), ends.astype(np.int32), _hashes(_FOLDED.take(points), starts, ends))

    @classmethod
    def _of_ascii(cls, text: bytes) -> WordIndex:
        """The same for ASCII, which bytes classify and fold several times faster than tables do."""
        kinds = np.frombuffer(b"\0%b\0" % text.translate(_ASCII_KINDS), np.bool_)
        edges = (kinds[1:] ^ kinds[:-1]).nonzero()[0]
        starts, ends = edges[0::2], edges[1::2]
        hashes = _hashes(np.frombuffer(text.lower(), np.uint8), starts, ends)
        return cls(starts.astype(np.int32), ends.astype(np.int32), hashes)

    def __len__(self) -> int:
        return len(self.words)

    def part(self, offset: int, first: int, last: int) -> WordIndex:
        """The index of a text that stands in this one's at a code point, and has these words [first, last) of it."""
        starts, ends = self.starts[first:last] - offset, self.ends[first:last] - offset
        return WordIndex(starts, ends, self.words[first:last], (self, first))

    def grams(self, size: int) -> U64:
        """Hashes of every run of `size` consecutive words; empty when there are fewer words than that.

        Made once and shared, as those of `runs` are: not to be changed.
        """
        if self._whole is not None:
            whole, first = self._whole
            return whole.grams(size)[first:][: self._runs_of(size)]
        made = self._made.get(("grams", size))
        if made is None:
            made = self._made["grams", size] = _mixed(self.runs(size))
        return made

    def runs(self, size: int) -> U64:
        """The same for looking up only: cheaper, and not spread evenly enough to sample from."""
        if size == 1:
            return self.words
        if self._whole is not None:
            whole, first = self._whole
            return whole.runs(size)[first:][: self._runs_of(size)]
        made = self._made.get(("runs", size))
        if made is None:
            count = self._runs_of(size)
            made = self.runs(size - size // 2)[:count] * np.uint64(pow(_GRAM_MULTIPLIER, size // 2, 1 << 64))
            made += self.runs(size // 2)[size - size // 2 :][:count]
            self._made["runs", size] = made
        return made

    def _runs_of(self, size: int) -> int:
        """Number of runs of `size` words."""
        return max(0, len(self.words) - size + 1)

    def word_range(self, start: int, end: int) -> tuple[int, int]:
        """Indices [first, last) of the words that lie wholly inside the code points [start, end)."""
        first = int(np.searchsorted(self.starts, start, side="left"))
        last = int(np.searchsorted(self.ends, end, side="right"))
        return first, max(first, last)


def prefix_hashes(text: str, index: WordIndex, length: int) -> U64:
    """A hash of the first `length` code points of every word of a text, its plural s dropped.

    Forms of one word mostly meet in it (infected, infection), in any language with endings, and so do a few strangers
    (universe, university): good for finding passages, too coarse for judging them.
    """
    points = _code_points(text)
    if not len(index):
        return np.empty(0, np.uint64)
    sizes = index.ends - index.starts
    plural = (_FOLDED[points[index.ends - 1]] == ord("s")) & (sizes > 3)
    ends = index.starts + np.minimum(sizes - plural, length)
    return _hashes(_FOLDED.take(points), index.starts.astype(np.intp), ends.astype(np.intp))


def _code_points(text: str) -> NDArray[np.uint8] | NDArray[np.uint32]:
    if text.isascii():
        return np.frombuffer(text.encode("ascii"), dtype=np.uint8)
    points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4")
    return np.where(points < len(_KINDS), points, 0)


def _hashes(folded: NDArray[np.uint8] | NDArray[np.uint32], starts: NDArray[np.intp], ends: NDArray[np.intp]) -> U64:
    """A hash of each stretch of folded code points."""
    powers, inverses = _power_tables(len(folded) + 1)
    sums = np.empty(len(folded) + 1, dtype=np.uint64)
    sums[0] = 0
    np.multiply(folded, powers[: len(folded)], out=sums[1:])
    np.add.accumulate(sums[1:], out=sums[1:])
    return _mixed((sums.take(ends) - sums.take(starts)) * inverses.take(starts))


@dataclass(frozen=True)
class IndexedText:
    """A stored text with its name and, made on first use, its word index."""

    sha256: str
    text: str

    @cached_property
    def index(self) -> WordIndex:
        """The word index of this text."""
        return WordIndex.build(self.text)

    def take_index(self, index: WordIndex) -> None:
        """Have the word index that was made of this text elsewhere."""
        vars(self)["index"] = index
