"""What makes a claim strong: a typed number, or a word of quantity or change.

A strong pair may pass triage by the number rule only, and is always selected for a checker when it did not. The words
stand in the configuration, per language.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from verification_pipeline.config import Strong
from verification_pipeline.text.numbers import Number

_FORMS = "(?:s|d|es|ed|ing)?"


def strong_markers(claim: str, numbers: Sequence[Number], language: str | None, settings: Strong) -> tuple[str, ...]:
    """The strong markers of a claim, as written, in order and without repeats; empty for a claim that is not strong."""
    words = settings.words
    pattern = _pattern((*words.get("*", ()), *words.get(language or "en", ()), *words.get("en", ())))
    found = [(number.start, number.text) for number in numbers]
    found += [(match.start(), match.group()) for match in pattern.finditer(claim)]
    return tuple(dict.fromkeys(text for _, text in sorted(found)))


@lru_cache(maxsize=64)
def _pattern(words: tuple[str, ...]) -> re.Pattern[str]:
    """One pattern for the words: whole words with the usual endings; signs and words of unspaced scripts anywhere."""
    whole = [re.escape(word) for word in dict.fromkeys(words) if word[0].isalpha() and word[0] < "\u2e80"]
    anywhere = [re.escape(word) for word in dict.fromkeys(words) if not (word[0].isalpha() and word[0] < "\u2e80")]
    parts = [rf"\b(?:{'|'.join(whole)}){_FORMS}\b"] if whole else []
    parts += anywhere
    return re.compile("|".join(parts) or r"(?!)", re.IGNORECASE)
