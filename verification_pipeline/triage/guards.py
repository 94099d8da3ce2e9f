"""The close reading of one place: may this sentence of a source pass this claim without a reader?

The caller has found a sentence that holds every content word of the claim. Each guard here knows one way in which such
a sentence still says something else: negation, hedge, reversal, opposite direction, bound, order of names and numbers,
another year, another number nearer to what the claim is about. Every doubt refuses. What belongs elsewhere: finding the
sentence, and what becomes of a pair (`triage`); typed numbers (`text.numbers`); the word lists (configuration).
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise

from verification_pipeline.config import Triage as TriageSettings
from verification_pipeline.text.index import WordIndex
from verification_pipeline.text.numbers import Number, parse

_TOKEN = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
_SIGNED = re.compile(r"\b[A-Za-z]\w{0,9}(?:[#+]{1,2})(?!\w)")
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")


@dataclass(frozen=True)
class Claim:
    """A claim ready for look-up.

    `opening` is where it begins, behind words that only tie or frame it. `hashes` are its content words (word-index
    hashes) in order, with their places `starts`, `ends` in `text`; `words` are all its words.
    """

    text: str
    opening: int
    hashes: Sequence[int]
    starts: Sequence[int]
    ends: Sequence[int]
    numbers: tuple[Number, ...]
    words: Sequence[int]

    @cached_property
    def names(self) -> list[list[int]]:
        """Runs of indices of capitalised content words that stand side by side; also of the very first."""
        runs: list[list[int]] = []
        for index in [index for index, start in enumerate(self.starts) if self.text[start].isupper()]:
            if runs and runs[-1][-1] == index - 1 and self.starts[index] - self.ends[index - 1] <= 1:
                runs[-1].append(index)
            else:
                runs.append([index])
        return runs

    @property
    def unspaced(self) -> bool:
        """Whether the claim is written in a script without spaces, where a word here is one sign."""
        return not self.text.isascii() and 2 * len(_UNSPACED.findall(self.text)) > len(self.text)

    def may_add(self, lists: WordLists) -> int:
        """How many content words the place may lack: signs of a script without spaces, few of many."""
        if not self.unspaced:
            return 0
        return min(lists.settings.added_signs, int(len(self.hashes) * lists.settings.added_share))


@dataclass(frozen=True, slots=True)
class Place:
    """A sentence of a source: its text, all its words, and where in it (code points) the claim's content words stand.

    `words` are word-index hashes; `inside` maps each content word of the claim to its places, ascending.
    """

    text: str
    words: Sequence[int]
    inside: Mapping[int, Sequence[int]]


_SHARES = frozenset(
    (
        *(
            "some",
            "few",
            "several",
            "half",
            "most",
            "many",
            "part",
            "parts",
            "one",
            "two",
            "three",
            "four",
            "five",
            "six",
        ),
        *("seven", "eight", "nine", "ten", "percent", "majority", "minority", "third", "quarter", "einige", "viele"),
        *("certains", "plusieurs", "algunos"),
    )
)
_PARTITIVE = re.compile(
    rf"\b(?P<share>{'|'.join(sorted(_SHARES))}|\d[\d,.]*%?)\s(?:\w+\s)?(?:of|von|der|des|de|los)\s", re.IGNORECASE
)
_DIGIT_PART = re.compile(r"\d[\d,.]*%?\s(?:\w+\s)?(?:of|von|der|des|de|los)\s", re.IGNORECASE)
_OF = frozenset(("of", "von", "der", "des", "de", "los"))
_ORDINALS = frozenset(
    (
        "second",
        "third",
        "fourth",
        "fifth",
        "sixth",
        "seventh",
        "eighth",
        "ninth",
        "tenth",
        "zweite",
        "dritte",
        "2nd",
        "3rd",
    )
)
_SUPERLATIVE = re.compile(r"\b(?:\w{3,}est|most|least|best|worst|top)\b", re.IGNORECASE)
_CAPITALISED = re.compile(r"(?<![\w'’])[A-ZÀ-ÖØ-ÞА-ЯΑ-Ω][\w'’-]+")
_SUBJECT = re.compile(r"\s+(?:[A-ZÀ-ÖØ-Þ]|is\b|was\b|are\b|were\b|has\b|had\b|[(\[,–—-])|,")
_DAYS_AND_TITLES = frozenset(
    (
        "january", "february", "march", "april", "may", "june", "july", "august", "september", "october",
        "november", "december", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday",
        "sunday", "president", "mr", "mrs", "dr", "sir", "king", "queen", "chief", "director", "senator",
        "minister", "professor", "the", "a", "an", "in", "on",
    )
)  # fmt: skip
_NAME_GAP = 3
_REACH_OF_NAME = 60
_BLANK = re.compile(r"[（(]\s*[）)]|_{3}")
_BEFORE = 16
_PREPOSITION = re.compile(
    r"\b(by|to|from|after|before|since|until|till|um|auf|von|nach|vor|seit|bis|de|à|a|après|avant|depuis|на|до|с|после)\s+(?:about\s|around\s|nearly\s|over\s)?[^\w]{0,3}$",
    re.IGNORECASE,
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
    def telling_signs(self) -> frozenset[str]:
        """Signs that are facts by themselves, and so are no mere addition."""
        settings = self.settings
        listed = (*settings.negations, *settings.bounds, *settings.telling_signs, *self.opposites)
        return frozenset(sign for word in listed for sign in word if _UNSPACED.match(sign))

    @cached_property
    def stop_signs(self) -> frozenset[str]:
        """Signs that carry no fact."""
        return frozenset(word for word in self.settings.stop_words if _UNSPACED.fullmatch(word))

    @cached_property
    def connectives(self) -> frozenset[str]:
        """Openings that only tie a claim to the sentence before it."""
        return frozenset(self.settings.connectives)

    @cached_property
    def bounds(self) -> frozenset[str]:
        """Words that make a number a bound."""
        return frozenset(self.settings.bounds)

    @cached_property
    def neutral_compounds(self) -> re.Pattern[str]:
        """Words that hold the sign of a negation and negate nothing."""
        return re.compile("|".join(map(re.escape, self.settings.neutral_compounds)) or r"(?!)")

    @cached_property
    def telling(self) -> frozenset[int]:
        """Word-index hashes of every word that `_wording` asks for: where none differs, the wording is the same."""
        listed = {*self.negations, *self.weakening, *self.bounds, *self.opposites, *_SHARES, *_ORDINALS}
        return frozenset(WordIndex.build(" ".join(sorted(listed))).words.tolist())

    @cached_property
    def negation_words(self) -> frozenset[int]:
        """Word-index hashes of the negations."""
        return frozenset(WordIndex.build(" ".join(sorted(self.negations))).words.tolist())

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


_CLAUSE = re.compile(r"[，,；;：:]")
_GOVERNING = re.compile(r"(?:表明|认为|证明|证实|显示|相信|意味着|承认|说|称|指出)$")
"""A clause that ends so says of the next one whether it holds: `没有证据表明，…`."""


_MOST_STARTS = 32
"""So many places of a claim's first word are tried; with more of them a wider place is read."""


