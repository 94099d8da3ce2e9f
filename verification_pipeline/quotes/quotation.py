"""A quote as its writer marked it: consecutive words, and between them omissions and editorial brackets.

Belongs here: reading the quoter's marks. Does not belong here: typography (`text.normalise`), what a mark may stand
for in a source (`compare`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Literal

from verification_pipeline.text.index import U64, WordIndex
from verification_pipeline.text.normalise import ascii_letters, normalise

GRAM = 3

Gap = Literal["", "omission", "letters", "words", "note"]

_OMISSION = re.compile(r"[\[(]…[\])]|…")
_ANY_MARK = re.compile(r"\[([^\[\]…]{1,200})\]|[\[(]…[\])]|…|\((sic!?)\)")
_NOTE = re.compile(
    r"sic!?|(?:emphasis|italics|bold|my|our|hervorhebung|herv|kursiv|c'est nous|énfasis|cursiva)\b.*|[\d\s,;–^-]+",
    re.IGNORECASE,
)
_HYPHEN_AT_LINE_END = re.compile(r"(?<=[^\W\d_])-[ \t]*\n[ \t>]*(?=[^\W\d_])")
_SOFT_END = ".,;:"
_WIDTH: dict[Gap, int] = {"": 0, "note": 1, "letters": 2, "words": 3, "omission": 4}


@dataclass(frozen=True, slots=True)
class Piece:
    """Consecutive quoted words, normalised. `gap` is what the quoter marked before them, `inserted` its wording."""

    text: str
    gap: Gap = ""
    inserted: str = ""


Reading = tuple[Piece, ...]


@dataclass(frozen=True)
class Quotation:
    """A quote ready to be compared: as written, normalised, and the ways to read its marks, the strictest first."""

    raw: str
    plain: str
    readings: tuple[Reading, ...]
    written: str

    @classmethod
    def parse(cls, written: str, source: str = "") -> Quotation:
        """Read a quote. Ellipses are omissions; brackets are first the source's own, then the quoter's.

        `source` decides on a hyphen at a line end of the document: the print's, unless the source has the word with it.
        """
        plain = normalise(written, beside=f"{written}\n{source}").text
        ways = (_OMISSION, _ANY_MARK) if any(sign in plain for sign in "…[(") else (_OMISSION,)
        readings = [reading for marks in ways if (reading := _pieces(plain, marks))]
        return cls(written.strip(_SOFT_END + " \n\t"), plain, tuple(dict.fromkeys(readings)), written)

    def beside(self, source: str) -> Quotation:
        """The quote as it is read beside a stretch of source text."""
        broken = "\n" in self.written and _HYPHEN_AT_LINE_END.search(self.written)
        return Quotation.parse(self.written, source) if broken else self

    @property
    def loosest(self) -> Reading:
        """The reading that allows the quoter most."""
        return self.readings[-1]

    @cached_property
    def letters(self) -> tuple[bytes, ...]:
        """The letters of each piece but its first character, whose case is free: where it stands, they stand."""
        return tuple(ascii_letters(piece.text[1:]) for piece in self.loosest)

    @cached_property
    def _indexes(self) -> list[WordIndex]:
        return [WordIndex.build(piece.text) for piece in self.loosest]

    @cached_property
    def grams(self) -> list[tuple[int, U64]]:
        """Word 3-grams of the pieces that have any, each with the piece's first word counted from the quote's."""
        firsts = accumulate((len(index) for index in self._indexes), initial=0)
        grams = (index.runs(GRAM) for index in self._indexes)
        return [(first, hashes) for first, hashes in zip(firsts, grams, strict=False) if len(hashes)]

    @cached_property
    def words(self) -> int:
        """Words of all pieces."""
        return sum(map(len, self._indexes))

    @property
    def omissions(self) -> int:
        """Places where the quoter left words out."""
        return sum(piece.gap == "omission" for piece in self.loosest)


def _pieces(normal: str, marks: re.Pattern[str]) -> Reading:
    """Split a normalised quote at the quoter's marks. Punctuation that the quoter's sentence brings is dropped."""
    pieces: list[Piece] = []
    gap: Gap = ""
    inserted, done = "", 0
    for mark in marks.finditer(normal):
        if normal[done : mark.start()].strip() or not pieces:
            pieces.append(Piece(normal[done : mark.start()], gap, inserted))
            gap, inserted = "", ""
        gap = max(gap, _gap(mark, normal), key=_WIDTH.__getitem__)
        inserted = f"{inserted} {_wording(mark)}".strip()
        done = mark.end()
    pieces.append(Piece(normal[done:], gap, inserted))
    return tuple(_tidied(pieces))


def _wording(mark: re.Match[str]) -> str:
    return next((group for group in mark.groups() if group), "")


def _gap(mark: re.Match[str], normal: str) -> Gap:
    wording = _wording(mark)
    if not wording:
        return "omission"
    if _NOTE.fullmatch(wording):
        return "note"
    before, after = normal[mark.start() - 1 : mark.start()], normal[mark.end() : mark.end() + 1]
    in_word = wording.isalpha() and (before.isalpha() or (after.isalpha() and len(wording) <= 3))
    return "letters" if in_word else "words"


def _tidied(pieces: Sequence[Piece]) -> Iterator[Piece]:
    """Pieces without the punctuation around an omission and at the quote's end, and without empty ends."""
    last = len(pieces) - 1
    for k, piece in enumerate(pieces):
        text = piece.text.strip()
        if k == last or pieces[k + 1].gap == "omission":
            text = text.rstrip(_SOFT_END + " ")
        if piece.gap == "omission":
            text = text.lstrip(_SOFT_END + " ")
        if text or (piece.gap == "letters" and k == last):
            yield Piece(text, piece.gap, piece.inserted)
