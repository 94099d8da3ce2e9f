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

_ENDINGS = ("", "s", "d", "es", "ed", "ing")
_PUNCTUATION = str.maketrans(dict.fromkeys("-–—.,;:!?()[]\"'“”’„«»/", " "))


def strong_markers(claim: str, numbers: Sequence[Number], language: str | None, settings: Strong) -> tuple[str, ...]:
    """The strong markers of a claim, as written, in order and without repeats; empty for a claim that is not strong."""
    listed = settings.words
    words = (*listed.get("*", ()), *listed.get(language or "en", ()), *listed.get("en", ()))
    found = [(number.start, number.text) for number in numbers]
    if _may_hold(claim, words):
        found += [(match.start(), match.group()) for match in _pattern(words).finditer(claim)]
    return tuple(dict.fromkeys(text for _, text in sorted(found)))


def _may_hold(claim: str, words: tuple[str, ...]) -> bool:
    """A cheap first look: most claims hold none of the words."""
    whole, anywhere = _forms(words)
    lowered = claim.lower()
    return not whole.isdisjoint(lowered.translate(_PUNCTUATION).split()) or any(word in lowered for word in anywhere)


def _is_whole(word: str) -> bool:
    """Whether a word stands by itself; signs and words of scripts without spaces are found anywhere."""
    return word[0].isalpha() and word[0] < "\u2e80"


@lru_cache(maxsize=64)
def _forms(words: tuple[str, ...]) -> tuple[frozenset[str], tuple[str, ...]]:
    whole = frozenset(f"{word.lower()}{ending}" for word in words if _is_whole(word) for ending in _ENDINGS)
    return whole, tuple(word.lower() for word in words if not _is_whole(word))


@lru_cache(maxsize=64)
def _pattern(words: tuple[str, ...]) -> re.Pattern[str]:
    """One pattern for the words: whole words with the usual endings; signs and words of unspaced scripts anywhere."""
    whole = [re.escape(word) for word in dict.fromkeys(words) if _is_whole(word)]
    anywhere = [re.escape(word) for word in dict.fromkeys(words) if not _is_whole(word)]
    parts = [rf"\b(?:{'|'.join(whole)})(?:{'|'.join(_ENDINGS[1:])})?\b"] if whole else []
    parts += anywhere
    return re.compile("|".join(parts) or r"(?!)", re.IGNORECASE)
