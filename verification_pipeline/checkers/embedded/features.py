"""What is measured when a claim is held against a source: about a hundred figures that overlap can give, by name.

Each figure is about the claim as a whole, its clauses, its figures and names, or the one sentence that comes nearest.
What does not apply (the numbers of a claim without numbers) reads as nothing missing.
"""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from rapidfuzz import fuzz
from rapidfuzz.distance import Levenshtein

from verification_pipeline.checkers.embedded.lexicon import U32, Lexicon, related, short
from verification_pipeline.checkers.embedded.retrieve import CLOSE, STEM_SHARE, Found, best_run
from verification_pipeline.checkers.embedded.views import F32, ClaimView, SourceView
from verification_pipeline.text.index import WordIndex
from verification_pipeline.text.numbers import Number

NEAR, REACH = 5, 9
"""Words on either side of a number or name that say what it is about, in the claim and in the source."""

_HEDGES = (
    "may might could possibly perhaps likely probably suggests suggest appear appears seem seems potentially"
    " approximately about around nearly almost some often sometimes usually generally mostly mainly partly"
)
_ABSOLUTES = (
    "all every always only none never entirely completely fully exclusively must proves proven proof definitely"
    " certainly any each solely first best most"
)
_CAUSES = "cause causes caused causing because due lead leads led result results resulted"
_HEDGE_WORDS, _ABSOLUTE_WORDS, _CAUSE_WORDS = (
    np.unique(WordIndex.build(words).words) for words in (_HEDGES, _ABSOLUTES, _CAUSES)
)


