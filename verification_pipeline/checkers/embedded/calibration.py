"""From scores to probabilities: curves fitted on answers to rows that the scoring models did not see.

Two logistic curves say how probable it is that the source supports the claim, and that it contradicts one that it does
not support. How common that is differs from archive to archive, and partial support most of all; so a softmax beside
them grades a claim as if supported, partially supported and unsupported were equally common. What a probability must
be for a verdict is a setting; what the scores are made of is `model`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

F64 = NDArray[np.float64]
CURVES = ("supported", "contradicted", "as_supported", "as_partial", "as_unsupported")
"""Two logistic curves, and the three sides of the softmax."""


@dataclass(frozen=True, slots=True)
class Probabilities:
    """For each row: the source supports the claim; contradicts it; supports a part of it; says nothing of it. Sum 1.

    `grades` (rows × 3): supported, partially supported, unsupported, were they equally common.
    """

    supported: F64
    contradicted: F64
    partial: F64
    absent: F64
    grades: F64


@dataclass(frozen=True, slots=True)
class Calibration:
    """Weights (curve × input); the last input is the constant 1."""

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
        lines = np.column_stack([*columns, np.ones(len(columns[0]))]) @ self.weights.T
        supported, contradicted = 1 / (1 + np.exp(-np.clip(lines[:, :2], -30, 30))).T
        raised = np.exp(lines[:, 2:] - lines[:, 2:].max(axis=1, keepdims=True))
        grades = raised / raised.sum(axis=1, keepdims=True)
        rest = 1 - supported
        against = rest * contradicted
        part = (rest - against) * grades[:, 1] / (grades[:, 1] + grades[:, 2] + 1e-12)
        return Probabilities(supported, against, part, rest - against - part, grades)
