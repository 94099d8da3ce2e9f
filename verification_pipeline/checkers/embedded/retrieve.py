"""Where in a source a claim could stand: which of its words each sentence holds, the best windows, the evidence.

It ranks sentences and picks a few; whether they support the claim is for `features` and `model`.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from verification_pipeline.checkers.embedded.lexicon import U32, Lexicon, related
from verification_pipeline.checkers.embedded.views import F32, ClaimView, SourceView
from verification_pipeline.text.index import U64

MOST_SENTENCES = 5
"""Sentences of the evidence, at most."""
WORTH = 0.03
"""A further sentence of the evidence must hold at least this weighted share of the claim."""
WINDOW, PASSAGE, LONGER = 3, 5, 0.01
"""Sentences of the window and of the passage at most; by how much a longer passage must score above a shorter one."""
SINGLE, TOGETHER, CLOSE = 0.5, 0.5, 4
"""What the best single sentence of a passage counts for, and neighbouring words of the claim that stand together there;
within how many words that is."""
STEM_SHARE, SYNONYM_SHARE = np.float32(0.9), np.float32(0.7)
"""What another form of a word, and another word of the same meaning, count for."""


@dataclass(frozen=True, slots=True)
class Found:
    """A claim held against a source.

    `held`: for each claim word (row) and each candidate sentence (column), how well the sentence holds it: 1 the
    word, 0.9 a form of it, 0.7 a synonym, 0 not. `candidates`: numbers of those sentences, rising. `in_page`: the
    same over the whole source. `window`: first and last sentence of the best run of up to three. `passage`: those of
    the run of up to five that people are shown, where the claim's words also stand close together. `evidence`: the
    chosen sentences, best first. `share`: weighted share of the claim in the window. `together`: for each candidate,
    the share of the claim's neighbouring content words that stand in it in the same order and close together.
    """

    held: F32
    candidates: NDArray[np.int64]
    in_page: F32
    window: tuple[int, int]
    passage: tuple[int, int]
    evidence: tuple[int, ...]
    share: float
    together: F32

    def columns(self, sentences: range | tuple[int, ...]) -> F32:
        """How well these sentences together hold each word."""
        at = np.isin(self.candidates, np.fromiter(sentences, dtype=np.int64))
        best: F32 = self.held[:, at].max(axis=1, initial=0.0)
        return best


def find(claim: ClaimView, source: SourceView, lexicon: Lexicon) -> Found:
    """Hold a claim against every sentence of a source.

    Sentences are ranked by words that are rare in the source as well as in general; shares are by general rarity, so
    that they mean the same in a short and a long source.
    """
    held, candidates, in_page = _held(claim, source, lexicon)
    together = _together(claim, source, candidates)
    weights = claim.weights / max(float(claim.weights.sum()), 1e-9)
    sentences = np.maximum((held > 0).sum(axis=1), 1)
    ranks = claim.weights * np.log1p(source.count / sentences).astype(np.float32)
    ranks /= max(float(ranks.sum()), 1e-9)
    window, passage = _window(held, candidates, ranks), _passage(held, candidates, ranks, together)
    found = Found(held, candidates, in_page, window, passage, _greedy(held, candidates, ranks), 0.0, together)
    return replace(found, share=float(weights @ found.columns(range(window[0], window[1] + 1))))


def _held(claim: ClaimView, source: SourceView, lexicon: Lexicon) -> tuple[F32, NDArray[np.int64], F32]:
    size = len(claim)
    exact = _matches(claim.index.words, source.index.words)
    stem = _matches(claim.stems, source.stems)
    owner, others = related(lexicon.synonyms, claim.index.words)
    rows, positions = _matches(others, source.short)
    alike = owner[rows], positions
    touched = np.unique(source.sentence_of[np.concatenate([exact[1], stem[1], alike[1]])])
    if not size or not len(touched):
        return np.zeros((size, 1), np.float32), np.zeros(1, np.int64), np.zeros(size, np.float32)
    held = np.zeros((size, len(touched)), np.float32)
    for (rows, positions), value in ((alike, SYNONYM_SHARE), (stem, STEM_SHARE), (exact, np.float32(1))):
        held[rows, np.searchsorted(touched, source.sentence_of[positions])] = value
    return held, touched, held.max(axis=1)


def _matches(claim: U64 | U32, source: U64 | U32) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Every (claim word, source word) of one hash, as positions; each claim word once per source word."""
    wanted, inverse = np.unique(claim, return_inverse=True)
    if not len(wanted):
        return np.empty(0, np.int64), np.empty(0, np.int64)
    at = np.minimum(np.searchsorted(wanted, source), len(wanted) - 1)
    positions = np.flatnonzero(wanted[at] == source)
    which = at[positions]
    members = [np.flatnonzero(inverse == k) for k in range(len(wanted))]
    counts = np.array([len(member) for member in members])
    rows = np.concatenate([members[k] for k in which]) if len(which) else np.empty(0, np.int64)
    return rows.astype(np.int64), np.repeat(positions, counts[which])


