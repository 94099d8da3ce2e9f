"""The close reading of one place: may this sentence of a source pass this claim without a reader?

The caller has found a sentence that holds every content word of the claim. Each guard here knows one way in which such
a sentence still says something else: negation, hedge, reversal, opposite direction, bound, order of names and numbers,
another year, another number nearer to what the claim is about. Every doubt refuses. What belongs elsewhere: finding the
sentence, and what becomes of a pair (`triage`); typed numbers (`text.numbers`); the word lists (configuration).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise

from verification_pipeline.config import Triage as TriageSettings
from verification_pipeline.text.numbers import Number, parse


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim ready for look-up.

    `hashes` are its content words (word-index hashes) in order, with their places `starts`, `ends` in `text`;
    `length` counts all its words.
    """

    text: str
    hashes: tuple[int, ...]
    starts: tuple[int, ...]
    ends: tuple[int, ...]
    numbers: tuple[Number, ...]
    length: int


@dataclass(frozen=True, slots=True)
class Place:
    """A sentence of a source: its text, and where in it (code points) each content word of the claim stands."""

    text: str
    words: Mapping[int, Sequence[int]]


_TOKEN = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")
_PREPOSITION = re.compile(
    r"\b(by|to|from|um|auf|von|de|à|a|на|до|с)\s+(?:about\s|around\s|nearly\s|over\s)?[^\w]{0,3}$", re.IGNORECASE
)


@dataclass(frozen=True)
class WordLists:
    """The guards' words, as sets; words of scripts without spaces are looked for inside the text."""

    settings: TriageSettings

    @cached_property
    def negations(self) -> frozenset[str]:
        """Words that turn a statement round."""
        return frozenset(self.settings.negations)

    @cached_property
    def weakening(self) -> dict[str, str]:
        """Words that weaken or take back a statement, with the guard that they belong to."""
        reversals = dict.fromkeys(self.settings.reversals, "reversal")
        return {**reversals, **dict.fromkeys(self.settings.hedges, "hedge")}

    @cached_property
    def unspaced_weakening(self) -> tuple[tuple[str, str], ...]:
        """The same, for scripts without spaces."""
        return tuple((word, guard) for word, guard in self.weakening.items() if _UNSPACED.match(word))

    @cached_property
    def bounds(self) -> frozenset[str]:
        """Words that make a number a bound."""
        return frozenset(self.settings.bounds)

    @cached_property
    def opposites(self) -> dict[str, frozenset[str]]:
        """Every word that has a contrary, with its contraries."""
        table: dict[str, set[str]] = {}
        for left, right in self.settings.opposites:
            table.setdefault(left, set()).add(right)
            table.setdefault(right, set()).add(left)
        return {word: frozenset(others) for word, others in table.items()}


@lru_cache(maxsize=8)
def word_lists(settings: TriageSettings) -> WordLists:
    """The word lists of these settings, made once."""
    return WordLists(settings)


def refused_by(claim: Claim, place: Place, lists: WordLists) -> str | None:
    """The first guard that refuses this place for this claim, or None for a pass."""
    if place.text[-1:] in "?？؟":
        return "question"
    return (
        _wording(claim, place, lists)
        or _order(claim, place, lists)
        or (_numbers(claim, place.text) if claim.numbers else None)
    )


def _tokens(text: str) -> list[str]:
    lowered = text.lower()
    tokens = _TOKEN.findall(lowered)
    return tokens if text.isascii() else [*tokens, *_UNSPACED.findall(lowered)]


def _wording(claim: Claim, place: Place, lists: WordLists) -> str | None:
    said, found = _tokens(claim.text), _tokens(place.text)
    if _negations(said, lists) != _negations(found, lists):
        return "negation"
    mine, theirs = set(said), set(found)
    extra = theirs - mine
    for word in extra & lists.weakening.keys():
        return lists.weakening[word]
    if not place.text.isascii():
        for word, guard in lists.unspaced_weakening:
            if word in place.text and word not in claim.text:
                return guard
    for word in mine & lists.opposites.keys():
        if not lists.opposites[word].isdisjoint(extra):
            return "direction"
    if claim.numbers and not lists.bounds.isdisjoint(mine ^ theirs):
        return "bound"
    return None


def _negations(tokens: Iterable[str], lists: WordLists) -> int:
    return sum(token in lists.negations or token[-3:] in ("n't", "n’t") for token in tokens)


