"""One line for a person: what of the claim was found, what is missing, what speaks against it. No judgement here."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from verification_pipeline.checkers.embedded.features import Measured
from verification_pipeline.checkers.embedded.guards import Doubt

_MOST_WORDS = 4
_ABOUT = 0.5
"""A source that holds this share of the claim, wherever, is about it."""


def rationale(
    measured: Measured, verdict: str, contradicted: bool, found_doubts: Sequence[Doubt], irrelevant: bool = False
) -> str:
    """Why this verdict, in one sentence or two. `irrelevant`: the source reads as one about something else."""
    share = float(measured.share @ measured.in_passage)
    against = next((doubt for doubt in found_doubts if doubt.against), None)
    if contradicted:
        return f"The nearest passage says otherwise: {_otherwise(against)}."
    if verdict == "supported":
        return f"One passage holds {share:.0%} of the claim{_kept(measured)}."
    lacking = _lacking(measured, found_doubts)
    if verdict == "partially-supported":
        return f"The best passage holds {share:.0%} of the claim{_kept(measured)}; {lacking}."
    if irrelevant and float(measured.share @ measured.found.in_page) < _ABOUT:
        lacking = "the source seems to be about something else"
    return f"No passage of the source holds more than {share:.0%} of the claim; {lacking}."


def _otherwise(against: Doubt | None) -> str:
    if against is None:
        return "it states something that cannot be true together with the claim"
    return {
        "negation": "one of the two is negated, the other is not",
        "opposite": f"it has the opposite of '{against.word}'",
        "figure": f"it does not give the figure {against.word} there",
    }.get(against.kind, f"it does not fit '{against.word}'")


def _kept(measured: Measured) -> str:
    """The figures and names that stand there."""
    figures = [number.text for number, there, _ in measured.figures if there == 1]
    return f", with {_listed(figures)}" if figures else ""


def _lacking(measured: Measured, found_doubts: Sequence[Doubt]) -> str:
    """Figures and names that are missing; without any, the weightiest clause or words."""
    figures = [doubt.word for doubt in found_doubts if doubt.kind == "figure"]
    names = [doubt.word for doubt in found_doubts if doubt.kind == "name"]
    parts = []
    if figures:
        parts.append(f"the figure{'s' * (len(figures) > 1)} {_listed(figures)}")
    if names:
        parts.append(f"the name{'s' * (len(names) > 1)} {_listed(names)}")
    if parts:
        return f"{' and '.join(parts)} {'are' if len(figures) + len(names) > 1 else 'is'} not in it"
    clause = _worst_clause(measured)
    if clause:
        return f"the part '{clause}' is not in it"
    lost = np.where(measured.in_evidence > 0, 0, measured.claim.weights)
    order = [int(k) for k in np.argsort(-lost, kind="stable")[:_MOST_WORDS] if lost[k] > 0]
    words = [f"'{measured.claim.words[k]}'" for k in sorted(order)]
    return f"it lacks {_listed(words)}" if words else "its words stand there in another sense or order"


def _worst_clause(measured: Measured) -> str | None:
    """A whole clause of which hardly anything was found, where there are several."""
    claim = measured.claim
    if len(claim.clauses) < 2:
        return None
    shares = [
        float(claim.weights[a:b] @ measured.in_evidence[a:b] / max(float(claim.weights[a:b].sum()), 1e-9))
        for a, b in claim.clauses
    ]
    worst = int(np.argmin(shares))
    if shares[worst] > 0.34:
        return None
    first, last = claim.clauses[worst]
    return claim.text[claim.index.starts[first] : claim.index.ends[last - 1]]


def _listed(words: Sequence[str]) -> str:
    kept = list(dict.fromkeys(words))[:_MOST_WORDS]
    return kept[0] if len(kept) == 1 else f"{', '.join(kept[:-1])} and {kept[-1]}"
