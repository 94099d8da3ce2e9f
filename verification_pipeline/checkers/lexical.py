"""A plain lexical grader: how much of the claim stands together in one passage of the source. It is no model.

It weighs the claim's words found in the best passage, refuses `supported` while a figure of the claim is missing
there, and abstains where passage and claim differ in negation, which overlap cannot judge. It works with no key
and no network; what it cannot see is stated in the README.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from verification_pipeline.checkers.protocol import Item, Judgement, NotChecked, Outcome, Passage, Retriever
from verification_pipeline.config import Lexical
from verification_pipeline.keys import hash_of
from verification_pipeline.shards import engine
from verification_pipeline.text.index import WordIndex

MODEL = "word-overlap-1"


@dataclass(frozen=True, slots=True)
class LexicalChecker:
    """Grades by word overlap; thresholds in settings."""

    rules: Lexical
    name: str = "lexical"

    @property
    def identity(self) -> str:
        """Moves with the thresholds and with the code that applies them."""
        return hash_of(self.rules.model_dump_json(), engine("checkers/lexical", "checkers/retrieval"))

    def check(self, items: Sequence[Item], retriever: Retriever) -> list[Outcome]:
        """One outcome an item."""
        return [self._outcome(item, retriever) for item in items]

    def _outcome(self, item: Item, retriever: Retriever) -> Outcome:
        claim = item.pair.claim
        found = retriever.passages(claim, item.evidence, 1)
        best = found[0] if found else None
        if best is not None and best.score >= self.rules.partial_share:
            return self._against(item, best)
        other = next(iter(retriever.elsewhere(item, 1)), None)
        if other is not None and other.score >= self.rules.supported_share and not self._doubts(claim, other):
            return Judgement(
                item.pair.pair_id,
                "wrong-source",
                f"The cited source lacks the claim; {other.score:.0%} of its words stand together in another source.",
                other.span,
                correct_source_key=other.span.source_key,
                confidence=other.score,
                model=MODEL,
            )
        share = best.score if best else 0.0
        return Judgement(
            item.pair.pair_id,
            "unsupported",
            f"No passage of the source holds more than {share:.0%} of the claim's words.",
            confidence=1 - share,
            model=MODEL,
        )

    def _against(self, item: Item, best: Passage) -> Outcome:
        pair_id = item.pair.pair_id
        doubts = self._doubts(item.pair.claim, best)
        if doubts == "negation":
            return NotChecked(pair_id, "low-confidence", best.score)
        if best.score >= self.rules.supported_share and not doubts:
            reason = f"{best.score:.0%} of the claim's words stand together in one passage, its figures among them."
            return Judgement(pair_id, "supported", reason, best.span, confidence=best.score, model=MODEL)
        lack = f"the figure {doubts} is not in it" if doubts else "the rest is not in it"
        reason = f"The best passage holds {best.score:.0%} of the claim's words; {lack}."
        return Judgement(pair_id, "partially-supported", reason, best.span, confidence=best.score, model=MODEL)

    def _doubts(self, claim: str, passage: Passage) -> str | None:
        """A figure that the passage lacks, or `negation` when claim and passage differ in it."""
        said, read = WordIndex.build(claim), WordIndex.build(passage.span.text)
        for start, end in zip(said.starts.tolist(), said.ends.tolist(), strict=True):
            word = claim[start:end]
            if any(character.isdigit() for character in word) and WordIndex.build(word).words[0] not in read.words:
                return word
        negations = WordIndex.build(" ".join(self.rules.negations)).words
        return "negation" if np.isin(negations, said.words).any() != np.isin(negations, read.words).any() else None