def _clauses(claim: Claim, place: Place) -> Place:
    """In a script without spaces, where sentences run long: the clauses of the place that hold the claim."""
    if place.text.isascii() or len(_UNSPACED.findall(place.text)) * 2 < len(place.text):
        return place
    first, last = _stretch(claim, place)
    start = 0
    for mark in _CLAUSE.finditer(place.text, 0, first):
        if not _GOVERNING.search(place.text, start, mark.start()):
            start = mark.end()
    after = _CLAUSE.search(place.text, last)
    end = after.start() if after else len(place.text)
    inside = {word: [at - start for at in places if start <= at < end] for word, places in place.inside.items()}
    return Place(place.text[start:end], place.words, inside)


def _stretch(claim: Claim, place: Place) -> tuple[int, int]:
    """The first and the last of the claim's words in the place, where they stand closest in the claim's order."""
    wanted = [place.inside[word] for word in claim.hashes if place.inside[word]]
    closest: tuple[int, int] | None = None
    for first in wanted[0][:_MOST_STARTS]:
        last = first
        for places in wanted[1:]:
            following = bisect_right(places, last)
            if following == len(places):
                return closest or (min(each[0] for each in wanted), max(each[-1] for each in wanted))
            last = places[following]
        if closest is None or last - first < closest[1] - closest[0]:
            closest = first, last
    return closest or (0, 0)


def refused_by(claim: Claim, place: Place, lists: WordLists) -> str | None:
    """The first guard that refuses this place for this claim, or None for a pass."""
    if place.text[-1:] in "?？؟" or _has_blank(place.text):
        return "question"
    if guard := _weakened(claim, place, lists):
        return guard
    place = _clauses(claim, place)
    return (
        _signs(claim, place)
        or _added(claim, place, lists)
        or _wording(claim, place, lists)
        or _order(claim, place, lists)
        or _names(claim, place)
        or (_numbers(claim, place) if claim.numbers else None)
    )


def _has_blank(text: str) -> bool:
    """Whether the text leaves something to fill in: `( )`, `___`."""
    return ("(" in text or "（" in text or "_" in text) and _BLANK.search(text) is not None


def keeps_order(claim: Claim, place: Place) -> bool:
    """Whether all words of the claim stand in the place exactly in its order."""
    return all(left < right for left, right in pairwise(_in_order(claim, place)))


