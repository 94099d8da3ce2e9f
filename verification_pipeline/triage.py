"""What passes without a reader, and on which exact span; which numbers of uncited sentences no source holds.

A claim passes when one place of its cited text (a sentence) holds everything that the claim says: all content words,
each typed number with what it is about, the same direction, negation, bounds and year, and nothing that weakens, denies
or reverses it. Everything else goes to a checker, with the guard that refused it. The tier is judged by the faults that
it lets through, so every doubt refuses.

All claims of a document are indexed at once and looked up by word hash, so that a source text is never read, only its
word index; a place is read as text once all words of the claim are known to stand in it. Word lists and thresholds
stand in the configuration.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from verification_pipeline.config import Settings
from verification_pipeline.config import Triage as TriageSettings
from verification_pipeline.records import Citations, Document, Evidence, Pair
from verification_pipeline.tables import Span
from verification_pipeline.text.index import I32, U64, WordIndex
from verification_pipeline.text.numbers import Number, parse


@dataclass(frozen=True, slots=True)
class TriageRow:
    """What became of one pair: a row of `triage`."""

    pair_id: str
    document_key: str
    outcome: str
    rule: str | None = None
    span: Span | None = None
    refused_by: str | None = None


@dataclass(frozen=True, slots=True)
class UncitedNumber:
    """A number of an uncited sentence that no source of the document holds: a row of `uncited_numbers`."""

    document_key: str
    start: int
    end: int
    number: str


_FRAME = re.compile(
    r"^(?:(?:records|reports|data|figures|documents|studies|research|sources|findings|evidence|analysts|researchers|officials"
    r"|(?:the|this|one|a)\s(?:study|report|authors?|paper|article|source|survey|review|document|page|text|analysis)|it\sis)"
    r"\s(?:also\s)?(?:shows?|showed|indicates?d?|finds?|found|states?d?|says?|said|notes?d?|reports?|reported|confirms?"
    r"|confirmed|reveals?|revealed|known|reported|stated)\sthat\s)",
    re.IGNORECASE,
)
_PRONOUN = re.compile(
    r"^(?:and|but|while|whereas|or|so|also|however|,|\s)*(?:it|they|he|she|this|these|those|that|such|both|its|their|his|her"
    r"|er|sie|es|dies|diese|dieser|il|elle|ils|elles|cela|ello|ella|esto|они|он|она|это|它|他|她|该|其)\b",
    re.IGNORECASE,
)
_CONNECTOR = re.compile(
    r"^\W*(?:and|but|or|while|whereas|yet|und|oder|aber|et|mais|y|pero|и|а|но)\s+(?P<next>\w+)", re.IGNORECASE
)
_DETERMINERS = frozenset(
    ("the", "a", "an", "der", "die", "das", "ein", "eine", "le", "la", "les", "un", "une", "el", "los", "las")
)
_EDGE = re.compile(
    r"(?<!\bDr)(?<!\bMr)(?<!\bMs)(?<!\bMrs)(?<!\bProf)(?<!\bSt)(?<!\bvs)(?<!\bapprox)(?<!\bal)(?<!\bFig)(?<!\bNo)(?<!\bno)"
    r"(?<!\be\.g)(?<!\bi\.e)[.!?…;]+[\"'”’»)\]*_]{0,4}\s+|[。！？；]|\n\s*\n|\n\s*[-*•|#>+]|\|"
)
_REACH = 600
_PREPOSITION = re.compile(
    r"\b(by|to|from|um|auf|von|de|à|a)\s+(?:about\s|around\s|nearly\s|over\s)?[^\w]{0,3}$", re.IGNORECASE
)
_CONTRACTED_NOT = re.compile(r"n['’]t\b")


@dataclass(frozen=True)
class _Words:
    """The word lists of the settings, as sets of folded words and as hashes of the word index."""

    settings: TriageSettings

    @cached_property
    def ignored(self) -> U64:
        listed = (*self.settings.stop_words, *self.settings.neutral_words)
        return np.unique(WordIndex.build(" ".join(listed)).words)

    @cached_property
    def negations(self) -> frozenset[str]:
        return frozenset(self.settings.negations)

    @cached_property
    def hedges(self) -> frozenset[str]:
        return frozenset(self.settings.hedges)

    @cached_property
    def reversals(self) -> frozenset[str]:
        return frozenset(self.settings.reversals)

    @cached_property
    def bounds(self) -> frozenset[str]:
        return frozenset(self.settings.bounds)

    @cached_property
    def opposites(self) -> dict[str, frozenset[str]]:
        table: dict[str, set[str]] = {}
        for left, right in self.settings.opposites:
            table.setdefault(left, set()).add(right)
            table.setdefault(right, set()).add(left)
        return {word: frozenset(others) for word, others in table.items()}


@lru_cache(maxsize=8)
def _words(settings: TriageSettings) -> _Words:
    return _Words(settings)


@dataclass(frozen=True, slots=True)
class _Claim:
    """A claim ready for look-up: content words by hash, in order, with their places in the claim; its numbers."""

    text: str
    hashes: U64
    starts: I32
    ends: I32
    numbers: tuple[Number, ...]
    words: int


def triage(
    pairs: Sequence[Pair], evidence: Mapping[str, Evidence], settings: Settings, language: str | None = None
) -> list[TriageRow]:
    """One row a pair, in order.

    `evidence` maps the key of each usable own source to its text and index; a bound pair whose source is not in it is
    uncheckable.
    """
    rules = settings.triage
    claims = _prepared([pair.claim for pair in pairs], language, rules)
    folded: dict[str, NDArray[np.uint16]] = {}
    rows: list[TriageRow] = []
    for pair, claim in zip(pairs, claims, strict=True):
        body = evidence.get(pair.source_key or "") if pair.status == "bound" else None
        if body is None:
            outcome = "dangling" if pair.status == "dangling" else "uncheckable"
            rows.append(TriageRow(pair.pair_id, pair.document_key, outcome))
            continue
        key = body.source.source_key
        low = folded.get(key)
        if low is None:
            low = folded[key] = body.body.index.words.astype(np.uint16)
        rule = "numbers" if claim.numbers else "words"
        found = _refused_at_once(pair, claim, rules) or _place(claim, body, low, _words(rules))
        if isinstance(found, str):
            rows.append(TriageRow(pair.pair_id, pair.document_key, "needs-checker", refused_by=found))
        else:
            rows.append(TriageRow(pair.pair_id, pair.document_key, "auto-passed", rule, found))
    return rows


def _prepared(texts: Sequence[str], language: str | None, rules: TriageSettings) -> list[_Claim]:
    """All claims indexed in one pass."""
    distinct = list(dict.fromkeys(texts))
    framed = [_FRAME.sub(lambda match: " " * len(match.group()), text) for text in distinct]
    joined = "\n".join(framed)
    index = WordIndex.build(joined)
    content = ~np.isin(index.words, _words(rules).ignored)
    numbers = [parse(text, language) for text in distinct]
    in_number = np.zeros(len(joined) + 1, dtype=bool)
    offsets = [0]
    for text, typed in zip(framed, numbers, strict=True):
        for number in typed:
            in_number[offsets[-1] + number.start : offsets[-1] + number.end] = True
        offsets.append(offsets[-1] + len(text) + 1)
    content &= ~in_number[index.starts]
    edges = np.searchsorted(index.starts, offsets)
    ready: dict[str, _Claim] = {}
    for position, text in enumerate(distinct):
        first, last = int(edges[position]), int(edges[position + 1])
        chosen = np.flatnonzero(content[first:last]) + first
        ready[text] = _Claim(
            text,
            index.words[chosen],
            index.starts[chosen] - np.int32(offsets[position]),
            index.ends[chosen] - np.int32(offsets[position]),
            numbers[position],
            last - first,
        )
    return [ready[text] for text in texts]


def _refused_at_once(pair: Pair, claim: _Claim, rules: TriageSettings) -> str | None:
    """The guard that refuses a claim whatever its source says."""
    if pair.strong and rules.strong == "always-read":
        return "strong"
    if not claim.numbers:
        if pair.strong:
            return "strong"
        if len(claim.hashes) < rules.min_words:
            return "too-few-words"
    elif len(claim.hashes) < rules.min_words_with_number:
        return "too-few-words"
    if _PRONOUN.match(claim.text):
        return "pronoun"
    connector = _CONNECTOR.match(claim.text) if pair.scope == "clause" else None
    if connector and not connector.group("next")[0].isupper() and connector.group("next").lower() not in _DETERMINERS:
        return "elliptical-clause"
    return None


_TABLE = np.zeros(1 << 16, dtype=np.uint8)


def _place(claim: _Claim, evidence: Evidence, low: NDArray[np.uint16], words: _Words) -> Span | str:
    """The span of the place that holds the whole claim, or the guard that refused the best place."""
    index = evidence.body.index
    hashes, inverse = np.unique(claim.hashes, return_inverse=True)
    keys = hashes.astype(np.uint16)
    _TABLE[keys] = 1
    positions = np.flatnonzero(_TABLE[low])
    _TABLE[keys] = 0
    ids = np.searchsorted(hashes, index.words[positions])
    ids[ids == len(hashes)] = 0
    real = hashes[ids] == index.words[positions]
    positions, ids = positions[real], ids[real]
    counts = np.bincount(ids, minlength=len(hashes))
    rarest = int(counts.argmin())
    if not counts[rarest]:
        return _missing(claim, np.flatnonzero(counts[inverse] == 0), words)
    refused = "scattered"
    seen = -1
    for anchor in positions[ids == rarest][: words.settings.places].tolist():
        start, end = _sentence(evidence.body.text, int(index.starts[anchor]))
        if start == seen:
            continue
        seen = start
        first, last = index.word_range(start, end)
        left, right = np.searchsorted(positions, (first, last))
        if len(np.unique(ids[left:right])) < len(hashes):
            continue
        place = _Place(
            claim, evidence.body.text, index, start, end, first, positions[left:right], ids[left:right], inverse
        )
        guard = place.refused_by(words)
        if guard is None:
            text = evidence.body.text[start:end]
            return Span(evidence.source.source_key, evidence.body.sha256, start, end, text)
        refused = guard
    return refused


def _missing(claim: _Claim, missing: NDArray[np.intp], words: _Words) -> str:
    """Which kind of thing the source does not hold at all."""
    for position in missing.tolist():
        word = claim.text[int(claim.starts[position]) : int(claim.ends[position])]
        if word.lower() in words.opposites:
            return "direction"
        if word[:1].isupper() and claim.starts[position] > 0:
            return "entity"
    return "words"


def _sentence(text: str, at: int) -> tuple[int, int]:
    """The stretch between sentence marks around a place; where it is unclear whether a mark ends one, it does."""
    start, end = max(0, at - _REACH), min(len(text), at + _REACH)
    left, right = start, end
    for match in _EDGE.finditer(text, start, end):
        if match.end() <= at:
            left = match.end()
        elif match.start() >= at:
            right = match.end() if match.group().strip() in "。！？；" else match.start() + len(match.group().rstrip())
            if match.group()[:1] in "\n|":
                right = match.start()
            break
    piece = text[left:right]
    return left + len(piece) - len(piece.lstrip()), left + len(piece.rstrip())


_TOKEN = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")


@dataclass(frozen=True, slots=True)
class _Place:
    """A sentence of the source that holds all content words of a claim, to be read closely."""

    claim: _Claim
    text: str
    index: WordIndex
    start: int
    end: int
    first: int
    positions: NDArray[np.intp]
    ids: NDArray[np.intp]
    inverse: NDArray[np.intp]

    def refused_by(self, words: _Words) -> str | None:
        """The first guard that refuses this place, or None for a pass."""
        sentence = self.text[self.start : self.end]
        said = [token.lower() for token in _TOKEN.findall(self.claim.text)]
        found = [token.lower() for token in _TOKEN.findall(sentence)]
        return (
            ("question" if sentence.endswith("?") else None)
            or self._wording(said, found, words)
            or self._order(words)
            or (self._numbers(sentence) if self.claim.numbers else None)
        )

    def _wording(self, said: list[str], found: list[str], words: _Words) -> str | None:
        mine, theirs = set(said), set(found)
        if _negations(said, words) != _negations(found, words):
            return "negation"
        extra = theirs - mine
        if not words.hedges.isdisjoint(extra):
            return "hedge"
        if not words.reversals.isdisjoint(extra):
            return "reversal"
        for word in mine & words.opposites.keys():
            if not words.opposites[word].isdisjoint(extra):
                return "direction"
        if not words.bounds.isdisjoint(mine ^ theirs) and self.claim.numbers:
            return "bound"
        return None

    def _order(self, words: _Words) -> str | None:
        """Words of the claim must stand in the place in its order, but for a phrase moved to front or end."""
        firsts: dict[int, int] = {}
        for position, word in zip(self.positions.tolist(), self.ids.tolist(), strict=True):
            firsts.setdefault(word, position)
        order = [firsts[word] for word in self.inverse.tolist()]
        breaks = sum(right < left for left, right in pairwise(order))
        spread = max(order) - min(order) + 1
        if not self.claim.numbers:
            if breaks:
                return "order"
            return "scattered" if spread > words.settings.stretch * self.claim.words else None
        if breaks > 2 or len(order) < 2 * (breaks + 1):
            return "order"
        return "order" if self._names_moved(order) else None

    def _names_moved(self, order: list[int]) -> bool:
        """Whether names of the claim stand in another order in the place."""
        runs: list[int] = []
        last_end = -9
        for position, start in enumerate(self.claim.starts.tolist()):
            if start == 0 or not self.claim.text[start].isupper():
                continue
            if start - last_end > 1:
                runs.append(order[position])
            last_end = int(self.claim.ends[position])
        return any(right < left for left, right in pairwise(runs))

    def _numbers(self, sentence: str) -> str | None:
        held = parse(sentence)
        matched: list[Number] = []
        for number in self.claim.numbers:
            match = next((other for other in held if other not in matched and number.same_quantity(other)), None)
            if match is None:
                return _why_not(number, held)
            if _preposition(self.claim.text, number) != _preposition(sentence, match):
                return "preposition"
            matched.append(match)
        if any(a.kind == b.kind and a.unit == b.unit and a.start > b.start for a, b in pairwise(matched)):
            return "number-order"
        return self._context(matched, held)

    def _context(self, matched: list[Number], held: Sequence[Number]) -> str | None:
        """Each number must be nearer to the claim's words than any other number of its kind, and to the claim's year."""
        places = [int(self.index.starts[position]) - self.start for position in self.positions.tolist()]
        years = [number for number in held if number.kind == "year"]
        for number in matched:
            if number.kind != "year" and len(years) > 1:
                nearest = sorted(years, key=lambda year: abs(year.start - number.start))
                if nearest[0] not in matched and any(year in matched for year in years):
                    return "year"
            rivals = [
                other
                for other in held
                if other not in matched and other.kind == number.kind and other.unit in (number.unit, "")
            ]
            mine = _closeness(number, places)
            if any(_closeness(rival, places) >= mine for rival in rivals):
                return "number-context"
        return None


def _negations(tokens: Iterable[str], words: _Words) -> int:
    return sum(token in words.negations or _CONTRACTED_NOT.search(token) is not None for token in tokens)


def _preposition(text: str, number: Number) -> str | None:
    match = _PREPOSITION.search(text, max(0, number.start - 16), number.start)
    return match.group(1).lower() if match else None


def _closeness(number: Number, places: Iterable[int]) -> float:
    """How near a number stands to the claim's words: larger is nearer."""
    return sum(1.0 / (8 + abs(place - number.start)) for place in places)


