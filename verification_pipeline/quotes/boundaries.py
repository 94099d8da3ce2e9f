"""Where a span may start and end: words and figures are taken whole, with sign, currency and unit.

Belongs here: the edges of a span of source text. Does not belong here: what is compared (`compare`, `nearest`).
"""

from __future__ import annotations

import re
from functools import lru_cache

from verification_pipeline.quotes.marks import is_ideograph, takes_particles
from verification_pipeline.text.normalise import MINUS

_SIGNS = f"{MINUS}±~≈<>≤≥$€£¥#"
_UNITS = "%‰°$€£¥"
_FIGURE_BEFORE = re.compile(r"\d[ \u00a0]?$")


def starts_whole(text: str, start: int, magnitudes: tuple[str, ...] = ()) -> bool:
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
    return not (_FIGURE_BEFORE.search(text, max(0, start - 2), start) and _magnitude(magnitudes).match(text, start))


def ends_whole(text: str, end: int, magnitudes: tuple[str, ...] = ()) -> bool:
    """Whether a span that ends here takes its last word or figure whole; `magnitudes` belong to a figure."""
    if end <= 0 or end >= len(text):
        return True
    last, after = text[end - 1], text[end]
    if joined(last, after) and not takes_particles(after):
        return False
    if last.isdigit():
        unit = text[end : end + 2].lstrip()[:1]
        if (unit and unit in _UNITS) or (after in ".," and text[end + 1 : end + 2].isdigit()):
            return False
    return not (_FIGURE_BEFORE.search(text, max(0, end - 2), end) and _magnitude(magnitudes).match(text, end))


@lru_cache(maxsize=8)
def _magnitude(magnitudes: tuple[str, ...]) -> re.Pattern[str]:
    """One of the words or ideographs, whole, after a space or none; nothing for no words."""
    spaced = "|".join(re.escape(word) for word in magnitudes if not is_ideograph(word[0]))
    ideographs = "".join(re.escape(word) for word in magnitudes if is_ideograph(word[0]))
    return re.compile(rf"[ \u00a0]?(?:(?:{spaced or '(?!)'})(?![^\W_])|[{ideographs or chr(0)}])")


def joined(left: str, right: str) -> bool:
    """Whether two neighbouring characters stand in one word."""
    return left.isalnum() and right.isalnum() and not (is_ideograph(left) or is_ideograph(right))
