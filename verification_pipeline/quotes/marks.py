"""Pairing of quotation marks inside one paragraph, list item or table cell.

Belongs here: which mark opens and which closes. Does not belong here: paragraphs (`blocks`), what counts as a quotation
(`spans`).

Each glyph family pairs by its own rule, so that a stray mark costs at most itself and the text between two quotations
is never taken for one. Families and directions: Unicode Standard, chapter 6.2, and the quotation delimiters of CLDR.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import pairwise

STRAIGHT = '"＂'
TRANSPARENT = "*_~\u200b\u2060"
"""Emphasis and invisible characters: they stand between a mark and its word."""

_OPENING_CONTEXT = "([{<—–―-/:=|>“‘«‹「『（【，。、；："
_SENTENCE_END = ".,!?…。，！？"
_PLURAL_ENDS = "sSxz"
_STRAIGHT_MARK = re.compile(f"[{STRAIGHT}]")
_DIRECTED = re.compile("[“”„‟«»‹›「」『』]")
_SINGLE_OPENERS = re.compile("[‘‚]")
_CLOSERS = {
    "“": "”“",
    "”": "”",
    "„": "“”‟",
    "‟": "”",
    "«": "»",
    "»": "«»",
    "‹": "›",
    "›": "‹",
    "「": "」",
    "『": "』",
}


@dataclass(slots=True)
class Pairing:
    """Pairs (offsets of opening and closing mark) of one family, inner ones too, and what stayed alone."""

    pairs: list[tuple[int, int]] = field(default_factory=list)
    left_open: int | None = None
    """The mark open at the end, if no pair follows it."""
    stray_close: int | None = None
    """The first closing mark, if nothing was open before it."""


def straight(text: str) -> Pairing:
    """Pairs of the mark without direction; what stands around it decides. An inch mark pairs with nothing."""
    roles = [_role(text, match.start()) for match in _STRAIGHT_MARK.finditer(text)]
    pairing = Pairing()
    start: int | None = None
    for role, after in pairwise([*roles, None]):
        if role is None:
            break
        inch = role.after_digit and after is not None and after.closes and not after.opens
        if start is None:
            start = role.place if role.opens else None
        elif role.closes and not inch:
            pairing.pairs.append((start, role.place))
            start = None
        elif role.opens and not role.closes:
            start = role.place
    pairing.left_open = start
    return pairing


def directional(text: str) -> Pairing:
    """Pairs of the marks that have a direction, or borrow it from their language („ “, » «, ” ”)."""
    pairing = Pairing()
    stack: list[tuple[int, str]] = []
    for match in _DIRECTED.finditer(text):
        place, mark = match.start(), match[0]
        before, after = _neighbours(text, place)
        if stack and _closes_open(mark, stack[-1][1], before, after):
            pairing.pairs.append((stack.pop()[0], place))
        elif _opens_new(mark, before, after):
            stack.append((place, mark))
        elif not pairing.pairs and pairing.stray_close is None:
            pairing.stray_close = place
    if stack and not any(first > stack[0][0] for first, _ in pairing.pairs):
        pairing.left_open = stack[0][0]
    return pairing


def single(text: str) -> list[tuple[int, int]]:
    """Pairs of ‘ ’ and ‚ ‘. The closing mark is also the apostrophe: one that no plural's can be is preferred."""
    pairs: list[tuple[int, int]] = []
    openers = [match.start() for match in _SINGLE_OPENERS.finditer(text)]
    reached = 0
    for start, following in pairwise([*openers, len(text)]):
        if start < reached or _neighbours(text, start)[0].isalnum():
            continue
        low = text[start] == "‚"
        closing = _closing_single(text, start + 1, len(text) if low else following, "‘’" if low else "’")
        if closing is not None:
            pairs.append((start, closing))
            reached = closing + 1
    return pairs


@dataclass(frozen=True, slots=True)
class _Role:
    """What a straight mark may be where it stands."""

    place: int
    opens: bool
    closes: bool
    after_digit: bool


def _role(text: str, place: int) -> _Role:
    before, after = _neighbours(text, place)
    free = (before.isspace() and after.isspace()) or (is_ideograph(before) and is_ideograph(after))
    return _Role(place, free or _opens(before, after), free or _closes(before, after), before.isdigit())


def _neighbours(text: str, place: int) -> tuple[str, str]:
    """The characters before and after a mark, emphasis passed over; empty at an end."""
    before, after = place - 1, place + 1
    while before >= 0 and text[before] in TRANSPARENT:
        before -= 1
    while after < len(text) and text[after] in TRANSPARENT:
        after += 1
    return (text[before] if before >= 0 else ""), (text[after] if after < len(text) else "")


def _opens(before: str, after: str) -> bool:
    """Whether a mark between these may open: something follows, nothing word-like stands before."""
    if not after or after.isspace():
        return False
    return not before or before.isspace() or before in _OPENING_CONTEXT or (before in ",;" and after.isalnum())


def _closes(before: str, after: str) -> bool:
    """Whether a mark between these may close."""
    follows = after.isalnum() and not is_ideograph(after) and not takes_particles(after)
    return bool(before) and not before.isspace() and not follows


def _closes_open(mark: str, opener: str, before: str, after: str) -> bool:
    if mark not in _CLOSERS[opener]:
        return False
    return mark in "”」』" or (mark, opener) in {("»", "«"), ("“", "„")} or _closes(before, after)


def _opens_new(mark: str, before: str, after: str) -> bool:
    if mark in "„「『":
        return True
    if mark not in _CLOSERS:
        return False
    return _opens(before, after) or (mark in "“«‹" and not before.isalnum()) or (mark == "“" and is_ideograph(before))


def _closing_single(text: str, start: int, stop: int, marks: str) -> int | None:
    """The closing mark in text[start:stop]: the first that no plural's apostrophe can be, else the last."""
    last = None
    for match in re.compile(f"[{marks}]").finditer(text, start, stop):
        before, after = _neighbours(text, match.start())
        if after.isalnum() or before.isspace():
            continue
        if before not in _PLURAL_ENDS or after in _SENTENCE_END:
            return match.start()
        last = match.start()
    return last


def is_ideograph(character: str) -> bool:
    """Whether a character is written without spaces around it (ideographs, kana)."""
    return "\u3040" <= character <= "\u9fff" or "\uf900" <= character <= "\ufaff" or character >= "\U00020000"


def takes_particles(character: str) -> bool:
    """Whether a character is Hangul: what a Korean sentence says of a quote is written on to its last word."""
    return "\uac00" <= character <= "\ud7a3"