def _signs(claim: Claim, place: Place) -> str | None:
    """Names that differ in a sign that is no letter: C, C#, C++."""
    if "#" not in claim.text and "+" not in claim.text:
        return None
    return next(("entity" for name in _SIGNED.findall(claim.text) if name not in place.text), None)


def _added(claim: Claim, place: Place, lists: WordLists) -> str | None:
    """Words that only the claim has must be additions: nothing in the place stands where they stand, none is a fact."""
    if all(place.inside.values()):
        return None
    lacking = [index for index, word in enumerate(claim.hashes) if not place.inside[word]]
    order = _in_order(claim, place)
    ends = dict(zip((i for i, w in enumerate(claim.hashes) if place.inside[w]), order, strict=True))
    for index in lacking:
        written = claim.text[claim.starts[index] : claim.ends[index]]
        if not _UNSPACED.fullmatch(written) or written in lists.telling_signs:
            return "words"
        before = max((i for i in ends if i < index), default=None)
        after = min((i for i in ends if i > index), default=None)
        if before is None or after is None:
            continue
        gap = place.text[ends[before] + 1 : ends[after]]
        if ends[after] < ends[before] or any(sign not in lists.stop_signs for sign in _UNSPACED.findall(gap)):
            return "words"
    return None


def _tokens(text: str) -> list[str]:
    lowered = text.lower()
    tokens = _TOKEN.findall(lowered)
    return tokens if text.isascii() else [*tokens, *_UNSPACED.findall(lowered)]


def _same_wording(claim: Claim, place: Place, lists: WordLists) -> bool:
    """Whether claim and place plainly have the same negations, bounds, parts and so on; told by word hash."""
    if not (claim.text.isascii() and place.text.isascii()) or "'" in claim.text or "'" in place.text:
        return False
    theirs = set(place.words)
    if not (
        lists.telling.isdisjoint(theirs.symmetric_difference(claim.words)) and lists.negation_words.isdisjoint(theirs)
    ):
        return False
    return not _DIGIT_PART.search(place.text)


def _weakened(claim: Claim, place: Place, lists: WordLists) -> str | None:
    """In a script without spaces: whether the sentence, also outside the claim's clauses, weakens or denies."""
    if place.text.isascii():
        return None
    listed = lists.unspaced_weakening
    return next((guard for word, guard in listed if word in place.text and word not in claim.text), None)


def _wording(claim: Claim, place: Place, lists: WordLists) -> str | None:
    if _same_wording(claim, place, lists):
        return None
    mine, theirs = set(_tokens(claim.text)), set(_tokens(place.text))
    if _negations(claim.text, mine, lists) != _negations(place.text, theirs, lists):
        return "negation"
    extra = theirs - mine
    if weakening := {lists.weakening[word] for word in extra & lists.weakening.keys()}:
        return "reversal" if "reversal" in weakening else "hedge"
    for word in mine & lists.opposites.keys():
        if not lists.opposites[word].isdisjoint(extra):
            return "direction"
    if claim.numbers and not lists.bounds.isdisjoint(mine ^ theirs):
        return "bound"
    return _part_for_whole(claim, place, mine, theirs)


def _part_for_whole(claim: Claim, place: Place, mine: set[str], theirs: set[str]) -> str | None:
    """The place speaks of some, the claim of all: `12 of 40 gates`, `one of the largest`, `the third largest`."""
    extra = theirs - mine
    if not _OF.isdisjoint(theirs) and (not _SHARES.isdisjoint(extra) or any(token[0].isdigit() for token in extra)):
        for match in _PARTITIVE.finditer(place.text):
            if match.group("share").lower() not in mine:
                return "part"
    if not _ORDINALS.isdisjoint(extra) and _SUPERLATIVE.search(claim.text):
        return "part"
    return None


def _negations(text: str, tokens: set[str], lists: WordLists) -> int:
    """How many words turn the statement round."""
    if lists.negations.isdisjoint(tokens) and "n't" not in text and "n’t" not in text:
        return 0
    if not text.isascii():
        text = lists.neutral_compounds.sub(" ", text)
    return sum(token in lists.negations or token[-3:] in ("n't", "n’t") for token in _tokens(text))


def _order(claim: Claim, place: Place, lists: WordLists) -> str | None:
    """Words of the claim must stand in the place in its order, but for a phrase moved to front or end."""
    order = _in_order(claim, place)
    breaks = sum([right < left for left, right in pairwise(order)])
    if claim.numbers:
        if breaks > 2 or len(order) + len(claim.numbers) < 2 * (breaks + 1) or _names_moved(claim, order):
            return "order"
        return None
    if breaks > 1 or (breaks and (len(order) < 4 or _names_moved(claim, order))):
        return "order"
    between = _length(place.text[min(order) : max(order)])
    return "scattered" if between > lists.settings.stretch * len(claim.words) else None


