"""What forbids `supported` whatever the probability: a figure, name, negation, opposite or wording that does not fit.

Each guard looks at one thing a reader would point at, and the last one at the likeness to an edited sentence that the
trees for it have learned. They only ever doubt: none makes a claim supported.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from verification_pipeline.checkers.embedded.features import Measured
from verification_pipeline.config import Embedded
from verification_pipeline.text.numbers import Number

Kind = Literal["figure", "name", "negation", "opposite", "wording"]


@dataclass(frozen=True, slots=True)
class Doubt:
    """Why a claim is not simply supported. `word` is the claim's own, empty where no single word is to blame."""

    kind: Kind
    word: str
    against: bool
    """Whether the source says otherwise, not merely nothing."""


def doubts(m: Measured, intact: float, rules: Embedded) -> tuple[Doubt, ...]:
    """Every doubt about a claim. `intact`: log-odds that nothing of it was changed."""
    found: list[Doubt] = []
    best = float((m.share @ m.found.held).max(initial=0.0))
    near = best >= rules.gainsaying_share
    for number, there, company in m.figures:
        if there < 1 or company < rules.figure_company or (near and _another_figure(m, number)):
            found.append(Doubt("figure", number.text, near))
    if near:
        claim, nearest, _ = m.counts(m.negations)
        if (claim - nearest) % 2:
            found.append(Doubt("negation", "", True))
        found += [Doubt("opposite", m.claim.words[k], True) for k in m.opposed]
    for k in np.flatnonzero(m.claim.names & (m.found.in_page == 0)).tolist():
        found.append(Doubt("name", m.claim.text[m.claim.index.starts[k] : m.claim.index.ends[k]], False))
    if intact < rules.intact_log_odds:
        found.append(Doubt("wording", "", False))
    return tuple(found)


def _another_figure(m: Measured, number: Number) -> bool:
    """Whether the nearest sentence gives, for this number, one of the same unit and kind that the claim lacks."""
    there = m.source.numbers(m.nearest)
    if any(number.same_quantity(other) for other in there):
        return False
    alike = [other for other in there if other.unit == number.unit and other.kind == number.kind]
    return any(not any(other.same_quantity(mine) for mine in m.claim.numbers) for other in alike)
