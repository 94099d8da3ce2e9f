"""The embedded checker: finds where a source could hold a claim and judges it, with no key and no network.

    retrieve   which sentences hold which words of the claim
    features   what overlap, figures, names, clauses and word order say
    model      trees over the features, shipped as arrays
    calibration  probabilities                                   guards       what forbids `supported`
    rationale  one line for a person

What it was trained on, how well it does and what it cannot do stands in README.md beside this file.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from verification_pipeline.checkers.embedded.features import Measured, features, negation_hashes
from verification_pipeline.checkers.embedded.guards import Doubt, doubts
from verification_pipeline.checkers.embedded.model import PAPER, Model, shipped
from verification_pipeline.checkers.embedded.rationale import rationale
from verification_pipeline.checkers.embedded.retrieve import find
from verification_pipeline.checkers.embedded.views import ClaimView, SourceView
from verification_pipeline.checkers.protocol import Item, Judgement, NotChecked, Outcome, Retriever, Verdict
from verification_pipeline.config import Embedded
from verification_pipeline.keys import hash_of
from verification_pipeline.records import Evidence
from verification_pipeline.shards import engine
from verification_pipeline.tables import Span

_VIEWS_KEPT = 96
"""Sources whose sentences are kept for the claims that follow."""
AGAINST = 0.2
"""Least share of what is not supported that must be contradicted to say so."""
_AT_ONCE = 512
"""Pairs whose features go through the trees together."""


@dataclass(frozen=True, slots=True)
class Reading:
    """One claim read against one source: what was measured, the probabilities, the doubts.

    `paper`: log-odds, up to a constant, of a citing sentence and its paper (`model.PAPER`).
    """

    measured: Measured
    supported: float
    contradicted: float
    partial: float
    absent: float
    doubts: tuple[Doubt, ...]
    paper: tuple[float, ...]

    @property
    def irrelevant(self) -> bool:
        """Whether the source reads as one about something else."""
        return max(self.paper) == self.paper[PAPER.index("paper_irrelevant")]


@dataclass(frozen=True)
class EmbeddedChecker:
    """Grades with the shipped model; thresholds and languages in settings."""

    rules: Embedded
    name: str = "embedded"
    model: Model = field(default_factory=shipped)

    @property
    def identity(self) -> str:
        """Moves with the settings, the code and the model file."""
        code = engine("checkers/embedded", "text/index", "text/sentences", "text/numbers")
        return hash_of(self.rules.model_dump_json(), code, self.model.version)

    def check(self, items: Sequence[Item], retriever: Retriever) -> list[Outcome]:
        """One outcome an item, in order."""
        outcomes: list[Outcome] = []
        views = Views()
        for start in range(0, len(items), _AT_ONCE):
            outcomes += self._some(items[start : start + _AT_ONCE], retriever, views)
        return outcomes

    def _some(self, items: Sequence[Item], retriever: Retriever, views: Views) -> Iterator[Outcome]:
        known = [item for item in items if self._reads(item)]
        readings = dict(
            zip(
                map(id, known),
                self.read([(item.pair.claim, item.evidence) for item in known], views),
                strict=True,
            )
        )
        elsewhere = self._elsewhere([i for i in known if self._wanting(readings[id(i)])], retriever, views)
        for item in items:
            reading = readings.get(id(item))
            if reading is None:
                reason = "no-text" if self._in_language(item) else "language"
                yield NotChecked(item.pair.pair_id, reason)
            else:
                yield self._outcome(item, reading, elsewhere.get(id(item)))

    def _in_language(self, item: Item) -> bool:
        return item.document.language is None or item.document.language in self.rules.languages

    def _reads(self, item: Item) -> bool:
        return self._in_language(item) and any(map(str.isalnum, item.pair.claim)) and len(item.evidence.body.index) > 0

    def read(self, pairs: Sequence[tuple[str, Evidence]], views: Views | None = None) -> list[Reading]:
        """Measure and score claims against sources, one reading a pair, in order. A claim must hold a word."""
        if not pairs:
            return []
        views = views or Views()
        negations = negation_hashes(self.rules.negations)
        measured = []
        for claim, evidence in pairs:
            said = ClaimView.of(claim, self.model.lexicon, "en")
            source = views.of(evidence)
            measured.append(
                Measured(said, source, find(said, source, self.model.lexicon), self.model.lexicon, negations)
            )
        table = np.array([list(features(one).values()) for one in measured], dtype=np.float32)
        scores = self.model.scores(table)
        p = self.model.calibration(scores)
        return [
            Reading(
                one,
                float(p.supported[k]),
                float(p.contradicted[k]),
                float(p.partial[k]),
                float(p.absent[k]),
                doubts(one, float(scores["intact"][k]), self.rules) if self.rules.guards else (),
                tuple(float(scores[name][k]) for name in PAPER),
            )
            for k, one in enumerate(measured)
        ]

    def _wanting(self, reading: Reading) -> bool:
        return reading.supported < self.rules.elsewhere_below

    def _elsewhere(
        self, items: Sequence[Item], retriever: Retriever, views: Views
    ) -> Mapping[int, tuple[Evidence, Reading]]:
        """For each item that its own source does not support: the other source that does, read in full."""
        asked = [
            (item, item.own[passage.span.source_key])
            for item in items
            for passage in retriever.elsewhere(item, self.rules.elsewhere_sources)
            if passage.score >= self.rules.elsewhere_share
        ]
        best: dict[int, tuple[Evidence, Reading]] = {}
        for (item, evidence), reading in zip(
            asked, self.read([(item.pair.claim, evidence) for item, evidence in asked], views), strict=True
        ):
            if self._clear(reading) and (id(item) not in best or reading.supported > best[id(item)][1].supported):
                best[id(item)] = evidence, reading
        return best

    def _clear(self, reading: Reading) -> bool:
        """Whether this source says it beyond doubt.

        A doubt about the wording alone is set aside where one sentence holds nearly the whole claim: the other words
        of the claim are then how its writer tells what stands there.
        """
        if reading.supported < self.rules.elsewhere_supported:
            return False
        held = float((reading.measured.share @ reading.measured.found.held).max(initial=0.0))
        told = held >= self.rules.elsewhere_retold
        return all(doubt.kind == "wording" and told for doubt in reading.doubts)

    def _outcome(self, item: Item, reading: Reading, other: tuple[Evidence, Reading] | None) -> Outcome:
        pair_id = item.pair.pair_id
        version = f"embedded-{self.model.version}"
        if other is not None:
            evidence, there = other
            share = float(there.measured.share @ there.measured.in_passage)
            why = f"The cited source lacks the claim; a passage of another source holds {share:.0%} of it."
            return Judgement(
                pair_id,
                "wrong-source",
                why,
                _span(evidence, there.measured),
                correct_source_key=evidence.source.source_key,
                confidence=round(there.supported, 4),
                model=version,
            )
        verdict, contradicted, confidence = decide(reading)
        why = rationale(reading.measured, verdict, contradicted, reading.doubts, reading.irrelevant)
        if confidence < self.rules.min_confidence:
            return NotChecked(pair_id, "low-confidence", round(confidence, 4), rationale=why)
        span = _span(item.evidence, reading.measured)
        return Judgement(
            pair_id,
            verdict,
            why,
            span,
            contradicted,
            confidence=round(confidence, 4),
            model=version,
        )


def decide(reading: Reading) -> tuple[Verdict, bool, float]:
    """(verdict, contradicted, confidence in it) from probabilities and doubts.

    Where the probability says supported and a guard says no, nobody knows: the confidence is 0. A contradiction is
    only claimed where a negation or an opposite can be pointed at.
    """
    refused = 1 - reading.supported
    if reading.supported >= 0.5:
        return ("partially-supported", False, 0.0) if reading.doubts else ("supported", False, reading.supported)
    seen = any(doubt.against and doubt.kind in ("negation", "opposite") for doubt in reading.doubts)
    if seen and reading.contradicted > AGAINST * refused:
        return "unsupported", True, refused
    if reading.partial >= reading.absent:
        return "partially-supported", False, refused
    return "unsupported", False, refused


def _span(evidence: Evidence, measured: Measured) -> Span:
    """The passage, exactly as it stands in the source."""
    source, (first, last) = measured.source, measured.found.passage
    start, end = int(source.starts[first]), int(source.ends[last])
    return Span(evidence.source.source_key, evidence.body.sha256, start, end, source.text[start:end])


class Views:
    """Sources read lately, by text: claims on one source come together, and a source is read once for them."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, SourceView] = OrderedDict()

    def of(self, evidence: Evidence) -> SourceView:
        """The view of a source, kept for the next claim."""
        key = evidence.body.sha256
        if key not in self._kept:
            self._kept[key] = SourceView.of(evidence.body, "en")
            if len(self._kept) > _VIEWS_KEPT:
                self._kept.popitem(last=False)
        self._kept.move_to_end(key)
        return self._kept[key]
