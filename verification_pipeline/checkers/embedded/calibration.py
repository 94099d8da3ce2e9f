"""From scores to probabilities: three logistic curves fitted on answers to rows that the scoring models did not see.

P(supported), then P(contradicted) and P(partially) among the rest, the last as if partly and not at all were equally
common: how common partial support is differs most from archive to archive. What a probability must be for a verdict is
a setting; what the scores are made of is `model`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

F64 = NDArray[np.float64]
CURVES = ("supported", "contradicted", "partial")


@dataclass(frozen=True, slots=True)
class Probabilities:
    """For each row: the source supports the claim; contradicts it; supports a part of it; says nothing of it. Sum 1."""

    supported: F64
    contradicted: F64
    partial: F64
    absent: F64


@dataclass(frozen=True, slots=True)
class Calibration:
    """Weights (curve × input) of the logistic curves; the last input is the constant 1."""

    inputs: tuple[str, ...]
    weights: F64

    @classmethod
    def of(cls, inputs: Sequence[str], weights: F64) -> Calibration:
        """Checked: one weight an input and curve."""
        if weights.shape != (len(CURVES), len(inputs) + 1):
            raise ValueError(f"a calibration of {len(inputs)} inputs cannot have weights of shape {weights.shape}")
        return cls(tuple(inputs), weights)

    def __call__(self, scores: Mapping[str, F64]) -> Probabilities:
        """Probabilities of each row, from its scores by name."""
        columns = [scores[name] for name in self.inputs]
        table = np.column_stack([*columns, np.ones(len(columns[0]))])
        supported, contradicted, partial = 1 / (1 + np.exp(-np.clip(table @ self.weights.T, -30, 30))).T
        rest = 1 - supported
        against = rest * contradicted
        part = (rest - against) * partial
        return Probabilities(supported, against, part, rest - against - part)