@dataclass(frozen=True)
class Measured:
    """A claim held against a source, with what features, guards and rationale all look at."""

    claim: ClaimView
    source: SourceView
    found: Found
    lexicon: Lexicon
    negations: NDArray[np.uint64]

    @cached_property
    def share(self) -> F32:
        """The weight of each word, summing to 1."""
        return self.claim.weights / max(float(self.claim.weights.sum()), 1e-9)

    @cached_property
    def in_window(self) -> F32:
        """How well the best window holds each word."""
        return self.found.columns(range(self.found.window[0], self.found.window[1] + 1))

    @cached_property
    def in_passage(self) -> F32:
        """How well the passage that people are shown holds each word."""
        return self.found.columns(range(self.found.passage[0], self.found.passage[1] + 1))

    @cached_property
    def in_evidence(self) -> F32:
        """How well the chosen sentences together hold each word."""
        return self.found.columns(self.found.evidence)

    @cached_property
    def near_sentences(self) -> tuple[int, ...]:
        """Evidence and window, in text order."""
        return tuple(sorted({*self.found.evidence, *range(self.found.window[0], self.found.window[1] + 1)}))

    @cached_property
    def figures(self) -> tuple[tuple[Number, float, float], ...]:
        """Each number of the claim, where it stands: (number, in the evidence, its company there).

        The first is 1 where evidence or window hold the same quantity, 0.5 where they hold the same digits in another
        role (another unit, half of a range), else 0. The second is `company` of the number's words.
        """
        read = [(sentence, number) for sentence in self.near_sentences for number in self.source.numbers(sentence)]
        out = []
        for number, (first, last) in zip(self.claim.numbers, self.claim.number_words, strict=True):
            same = [sentence for sentence, other in read if number.same_quantity(other)]
            alike = any(number.value == other.value and number.key == other.key for _, other in read)
            alike = alike or bool(last > first and self.in_evidence[first:last].min(initial=1.0) == 1.0)
            there = 1.0 if same else 0.5 if alike else 0.0
            out.append((number, there, self.company(first, last, np.isin(self.found.candidates, same))))
        return tuple(out)

    def company(self, first: int, last: int, also: NDArray[np.bool_] | None = None) -> float:
        """Best share of the neighbouring claim words found within a sentence of the words [first, last).

        `also`: candidate sentences that say the same in other words.
        """
        if last <= first:
            return 0.0
        near = np.r_[max(0, first - NEAR) : first, last : min(len(self.claim), last + NEAR)]
        near = near[self.claim.content[near]] if len(near) else near
        if not len(near):
            return 1.0
        holds = self.found.held[first:last].min(axis=0) >= STEM_SHARE
        if also is not None:
            holds |= also
        if not holds.any():
            return 0.0
        held = _widened(self.found.held[near][:, :], self.found.candidates)[:, holds]
        weights = self.claim.weights[near]
        return float((weights[:, None] * held).sum(axis=0).max() / weights.sum())

    @cached_property
    def nearest(self) -> int:
        """The single sentence that holds most of the claim."""
        return int(self.found.candidates[int(np.argmax(self.share @ self.found.held))])

    def words_of(self, sentences: tuple[int, ...] | range) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
        """Word and stem hashes of some sentences, in text order."""
        bounds = self.source.word_bounds
        rows = np.concatenate([np.arange(bounds[k], bounds[k + 1]) for k in sentences]).astype(np.int64)
        return self.source.index.words[rows], self.source.stems[rows]

    @cached_property
    def opposed(self) -> tuple[int, ...]:
        """Positions of claim words that the nearest sentences lack but whose opposite they hold."""
        return self._opposed(self.lexicon.opposites)

    @cached_property
    def far_opposed(self) -> tuple[int, ...]:
        """The same by opposites of synonyms: a hint, no more."""
        return self._opposed(self.lexicon.far_opposites)

    def _opposed(self, table: U32) -> tuple[int, ...]:
        words = short(self.words_of(self.near_sentences)[0])
        owner, opposites = related(table, self.claim.index.words)
        hit = np.isin(opposites, words) & ~np.isin(opposites, short(self.claim.index.words))
        rows = np.unique(owner[hit])
        return tuple(int(k) for k in rows if self.in_evidence[k] < 0.9 and self.in_window[k] < 0.9)

    def sided(self, first: int, last: int, reach: int = REACH) -> float:
        """Whether what stands before and after the words [first, last) in the claim does so in the source too.

        The nearest content words on either side are looked for within `reach` words of the place where the source
        holds the words; the best place counts. 1 both sides, 0.5 one, 0 neither.
        """
        content = np.flatnonzero(self.claim.content)
        left, right = content[content < first][-1:], content[content >= last][:1]
        anchors = np.flatnonzero(self.source.stems == self.claim.stems[first])
        sides = [(word, sign) for word, sign in ((left, -1), (right, 1)) if len(word)]
        if not len(anchors) or not sides:
            return 0.0 if sides else 1.0
        score = np.zeros(len(anchors))
        for word, sign in sides:
            places = np.flatnonzero(self.source.stems == self.claim.stems[word[0]])
            if len(places):
                at = np.searchsorted(places, anchors, side="right" if sign > 0 else "left")
                near = places[np.clip(at if sign > 0 else at - 1, 0, len(places) - 1)]
                gap = (near - anchors) * sign
                score += (gap > 0) & (gap <= reach)
        return float(score.max() / len(sides))

    @cached_property
    def reversed(self) -> float:
        """Share of the pairs of neighbouring names and figures that the nearest sentence holds the other way round."""
        _, stems = self.words_of((self.nearest,))
        marks = self.claim.names.copy()
        for first, last in self.claim.number_words:
            marks[first:last] = True
        places = [np.flatnonzero(stems == self.claim.stems[k]) for k in np.flatnonzero(marks)]
        pairs = [(a, b) for a, b in itertools.pairwise(places) if len(a) and len(b)]
        turned = [a.min() > b.max() for a, b in pairs]
        return float(np.mean(turned)) if turned else 0.0

    @cached_property
    def swaps(self) -> tuple[tuple[str, int, int, int, int], ...]:
        """How the claim's words become those of the nearest sentence: rapidfuzz operations on stems."""
        _, stems = self.words_of((self.nearest,))
        steps = Levenshtein.opcodes(self.claim.stems.tolist(), stems.tolist())
        return tuple((s.tag, s.src_start, s.src_end, s.dest_start, s.dest_end) for s in steps)

    def counts(self, table: NDArray[np.uint64]) -> tuple[int, int, int]:
        """How many words of a table the claim, the nearest sentence and the window hold."""
        near, _ = self.words_of((self.nearest,))
        window, _ = self.words_of(range(self.found.window[0], self.found.window[1] + 1))
        return tuple(int(np.isin(words, table).sum()) for words in (self.claim.index.words, near, window))  # type: ignore[return-value]


