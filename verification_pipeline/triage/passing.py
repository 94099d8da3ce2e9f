"""What passes without a reader, and on which exact span.

A claim passes when one place of its cited text (a sentence) holds everything that the claim says: all content words,
each typed number with what it is about, the same direction, negation, bounds and year, and nothing that weakens, denies
or reverses it. Everything else goes to a checker, with the guard that refused it. The tier is judged by the faults that
it lets through, so every doubt refuses.

All claims of a document are indexed at once and looked up by word hash, so that a source text is never read, only its
word index; a place is read as text once all words of the claim are known to stand in it. Word lists and thresholds
stand in the configuration. How a place is read is `guards`; numbers that nothing cites are `uncited`.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from verification_pipeline.config import Settings
from verification_pipeline.config import Triage as TriageSettings
from verification_pipeline.records import Evidence, Pair
from verification_pipeline.tables import Span
from verification_pipeline.text.index import U64, WordIndex
from verification_pipeline.text.numbers import parse
from verification_pipeline.triage.guards import (
    Claim,
    Place,
    WordLists,
    keeps_order,
    missing_words,
    refused_by,
    word_lists,
)


@dataclass(frozen=True, slots=True)
class TriageRow:
    """What became of one pair: a row of `triage`."""

    pair_id: str
    document_key: str
    outcome: str
    rule: str | None = None
    span: Span | None = None
    refused_by: str | None = None


_FIRST_COMMA = re.compile(r"[,，]\s*")
_LONGEST_CONNECTIVE = 30
_FRAME = re.compile(
    r"(?:(?:records|reports|data|figures|documents|studies|research|sources|findings|evidence|analysts|researchers|officials"
    r"|(?:the|this|one|a)\s(?:study|report|authors?|paper|article|source|survey|review|document|page|text|analysis)|it\sis)"
    r"\s(?:also\s)?(?:shows?|showed|indicates?d?|finds?|found|states?d?|says?|said|notes?d?|reports?|reported|confirms?"
    r"|confirmed|reveals?|revealed|known|reported|stated)\sthat\s)",
    re.IGNORECASE,
)
_PRONOUN = re.compile(
    r"(?:and|but|while|whereas|or|so|also|however|,|\s)*(?:it|they|he|she|this|these|those|that|such|both|its|their|his|her"
    r"|er|sie|es|dies|diese|dieser|il|elle|ils|elles|cela|ello|ella|esto|они|он|она|это|它|他|她|该|其)\b",
    re.IGNORECASE,
)
_CONNECTOR = re.compile(r"^\W*(?:and|but|or|yet|und|oder|aber|et|mais|y|pero|и|а|но)\s+(?P<next>\w+)", re.IGNORECASE)
_DETERMINERS = frozenset(
    ("the", "a", "an", "der", "die", "das", "ein", "eine", "le", "la", "les", "un", "une", "el", "los", "las")
)
_EDGE = re.compile(
    r"[.!?…;。！？；\n|](?:(?<=[.!?…;])[.!?…;]*[\"'”’»)\]*_]{0,4}\s+|(?<=[。！？；|])|(?<=\n)\s*(?:\n|[-*•|#>+])"
    r"|(?<=[a-z)%][.!?])[\"”]?(?:\d{1,3}(?:[,–-]\d{1,3}){0,9}\s)?(?=[A-Z][a-z'’]*[\s,]))"
)
_ABBREVIATION = re.compile(
    r"(?:\b(?:Dr|Mr|Ms|Mrs|Prof|St|vs|approx|al|Fig|No|no|e\.g|i\.e|Inc|Ltd|Corp|Co|Jr|Sr|Gen|Gov|Sen|Mt|M\.D|Ph\.D|D\.C))$"
)
_MONTH = re.compile(r"\b(?:Jan|Feb|Mar|Apr|Aug|Sept?|Oct|Nov|Dec)$")
_MOST_INFLECTED = 2
"""So many words of a claim may stand in its source only in another form (rose, rises)."""
_GAP = 8
"""Most white space between two sentences that stand side by side."""
_REACH = 700
"""How far around a word a sentence may reach, code points; a longer one gives no pass."""


def triage(
    pairs: Sequence[Pair], evidence: Mapping[str, Evidence], settings: Settings, language: str | None = None
) -> list[TriageRow]:
    """One row a pair, in order.

    `evidence` maps the key of each usable own source to its text and index; a bound pair whose source is not in it is
    uncheckable. `language` (ISO 639-1) is the document's, and says how its numbers are read.
    """
    rules, lists = settings.triage, word_lists(settings.triage)
    claims = _prepared([pair.claim for pair in pairs], language, lists)
    found: list[TriageRow | None] = [None] * len(pairs)
    asked: defaultdict[str, list[int]] = defaultdict(list)
    for position, (pair, claim) in enumerate(zip(pairs, claims, strict=True)):
        key = pair.source_key if pair.status == "bound" else None
        if key is None or key not in evidence:
            outcome = "dangling" if pair.status == "dangling" else "uncheckable"
            found[position] = TriageRow(pair.pair_id, pair.document_key, outcome)
        elif guard := _refused_at_once(pair, claim, rules):
            found[position] = TriageRow(pair.pair_id, pair.document_key, "needs-checker", refused_by=guard)
        else:
            asked[key].append(position)
    table = np.zeros(1 << 16, dtype=np.bool_)
    for source, positions in asked.items():
        held = _Held.of(evidence[source], [claims[position] for position in positions], table)
        for position in positions:
            pair, claim = pairs[position], claims[position]
            place = held.place(claim, lists)
            if isinstance(place, Span):
                rule = "numbers" if claim.numbers else "words"
                found[position] = TriageRow(pair.pair_id, pair.document_key, "auto-passed", rule, place)
            else:
                found[position] = TriageRow(pair.pair_id, pair.document_key, "needs-checker", refused_by=place)
    return [row for row in found if row is not None]


@lru_cache(maxsize=8)
def _ignored(rules: TriageSettings) -> U64:
    """Hashes of the words that carry no fact, sorted; the largest number closes them, so that each look-up ends."""
    words = WordIndex.build(" ".join((*rules.stop_words, *rules.neutral_words))).words
    return np.unique(np.append(words, np.iinfo(np.uint64).max))


def _prepared(texts: Sequence[str], language: str | None, lists: WordLists) -> list[Claim]:
    """All claims indexed in one pass; equal claims are one object."""
    distinct = list(dict.fromkeys(texts))
    openings = [_opening(text, lists) for text in distinct]
    framed = [" " * start + text[start:] for text, start in zip(distinct, openings, strict=True)]
    joined = "\n".join(framed)
    index = WordIndex.build(joined)
    numbers = [parse(text, language) for text in distinct]
    in_number = np.zeros(len(joined) + 1, dtype=np.bool_)
    bases = [0]
    for text, typed in zip(framed, numbers, strict=True):
        for number in typed:
            in_number[bases[-1] + number.start : bases[-1] + number.end] = True
        bases.append(bases[-1] + len(text) + 1)
    ignored = _ignored(lists.settings)
    no_fact = ignored[ignored.searchsorted(index.words)] == index.words
    chosen = np.flatnonzero(~no_fact & ~in_number[index.starts])
    claim_of = np.searchsorted(bases, index.starts[chosen], side="right") - 1
    base = np.array(bases)[claim_of]
    words, hashes = index.words.tolist(), index.words[chosen].tolist()
    starts, ends = (index.starts[chosen] - base).tolist(), (index.ends[chosen] - base).tolist()
    edges = np.searchsorted(index.starts, bases).tolist()
    content = np.searchsorted(claim_of, np.arange(len(bases))).tolist()
    ready: dict[str, Claim] = {}
    for position, text in enumerate(distinct):
        first, last = content[position], content[position + 1]
        ready[text] = Claim(
            text,
            openings[position],
            hashes[first:last],
            starts[first:last],
            ends[first:last],
            numbers[position],
            words[edges[position] : edges[position + 1]],
        )
    return [ready[text] for text in texts]


def _opening(claim: str, lists: WordLists) -> int:
    """Where a claim begins behind `in addition, the report says that`."""
    comma = _FIRST_COMMA.search(claim, 0, _LONGEST_CONNECTIVE)
    tied = comma is not None and claim[: comma.start()].lstrip(' "“*_').lower() in lists.connectives
    start = comma.end() if comma and tied else 0
    frame = _FRAME.match(claim, start)
    return frame.end() if frame else start


@lru_cache(maxsize=4096)
def _inflected(word: str) -> tuple[int, ...]:
    """Hashes of the regular inflections of a word."""
    return tuple(WordIndex.build(" ".join(_inflections(word))).words.tolist())


def _inflections(word: str) -> tuple[str, ...]:
    """Plural, third person and participles of a regular English word, or the words it may be one of."""
    stem = word
    for ending in ("ing", "ed", "es", "s"):
        if word.endswith(ending) and len(word) - len(ending) > 2:
            stem = word[: -len(ending)]
            break
    bases = (stem, f"{stem}e") if stem != word or word[-1] != "e" else (word[:-1], word)
    forms = dict.fromkeys(f"{base}{end}" for base in bases for end in ("", "s", "ed", "ing", "es"))
    return tuple(form for form in forms if form != word)


def _refused_at_once(pair: Pair, claim: Claim, rules: TriageSettings) -> str | None:
    """The guard that refuses a claim whatever its source says."""
    if pair.strong and (rules.strong == "always-read" or not claim.numbers):
        return "strong"
    if not claim.hashes or len(claim.hashes) + len(claim.numbers) < rules.min_words:
        return "too-few-words"
    if _PRONOUN.match(claim.text, claim.opening):
        return "pronoun"
    connector = _CONNECTOR.match(claim.text) if pair.scope == "clause" else None
    if connector and not connector.group("next")[0].isupper() and connector.group("next").lower() not in _DETERMINERS:
        return "elliptical-clause"
    return None


@dataclass(frozen=True, slots=True)
class _Held:
    """Where the content words of some claims stand in one source: hashes and code-point places in order; counts."""

    evidence: Evidence
    words: list[int]
    places: list[int]
    counts: Counter[int]

    @classmethod
    def of(cls, evidence: Evidence, claims: Sequence[Claim], table: NDArray[np.bool_]) -> _Held:
        """One pass over the word index. `table` is scratch space of 65,536 flags, all false before and after."""
        index = evidence.body.index
        wanted = {word for claim in claims for word in claim.hashes}
        keys = np.array([word & 0xFFFF for word in wanted], dtype=np.uint16)
        table[keys] = True
        hits = table.take(index.words.astype(np.uint16)).nonzero()[0]
        table[keys] = False
        words = index.words[hits].tolist()
        return cls(evidence, words, index.starts[hits].tolist(), Counter(words))

    def place(self, claim: Claim, lists: WordLists) -> Span | str:
        """The span of the first place that holds the whole claim, or the guard that refused the last one read."""
        counts, held = self.counts, self
        missing = [word for word in claim.hashes if word not in counts]
        may_add = claim.may_add(lists)
        if missing and len(set(missing)) <= _MOST_INFLECTED:
            held = self._with_inflected(claim, set(missing))
            counts = held.counts
            missing = [word for word in missing if word not in counts]
        if missing and (len(set(missing)) > may_add or len(missing) == len(claim.hashes)):
            return missing_words(claim, counts, lists)
        return held._read(claim, may_add, lists)

    def _read(self, claim: Claim, may_add: int, lists: WordLists) -> Span | str:
        """Read the places around the claim's rarest word: sentences, then two neighbouring ones for a long claim."""
        text, counts = self.evidence.body.text, self.counts
        rarest = min([(counts[word], word) for word in claim.hashes if word in counts])[1]
        refused, reach = "scattered", -1
        sentences: list[tuple[int, int]] = []
        for anchor in self._places_of(rarest)[: lists.settings.places]:
            if anchor < reach:
                continue
            start, reach = _sentence(text, anchor)
            sentences.append((start, reach))
            found = self._judged(claim, start, reach, may_add, lists)
            if isinstance(found, Span):
                return found
            refused = found or refused
        if refused == "scattered" and len(claim.hashes) + len(claim.numbers) >= lists.settings.window_words:
            for start, end in _with_neighbours(text, sentences):
                found = self._judged(claim, start, end, may_add, lists, ordered=True)
                if isinstance(found, Span):
                    return found
        return refused

    def _judged(
        self, claim: Claim, start: int, end: int, may_add: int, lists: WordLists, *, ordered: bool = False
    ) -> Span | str | None:
        """The span of a place that passes the claim, or the guard that refused it; None if words are missing there.

        `ordered`: a place whose words stand in another order counts as one in which words are missing.
        """
        inside = self._inside(claim, start, end)
        if not all(inside.values()) and sum([not inside[word] for word in claim.hashes]) > may_add:
            return None
        body = self.evidence.body
        index = body.index
        first = bisect_left(index.starts, start)
        last = bisect_left(index.starts, end, first, min(first + end - start, len(index)))
        place = Place(body.text[start:end], index.words[first:last].tolist(), inside)
        if ordered and not keeps_order(claim, place):
            return None
        guard = refused_by(claim, place, lists)
        if guard is None:
            return Span(self.evidence.source.source_key, body.sha256, start, end, place.text)
        return guard

    def _places_of(self, word: int) -> list[int]:
        if self.counts[word] == 1:
            return [self.places[self.words.index(word)]]
        return [at for held, at in zip(self.words, self.places, strict=True) if held == word]

    def _inside(self, claim: Claim, start: int, end: int) -> dict[int, list[int]]:
        """Where each content word of the claim stands in a range, relative to its start."""
        inside: dict[int, list[int]] = {word: [] for word in claim.hashes}
        first = bisect_left(self.places, start)
        last = bisect_left(self.places, end, first)
        for word, at in zip(self.words[first:last], self.places[first:last], strict=True):
            if word in inside:
                inside[word].append(at - start)
        return inside

    def _with_inflected(self, claim: Claim, missing: set[int]) -> _Held:
        """The same with regular inflections of the few words that the source lacks under the words' own hashes."""
        lacking = {
            word: claim.text[start:end]
            for word, start, end in zip(claim.hashes, claim.starts, claim.ends, strict=True)
            if word in missing
        }
        if not all(len(written) > 3 and written.isascii() and written.islower() for written in lacking.values()):
            return self
        index = self.evidence.body.index
        found = [
            (at, word)
            for word, written in lacking.items()
            for at in index.starts[np.isin(index.words, np.array(_inflected(written), dtype=np.uint64))].tolist()
        ]
        if not found:
            return self
        both = sorted([*zip(self.places, self.words, strict=True), *found])
        words = [word for _, word in both]
        return _Held(self.evidence, words, [at for at, _ in both], Counter(words))