def _greedy(held: F32, candidates: NDArray[np.int64], weights: F32) -> tuple[int, ...]:
    """Sentences that together hold most of the claim, each adding something; best first."""
    covered = np.zeros(len(weights), np.float32)
    chosen: list[int] = []
    for _ in range(MOST_SENTENCES):
        gains = weights @ np.maximum(held - covered[:, None], 0)
        best = int(np.argmax(gains))
        if chosen and gains[best] < WORTH:
            break
        chosen.append(int(candidates[best]))
        covered = np.maximum(covered, held[:, best])
    return tuple(chosen)


def _together(claim: ClaimView, source: SourceView, candidates: NDArray[np.int64]) -> F32:
    """`Found.together`."""
    out = np.zeros(len(candidates), np.float32)
    stems = claim.stems[claim.content]
    places = [np.flatnonzero(source.stems == stem) for stem in stems]
    for before, after in itertools.pairwise(places):
        if len(before) and len(after):
            following = after[np.minimum(np.searchsorted(after, before, side="right"), len(after) - 1)]
            near = (following > before) & (following - before <= CLOSE)
            sentence = source.sentence_of[before[near]]
            same = np.unique(sentence[sentence == source.sentence_of[following[near]]])
            out[np.searchsorted(candidates, same)] += 1
    return out / np.float32(max(len(places) - 1, 1))


def _window(held: F32, candidates: NDArray[np.int64], weights: F32) -> tuple[int, int]:
    """The run of neighbouring sentences with the highest share, a longer one only if it adds enough."""
    best, window = -1.0, (int(candidates[0]), int(candidates[0]))
    for length in range(1, WINDOW + 1):
        score, first, last = best_run(held, candidates, weights, length)
        if score > best + (WORTH if length > 1 else 0):
            best, window = score, (first, last)
    return window


def _passage(held: F32, candidates: NDArray[np.int64], weights: F32, together: F32) -> tuple[int, int]:
    """The run of neighbouring sentences that scores best when closeness counts too."""
    best, passage = -1.0, (int(candidates[0]), int(candidates[0]))
    alone = np.stack([SINGLE * (weights @ held), TOGETHER * together]).astype(np.float32)
    for length in range(1, PASSAGE + 1):
        joined, reach = _runs(held, candidates, length)
        scores = weights @ joined + _runs(alone, candidates, length)[0].sum(axis=0)
        at = int(np.argmax(scores))
        if scores[at] > best + (LONGER if length > 1 else 0):
            best, passage = float(scores[at]), (int(candidates[at]), int(reach[at]))
    return passage


def _runs(values: F32, candidates: NDArray[np.int64], length: int) -> tuple[F32, NDArray[np.int64]]:
    """Greatest values over the run of at most `length` neighbouring sentences from each on, and its last sentence."""
    joined, reach = values.copy(), candidates.copy()
    for step in range(1, min(length, len(candidates))):
        near = candidates[step:] - candidates[:-step] < length
        np.maximum(joined[:, :-step], values[:, step:] * near, out=joined[:, :-step])
        reach[:-step] = np.where(near, candidates[step:], reach[:-step])
    return joined, reach


def best_run(held: F32, candidates: NDArray[np.int64], weights: F32, length: int) -> tuple[float, int, int]:
    """(weighted share, first, last sentence) of the best run of at most `length` neighbouring sentences."""
    joined, reach = _runs(held, candidates, length)
    scores = weights @ joined
    best = int(np.argmax(scores))
    return float(scores[best]), int(candidates[best]), int(reach[best])