def _widened(held: F32, candidates: NDArray[np.int64]) -> F32:
    """The same with each sentence also holding what its two neighbours hold."""
    out = held.copy()
    if held.shape[1] > 1:
        touch = np.diff(candidates) == 1
        np.maximum(out[:, 1:], held[:, :-1] * touch, out=out[:, 1:])
        np.maximum(out[:, :-1], held[:, 1:] * touch, out=out[:, :-1])
    return out


def features(measured: Measured) -> dict[str, float]:
    """All figures of one claim and source, by name, always in the same order."""
    out: dict[str, float] = {}
    _overlap(measured, out)
    _missing(measured, out)
    _clauses(measured, out)
    _figures(measured, out)
    _names(measured, out)
    _wording(measured, out)
    _nearest(measured, out)
    _sizes(measured, out)
    return out


def _overlap(m: Measured, out: dict[str, float]) -> None:
    content = np.where(m.claim.content, m.claim.weights, 0)
    content = content / max(float(content.sum()), 1e-9)
    for name, held in (("page", m.found.in_page), ("window", m.in_window), ("evidence", m.in_evidence)):
        out[f"{name}_share"] = float(m.share @ held)
        out[f"{name}_exact"] = float(content @ (held >= 1))
        out[f"{name}_words"] = float((held > 0).mean()) if len(held) else 0.0
    for length in (1, 2, 3, 5):
        out[f"run_{length}"] = best_run(m.found.held, m.found.candidates, m.share, length)[0]
    near = np.isin(m.found.candidates, range(m.found.window[0], m.found.window[1] + 1))
    out["together_window"] = float(m.found.together[near].max(initial=0))
    out["together_best"] = float(m.found.together.max(initial=0))
    out["gain_window"] = out["evidence_share"] - out["run_1"]
    out["gain_page"] = out["page_share"] - out["evidence_share"]
    scores = np.sort(m.share @ m.found.held)[::-1]
    out["second"] = float(scores[1]) if len(scores) > 1 else 0.0
    out["evidence_count"] = float(len(m.found.evidence))
    spread = max(m.found.evidence) - min(m.found.evidence)
    out["evidence_spread"] = float(np.log1p(spread))


def _missing(m: Measured, out: dict[str, float]) -> None:
    for name, held in (("page", m.found.in_page), ("window", m.in_window), ("evidence", m.in_evidence)):
        lost = np.sort(np.where(held > 0, 0, m.claim.weights))[::-1]
        out[f"{name}_lost_word"] = float(np.where(held >= STEM_SHARE, 0, m.claim.weights).max(initial=0))
        out[f"{name}_lost_1"] = float(lost[0]) if len(lost) else 0.0
        out[f"{name}_lost_2"] = float(lost[1]) if len(lost) > 1 else 0.0
        out[f"{name}_lost_3"] = float(lost[2]) if len(lost) > 2 else 0.0
        out[f"{name}_lost_content"] = float(((held == 0) & m.claim.content).sum())
    out["lost_run"] = float(_longest((m.in_evidence == 0) & m.claim.content))


def _longest(marks: NDArray[np.bool_]) -> int:
    best = now = 0
    for mark in marks.tolist():
        now = now + 1 if mark else 0
        best = max(best, now)
    return best


def _clauses(m: Measured, out: dict[str, float]) -> None:
    shares, joint, lost = [], [], []
    for first, last in m.claim.clauses:
        weights = m.claim.weights[first:last]
        total = max(float(weights.sum()), 1e-9)
        shares.append(float((weights @ m.found.held[first:last]).max() / total))
        joint.append(float(weights @ m.in_evidence[first:last] / total))
        lost.append(float(np.where(m.in_evidence[first:last] > 0, 0, weights).max(initial=0)))
    out["clauses"] = float(len(m.claim.clauses))
    out["clause_min"] = min(shares, default=0.0)
    out["clause_mean"] = float(np.mean(shares)) if shares else 0.0
    out["clause_joint_min"] = min(joint, default=0.0)
    out["clause_lost_max"] = max(lost, default=0.0)
    out["clause_last"] = joint[-1] if joint else 0.0