def _with_neighbours(text: str, sentences: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Each sentence with the one behind it, and with the one before it."""
    for start, end in sentences:
        behind = end + len(text[end : end + _GAP]) - len(text[end : end + _GAP].lstrip())
        if start < end <= behind < len(text):
            yield start, _sentence(text, behind)[1]
        before = start - 1 - len(text[max(0, start - _GAP) : start]) + len(text[max(0, start - _GAP) : start].rstrip())
        if 0 <= before < start < end and (first := _sentence(text, before)[0]) < start:
            yield first, end


def _ends_sentence(text: str, mark: re.Match[str]) -> bool:
    start, before = mark.start(), max(0, mark.start() - 7)
    if text[start] != ".":
        return True
    if text[start + 2 : start + 3].isdigit() and _MONTH.search(text, before, start):
        return False
    return not _ABBREVIATION.search(text, before, start)


def _sentence(text: str, at: int) -> tuple[int, int]:
    """The stretch between sentence marks around a place; where it is unclear whether a mark ends one, it does.

    An empty stretch where no mark stands within reach.
    """
    left = -1
    for reach in (_REACH // 3, _REACH):
        start = max(0, at - reach)
        marks = list(_EDGE.finditer(text, start, at))
        left = next((mark.end() for mark in reversed(marks) if _ends_sentence(text, mark)), 0 if start == 0 else -1)
        if left >= 0:
            break
    end = min(len(text), at + _REACH)
    right = end if end == len(text) else -1
    for after in _EDGE.finditer(text, at, end):
        if _ends_sentence(text, after):
            mark = after[0]
            right = after.start() if mark[0] in "\n|" else after.start() + len(mark.rstrip())
            break
    if left < 0 or right < 0:
        return at, at
    piece = text[left:right]
    return left + len(piece) - len(piece.lstrip()), left + len(piece.rstrip())