def _order(claim: Claim, place: Place, lists: WordLists) -> str | None:
    """Words of the claim must stand in the place in its order, but for a phrase moved to front or end."""
    order = _in_order(claim, place)
    breaks = sum(right < left for left, right in pairwise(order))
    if claim.numbers:
        if breaks > 2 or len(order) < 2 * (breaks + 1) or _names_moved(claim, order):
            return "order"
        return None
    if breaks:
        return "order"
    between = len(_tokens(place.text[min(order) : max(order)]))
    return "scattered" if between > lists.settings.stretch * claim.length else None


def _in_order(claim: Claim, place: Place) -> list[int]:
    """Where each content word of the claim stands; of several occurrences the next behind the word before it."""
    order: list[int] = []
    last = -1
    for word in claim.hashes:
        places = place.words[word]
        last = next((at for at in places if at > last), places[0])
        order.append(last)
    return order


def _names_moved(claim: Claim, order: Sequence[int]) -> bool:
    """Whether names of the claim stand in another order in the place."""
    runs: list[int] = []
    reach = -9
    for at, start, end in zip(order, claim.starts, claim.ends, strict=True):
        if not start or not claim.text[start].isupper():
            continue
        if start > reach + 1:
            runs.append(at)
        reach = end
    return any(right < left for left, right in pairwise(runs))


def _numbers(claim: Claim, sentence: str) -> str | None:
    """Each typed number of the claim must stand in the sentence, in the same order, and be about the same."""
    held = parse(sentence)
    matched: list[Number] = []
    for number in claim.numbers:
        match = next((other for other in held if other not in matched and number.same_quantity(other)), None)
        if match is None:
            return _why_not(number, held)
        if _preposition(claim.text, number) != _preposition(sentence, match):
            return "preposition"
        matched.append(match)
    for left, right in pairwise(matched):
        if left.kind == right.kind and left.unit == right.unit and left.start > right.start:
            return "number-order"
    return _context(claim, sentence, matched, held) if len(held) > len(matched) else None


def _why_not(number: Number, held: Sequence[Number]) -> str:
    """What differs: the unit, the end of a range, the year, or the number itself."""
    alike = [other for other in held if number.value == other.value and number.key == other.key]
    if any(number.unit != other.unit for other in alike):
        return "unit"
    if alike:
        return "range"
    return "year" if number.kind == "year" else "number"


def _preposition(text: str, number: Number) -> str | None:
    """`by`, `to` or `from` before a number: by 5 % is not to 5 %."""
    match = _PREPOSITION.search(text, max(0, number.start - 16), number.start)
    return match.group(1).lower() if match and not number.part else None


def _context(claim: Claim, sentence: str, matched: Sequence[Number], held: Sequence[Number]) -> str | None:
    """Each number must be nearer to the claim's words than any other number of its kind, and to the claim's year."""
    others = [number for number in held if number not in matched]
    years = [number for number in held if number.kind == "year"]
    anchors = _anchors(claim, sentence)
    for number in matched:
        if number.kind != "year" and len(years) > 1 and any(year in matched for year in years):
            nearest = min(years, key=lambda year: abs(year.start - number.start))
            if nearest not in matched:
                return "year"
        rivals = [other for other in others if other.kind == number.kind and other.unit in (number.unit, "")]
        if rivals:
            mine = _closeness(number, anchors)
            if any(_closeness(rival, anchors) >= mine for rival in rivals):
                return "number-context"
    return None


def _anchors(claim: Claim, sentence: str) -> list[int]:
    """Where the claim's content words stand in the sentence, every occurrence."""
    wanted = {claim.text[start:end].lower() for start, end in zip(claim.starts, claim.ends, strict=True)}
    return [match.start() for match in _TOKEN.finditer(sentence.lower()) if match.group() in wanted]


def _closeness(number: Number, places: Iterable[int]) -> float:
    """How near a number stands to the claim's words: larger is nearer."""
    return sum(1.0 / (8 + abs(place - number.start)) for place in places)


def missing_words(claim: Claim, held: Counter[int] | Mapping[int, object], lists: WordLists) -> str:
    """Which kind of thing a source does not hold at all: a direction, a name, or other words."""
    for word, start, end in zip(claim.hashes, claim.starts, claim.ends, strict=True):
        if word in held:
            continue
        if claim.text[start:end].lower() in lists.opposites:
            return "direction"
        if start and claim.text[start].isupper():
            return "entity"
    return "words"
