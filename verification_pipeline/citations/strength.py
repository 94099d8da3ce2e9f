"""What makes a claim strong: a typed number, or a word of quantity or change.

A strong pair may pass triage by the number rule only, and is always selected for a checker when it did not. The words
stand in the configuration, per language.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from verification_pipeline.config import Strong
from verification_pipeline.text.numbers import Number, folded_words

_ENDINGS = ("", "s", "d", "es", "ed", "ing")


@dataclass(frozen=True, slots=True)
class StrongWords:
    """The words of one language, ready to be looked for: forms that stand by themselves, and signs found anywhere."""

    forms: frozenset[str]
    signs: tuple[str, ...]
    pattern: re.Pattern[str]

    @classmethod
    def of(cls, language: str | None, settings: Strong) -> StrongWords:
        """The words for every language, for this one and for English."""
        listed = settings.words
        return _strong_words((*listed.get("*", ()), *listed.get(language or "en", ()), *listed.get("en", ())))

    def markers(self, claim: str, numbers: Sequence[Number]) -> tuple[str, ...]:
        """The strong markers of a claim, as written, in order, without repeats; empty if it is not strong."""
        found = [(number.start, number.text) for number in numbers]
        lowered = claim.lower()
        if not self.forms.isdisjoint(folded_words(claim)) or any(s in lowered for s in self.signs):
            found += [(match.start(), match.group()) for match in self.pattern.finditer(claim)]
            found.sort()
        return tuple(dict.fromkeys([text for _, text in found]))


def strong_markers(claim: str, numbers: Sequence[Number], language: str | None, settings: Strong) -> tuple[str, ...]:
    """The strong markers of one claim."""
    return StrongWords.of(language, settings).markers(claim, numbers)


@lru_cache(maxsize=64)
def _strong_words(words: tuple[str, ...]) -> StrongWords:
    whole = [word for word in dict.fromkeys(words) if _is_whole(word)]
    signs = [word for word in dict.fromkeys(words) if not _is_whole(word)]
    parts = [rf"\b(?:{'|'.join(map(re.escape, whole))})(?:{'|'.join(_ENDINGS[1:])})?\b"] if whole else []
    return StrongWords(
        frozenset(f"{word.lower()}{ending}" for word in whole for ending in _ENDINGS),
        tuple(word.lower() for word in signs),
        re.compile("|".join([*parts, *map(re.escape, signs)]) or r"(?!)", re.IGNORECASE),
    )


def _is_whole(word: str) -> bool:
    """Whether a word stands by itself; signs and words of scripts without spaces are found anywhere."""
    return word[0].isalpha() and word[0] < "\u2e80"
