"""Where a span may start and end: words and figures are taken whole, with sign, currency and unit.

Belongs here: the edges of a span of source text. Does not belong here: what is compared (`compare`, `nearest`).
"""

from __future__ import annotations

import re
from collections.abc import Collection

from verification_pipeline.quotes.marks import is_ideograph
from verification_pipeline.text.normalise import MINUS

_SIGNS = f"{MINUS}±~≈<>≤≥$€£¥#"
_UNITS = "%‰°$€£¥"
_WORD = re.compile(r"[ \u00a0]?([^\W\d_]{1,20})")
_FIGURE_BEFORE = re.compile(r"\d[ \u00a0]?$")


def starts_whole(text: str, start: int, magnitudes: Collection[str] = ()) -> bool:
    """Whether a span that starts here takes its first word or figure whole; `magnitudes` belong to a figure."""
    if start <= 0 or start >= len(text):
        return True
    first, before = text[start], text[start - 1]
    if joined(before, first):
        return False
    if first in ".,":
        return not (before.isdigit() and text[start + 1 : start + 2].isdigit())
    if first.isdigit():
        return before not in _SIGNS and not (before in ".," and start > 1 and text[start - 2].isdigit())
    if magnitudes and _FIGURE_BEFORE.search(text, max(0, start - 2), start):
        word = _WORD.match(text, start)
        return word is None or word[1] not in magnitudes
    return True


def ends_whole(text: str, end: int, magnitudes: Collection[str] = ()) -> bool:
    """Whether a span that ends here takes its last word or figure whole; `magnitudes` belong to a figure."""
    if end <= 0 or end >= len(text):
        return True
    last, after = text[end - 1], text[end]
    if joined(last, after):
        return False
    if not last.isdigit():
        return True
    if text[end : end + 2].lstrip()[:1] in tuple(_UNITS) or (after in ".," and text[end + 1 : end + 2].isdigit()):
        return False
    word = _WORD.match(text, end) if magnitudes else None
    return word is None or word[1] not in magnitudes


def joined(left: str, right: str) -> bool:
    """Whether two neighbouring characters stand in one word."""
    return left.isalnum() and right.isalnum() and not (is_ideograph(left) or is_ideograph(right))