def _length(text: str) -> int:
    """Words of a text; a sign of a script without spaces is one."""
    unspaced = 0 if text.isascii() else len(_UNSPACED.findall(text))
    return unspaced + len(_TOKEN.findall(text if not unspaced else _UNSPACED.sub(" ", text)))


def _in_order(claim: Claim, place: Place) -> list[int]:
    """Where each content word of the claim stands; of several occurrences the next behind the word before it."""
    order: list[int] = []
    last = -1
    for word in claim.hashes:
        places = place.inside[word]
        if len(places) == 1:
            last = places[0]
        elif places:
            following = bisect_right(places, last)
            last = places[following] if following < len(places) else places[0]
        else:
            continue
        order.append(last)
    return order


def _names(claim: Claim, place: Place) -> str | None:
    """A name stands in the place as a whole, before what it qualifies, and is the subject if the claim's subject."""
    first = len(place.text)
    for run in claim.names:
        found = _whole(claim, place, run)
        if not found:
            return "entity"
        if run[0] == 0:
            first = min(found)
        after = run[-1] + 1
        if after < len(claim.starts) and claim.starts[after] == claim.ends[run[-1]] + 1:
            follows = place.inside[claim.hashes[after]]
            if not any(0 < at - start < _REACH_OF_NAME for start in found for at in follows):
                return "entity"
    if not claim.names or claim.names[0][0] > 0:
        return None
    for match in _CAPITALISED.finditer(place.text, 0, first):
        initial = match.start() == 0 and not _SUBJECT.match(place.text, match.end())
        name = match.group().lower()
        if not initial and name not in _DAYS_AND_TITLES and name not in _TOKEN.findall(claim.text.lower()):
            return "subject"
    return None


def _whole(claim: Claim, place: Place, run: Sequence[int]) -> list[int]:
    """Where the words of a name stand in the place one behind the other: the starts of its first word."""
    ends = {at: at for at in place.inside[claim.hashes[run[0]]]}
    if len(run) == 1:
        return list(ends)
    for before, index in pairwise(run):
        length = claim.ends[before] - claim.starts[before]
        following = place.inside[claim.hashes[index]]
        ends = {first: at for first, last in ends.items() for at in following if 0 < at - last - length <= _NAME_GAP}
    return list(ends)


def _names_moved(claim: Claim, order: Sequence[int]) -> bool:
    """Whether names of the claim stand in another order in the place; a capital at the very start makes no name."""
    heads = [run[0] if claim.starts[run[0]] else run[1] for run in claim.names if claim.starts[run[0]] or len(run) > 1]
    places = [order[head] for head in heads if head < len(order)]
    return any(right < left for left, right in pairwise(places))


def _numbers(claim: Claim, place: Place) -> str | None:
    """Each typed number of the claim must stand in the place, in the same order, and be about the same."""
    sentence = place.text
    held = parse(sentence)
    matched: list[Number] = []
    for number in claim.numbers:
        match = next((other for other in held if other not in matched and number.same_quantity(other)), None)
        if match is None:
            return _why_not(number, held)
        if claim.text[: number.start][-_BEFORE:] != sentence[: match.start][-_BEFORE:] and (
            _preposition(claim.text, number) != _preposition(sentence, match)
        ):
            return "preposition"
        matched.append(match)
    for left, right in pairwise(matched):
        if left.kind == right.kind and left.unit == right.unit and left.start > right.start:
            return "number-order"
    return _context(place, matched, held) if len(held) > len(matched) else None


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
    if number.part:
        return None
    match = _PREPOSITION.search(text, max(0, number.start - _BEFORE), number.start)
    return match.group(1).lower() if match else None


def _context(place: Place, matched: Sequence[Number], held: Sequence[Number]) -> str | None:
    """Each number must be nearer to the claim's words than any other number of its kind, and to the claim's year."""
    others = [number for number in held if number not in matched]
    years = [number for number in held if number.kind == "year"]
    anchors = [at for places in place.inside.values() for at in places]
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


def _closeness(number: Number, places: Iterable[int]) -> float:
    """How near a number stands to the claim's words: larger is nearer."""
    return sum(1.0 / (8 + abs(place - number.start)) for place in places)


def missing_words(claim: Claim, held: Mapping[int, object], lists: WordLists) -> str:
    """Which kind of thing a source does not hold at all: a direction, a name, or other words."""
    for word, start, end in zip(claim.hashes, claim.starts, claim.ends, strict=True):
        if word in held:
            continue
        if claim.text[start:end].lower() in lists.opposites:
            return "direction"
        if start and claim.text[start].isupper():
            return "entity"
    return "words"