def _why_not(number: Number, held: Sequence[Number]) -> str:
    if any(number.value == other.value and number.key == other.key for other in held):
        return "unit" if any(number.value == other.value and number.unit != other.unit for other in held) else "range"
    return "year" if number.kind == "year" else "number"


def uncited_numbers(
    document: Document, citations: Citations, evidence: Mapping[str, Evidence], settings: Settings
) -> list[UncitedNumber]:
    """Numbers of sentences without a citation that no usable source of the document holds, in document order."""
    del settings
    cited = sorted({(pair.sentence_start, pair.sentence_end) for pair in citations.pairs})
    cited += [span for pair in citations.pairs for span in pair.claim_spans]
    found: list[UncitedNumber] = []
    missing: list[tuple[int, Number]] = []
    for start, end in _uncited(citations.prose, sorted(cited)):
        missing += [(start, number) for number in parse(document.text[start:end], document.language)]
    if not missing:
        return []
    known = _Held(list(evidence.values()))
    for start, number in missing:
        if not known.holds(number):
            found.append(UncitedNumber(document.document_key, start + number.start, start + number.end, number.text))
    return found


def _uncited(prose: Sequence[tuple[int, int]], cited: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Sentences that no cited range touches."""
    free: list[tuple[int, int]] = []
    reach, position = -1, 0
    for start, end in prose:
        while position < len(cited) and cited[position][0] < end:
            reach = max(reach, cited[position][1])
            position += 1
        if reach <= start:
            free.append((start, end))
    return free


class _Held:
    """The typed numbers of some sources, read source by source only as far as a question needs."""

    def __init__(self, sources: list[Evidence]) -> None:
        self._unread = sources
        self._values: dict[object, list[Number]] = {}

    def holds(self, number: Number) -> bool:
        while True:
            if any(number.same_quantity(other) for other in self._values.get(_key(number), ())):
                return True
            if not self._unread:
                return False
            for other in parse(self._unread.pop().body.text):
                self._values.setdefault(_key(other), []).append(other)


def _key(number: Number) -> object:
    return number.key or number.value