def _figures(m: Measured, out: dict[str, float]) -> None:
    found = m.figures
    out["figures"] = float(len(found))
    present = [there for _, there, _ in found]
    company = [share for _, there, share in found if there]
    out["figures_missing"] = float(sum(there == 0 for there in present))
    out["figures_alike"] = float(sum(there == 0.5 for there in present))
    out["figures_share"] = float(np.mean(present)) if found else 1.0
    out["figures_company_min"] = min(company, default=1.0)
    out["figures_company_mean"] = float(np.mean(company)) if company else 1.0
    sided = [m.sided(a, b) for a, b in m.claim.number_words if b > a]
    close = [m.sided(a, b, CLOSE) for a, b in m.claim.number_words if b > a]
    out["figures_close_min"] = min(close, default=1.0)
    out["figures_sided_min"] = min(sided, default=1.0)
    out["figures_sided_mean"] = float(np.mean(sided)) if sided else 1.0
    out["years_missing"] = float(sum(there == 0 for number, there, _ in found if number.kind == "year"))
    out["months_missing"] = float((m.claim.months & (m.in_evidence == 0)).sum())
    digits = np.array([any(c.isdigit() for c in word) for word in m.claim.words], dtype=bool)
    out["digits_missing_page"] = float((digits & (m.found.in_page < 1)).sum())
    out["digits_missing_window"] = float((digits & (m.in_window < 1)).sum())
    read = [number for sentence in m.near_sentences for number in m.source.numbers(sentence)]
    out["figures_read"] = float(np.log1p(len(read)))


def _names(m: Measured, out: dict[str, float]) -> None:
    names = m.claim.names
    out["names"] = float(names.sum())
    for key, held in (("page", m.found.in_page), ("window", m.in_window), ("evidence", m.in_evidence)):
        out[f"names_missing_{key}"] = float((names & (held < STEM_SHARE)).sum())
    company = [m.company(first, last) for first, last in _stretches(names)]
    out["names_company_min"] = min(company, default=1.0)
    out["names_company_mean"] = float(np.mean(company)) if company else 1.0
    sided = [m.sided(first, last) for first, last in _stretches(names)]
    close = [m.sided(first, last, CLOSE) for first, last in _stretches(names)]
    out["names_close_min"] = min(close, default=1.0)
    out["names_reversed"] = m.reversed
    out["names_sided_min"] = min(sided, default=1.0)
    out["names_sided_mean"] = float(np.mean(sided)) if sided else 1.0


def _stretches(marks: NDArray[np.bool_]) -> list[tuple[int, int]]:
    edges = np.flatnonzero(np.diff(np.r_[False, marks, False].astype(np.int8)))
    return list(zip(edges[0::2].tolist(), edges[1::2].tolist(), strict=True))


def _wording(m: Measured, out: dict[str, float]) -> None:
    claim, near, window = m.counts(m.negations)
    out["negations_claim"] = float(claim)
    out["negations_more"] = float(claim - near)
    out["negations_odd"] = float((claim - near) % 2)
    out["negations_window"] = float(claim - window)
    out["opposed"] = float(len(m.opposed))
    out["opposed_weight"] = float(max((m.claim.weights[k] for k in m.opposed), default=0.0))
    out["opposed_far"] = float(len(m.far_opposed))
    for name, table in (("hedges", _HEDGE_WORDS), ("absolutes", _ABSOLUTE_WORDS), ("causes", _CAUSE_WORDS)):
        claim, near, window = m.counts(table)
        out[f"{name}_claim"] = float(claim)
        out[f"{name}_more"] = float(claim - near)
    out["brackets"] = float(m.claim.text.count("("))
    out["quotes"] = float(len(re.findall('["“”«»]', m.claim.text)))


