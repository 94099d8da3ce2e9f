"""Passages of a source by the word index: where the rarest words of a claim stand closest together.

Used to show a model the relevant part of a long source, to place the evidence of the lexical grader, and to look
for a claim in a document's other sources. It ranks; it never judges.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from verification_pipeline.checkers.protocol import Item, Passage
from verification_pipeline.records import Evidence
from verification_pipeline.tables import Span
from verification_pipeline.text.index import WordIndex

_SENTENCE_END = re.compile(r"[.!?…][\"'”’)\]]*\s|[。！？]|\n\s*\n|\n")
_REACH = 400
"""Code points by which a passage may grow on either side to end at a sentence's end."""


@dataclass(frozen=True, slots=True)
class WordRetriever:
    """Retrieval by words. `window_words` is the length within which the words of a claim count as together."""

    window_words: int = 45

    def passages(self, claim: str, evidence: Evidence, limit: int) -> list[Passage]:
        """The best windows of one source, disjoint, best first."""
        return best_windows(claim, evidence, self.window_words, limit)

    def elsewhere(self, item: Item, limit: int) -> list[Passage]:
        """The best window of each other source of the document, best first; ties by source key."""
        found = [
            passage
            for key, other in sorted(item.own.items())
            if key != item.evidence.source.source_key
            for passage in self.passages(item.pair.claim, other, 1)
        ]
        return sorted(found, key=lambda passage: -passage.score)[:limit]


def best_windows(claim: str, evidence: Evidence, window_words: int, limit: int) -> list[Passage]:
    """Disjoint windows of a source by the weighted share of the claim's distinct words that they hold.

    A word weighs log(1 + length / occurrences): what stands everywhere in the source counts little. A word that
    the source lacks weighs as if it stood there once. Linear in the source's words.
    """
    index = evidence.body.index
    wanted = np.unique(WordIndex.build(claim).words)
    if not len(wanted) or not len(index):
        return []
    at = np.flatnonzero(np.isin(index.words, wanted))
    which = np.searchsorted(wanted, index.words[at])
    occurrences = np.bincount(which, minlength=len(wanted))
    weights = np.log1p(len(index) / np.maximum(occurrences, 1))
    total = float(weights.sum())
    windows = _scored(at.tolist(), which.tolist(), weights.tolist(), window_words)
    chosen: list[tuple[float, int, int]] = []
    for score, first, last in sorted(windows, key=lambda window: (-window[0], window[1])):
        if all(last < other_first or first > other_last for _, other_first, other_last in chosen):
            chosen.append((score, first, last))
            if len(chosen) == limit:
                break
    return [Passage(_span(evidence, index, first, last), min(1.0, score / total)) for score, first, last in chosen]


def _scored(at: list[int], which: list[int], weights: list[float], window: int) -> list[tuple[float, int, int]]:
    """(weight of distinct words, first word, last word) of the window that starts at each hit."""
    found: list[tuple[float, int, int]] = []
    counts = [0] * len(weights)
    score = 0.0
    end = 0
    for start, position in enumerate(at):
        while end < len(at) and at[end] < position + window:
            counts[which[end]] += 1
            if counts[which[end]] == 1:
                score += weights[which[end]]
            end += 1
        found.append((score, position, at[end - 1]))
        counts[which[start]] -= 1
        if counts[which[start]] == 0:
            score -= weights[which[start]]
    return found


def _span(evidence: Evidence, index: WordIndex, first: int, last: int) -> Span:
    """The window grown to whole sentences, where their ends are near."""
    text = evidence.body.text
    start, end = int(index.starts[first]), int(index.ends[last])
    before = [match.end() for match in _SENTENCE_END.finditer(text, max(0, start - _REACH), start)]
    start = before[-1] if before else (0 if start <= _REACH else start)
    after = _SENTENCE_END.search(text, max(start, end - 1), min(len(text), end + _REACH))
    end = after.end() if after else (len(text) if len(text) - end <= _REACH else end)
    chosen = text[start:end]
    start += len(chosen) - len(chosen.lstrip())
    end -= len(chosen) - len(chosen.rstrip())
    return Span(evidence.source.source_key, evidence.body.sha256, start, end, text[start:end])