def _nearest(m: Measured, out: dict[str, float]) -> None:
    """The claim beside the nearest sentence: what was kept, put in, left out, put in another's place."""
    weights, content = m.claim.weights, m.claim.content
    near_words, near_stems = m.words_of((m.nearest,))
    near_weights, near_content = m.lexicon.weigh(near_words)
    kept = replaced = replaced_weight = inserted = inside = strange = names = 0.0
    bounds = m.source.word_bounds[m.nearest]
    previous = False
    steps = m.swaps
    for place, (tag, a, b, c, d) in enumerate(steps):
        followed = place + 1 < len(steps) and steps[place + 1][0] == "equal"
        if tag == "equal":
            kept += b - a
        elif tag == "replace":
            lost = weights[a:b][content[a:b]]
            if len(lost) and near_content[c:d].any():
                replaced += len(lost)
                replaced_weight = max(replaced_weight, float(lost.max()))
                inside += previous and followed
                alike = m.in_window[a:b][content[a:b]] > 0
                strange += bool(previous and followed and not alike.all())
                capital = any(m.source.text[m.source.index.starts[bounds + k]].isupper() for k in range(c, d))
                names += bool(capital and m.claim.names[a:b].any())
        elif tag == "delete":
            inserted += float(content[a:b].sum())
        previous = tag == "equal"
    size = max(len(m.claim), 1)
    out["near_kept"] = kept / size
    out["near_replaced"] = replaced
    out["near_replaced_weight"] = replaced_weight
    out["near_replaced_inside"] = float(inside)
    out["near_replaced_strange"] = strange
    out["near_replaced_names"] = names
    out["near_inserted"] = inserted
    out["near_size"] = len(near_words) / size
    out["near_recall_back"] = float(
        near_weights[np.isin(near_stems, m.claim.stems)].sum() / max(float(near_weights.sum()), 1e-9)
    )
    claim_pairs, near_pairs = _pairs(m.claim.stems), _pairs(near_stems)
    window_pairs = _pairs(m.words_of(range(m.found.window[0], m.found.window[1] + 1))[1])
    out["near_pairs"] = float(np.isin(claim_pairs, near_pairs).mean()) if len(claim_pairs) else 0.0
    out["window_pairs"] = float(np.isin(claim_pairs, window_pairs).mean()) if len(claim_pairs) else 0.0
    out["order"] = _order(m.claim.stems, content, near_stems)
    start, end = int(m.source.starts[m.found.window[0]]), int(m.source.ends[m.found.window[1]])
    claim, window = m.claim.text.casefold(), m.source.text[start:end].casefold()[:2000]
    out["fuzz_set"] = fuzz.token_set_ratio(claim, window) / 100
    out["fuzz_sort"] = fuzz.token_sort_ratio(claim, window) / 100
    out["fuzz_partial"] = fuzz.partial_ratio(claim, window) / 100


def _pairs(stems: NDArray[np.uint64]) -> NDArray[np.uint64]:
    return stems[:-1] * np.uint64(3) + stems[1:] if len(stems) > 1 else stems[:0]


def _order(claim: NDArray[np.uint64], content: NDArray[np.bool_], near: NDArray[np.uint64]) -> float:
    """Share of the content-word pairs whose order is that of the sentence; a half below three shared words."""
    order, seen = np.unique(near, return_index=True)
    stems = claim[content]
    at = np.minimum(np.searchsorted(order, stems), max(len(order) - 1, 0))
    hit = order[at] == stems if len(order) else np.zeros(len(stems), bool)
    places = seen[at[hit]]
    if len(places) < 3:
        return 0.5
    later = places[None, :] - places[:, None]
    upper = np.triu_indices(len(places), 1)
    return float((later[upper] > 0).mean())


def _sizes(m: Measured, out: dict[str, float]) -> None:
    out["claim_words"] = float(len(m.claim))
    out["claim_content"] = float(m.claim.content.sum())
    out["claim_rarity"] = float(m.claim.weights.mean()) if len(m.claim) else 0.0
    out["claim_rarest"] = float(m.claim.weights.max(initial=0))


def negation_hashes(words: tuple[str, ...]) -> NDArray[np.uint64]:
    """Word hashes of the words that negate."""
    return np.unique(WordIndex.build(" ".join(words)).words)
