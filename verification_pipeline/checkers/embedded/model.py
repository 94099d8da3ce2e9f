"""The shipped model: trees and calibration as plain arrays, read from the package, evaluated with numpy.

No training here, no text and no thresholds. How the arrays came about stands in `training/` and in the model card.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from verification_pipeline.checkers.embedded.calibration import Calibration
from verification_pipeline.checkers.embedded.lexicon import Lexicon

F32 = NDArray[np.float32]
FILE = Path(__file__).parent / "model.npz"
GRADES = ("grade_supported", "grade_partial", "grade_unsupported")
PAPER = ("paper_accurate", "paper_inaccurate", "paper_irrelevant")
HEADS = ("coverage", "intact", "against", *GRADES, *PAPER)
"""What each ensemble says: how much of the claim the source holds; that nothing of it was changed; that the source says
otherwise. `GRADES` compete: how people grade a claim against a page. `PAPER` too: whether a citing sentence reports its
paper accurately, inaccurately, or the paper is about something else."""
GRADED = 0.5
"""What grades count for beside overlap."""
CHANCE = 0.5
"""Log-odds of a change that true claims show too."""
NEAREST = "run_1"
"""The feature that says how much of the claim the nearest sentence holds."""
READ = (NEAREST, "run_5", "clause_mean", "window_exact")
"""Features that the calibration reads itself: how much of the claim stands in a few sentences."""


@dataclass(frozen=True, slots=True)
class Trees:
    """An ensemble of regression trees, padded to one shape (trees × nodes).

    A node sends a row left when row[feature] <= threshold; a leaf has feature -1. The answer is the sum of the leaves'
    values.
    """

    feature: NDArray[np.int16]
    threshold: F32
    left: NDArray[np.int16]
    right: NDArray[np.int16]
    value: F32
    depth: int

    def __call__(self, rows: F32) -> NDArray[np.float64]:
        """The sum of all trees for each row, as log-odds."""
        tree = np.arange(len(self.feature))[None, :]
        each = np.arange(len(rows))[:, None]
        node = np.zeros((len(rows), len(self.feature)), dtype=np.int16)
        for _ in range(self.depth):
            feature = self.feature[tree, node]
            smaller = rows[each, feature] <= self.threshold[tree, node]
            following = np.where(smaller, self.left[tree, node], self.right[tree, node])
            node = np.where(feature < 0, node, following)
        total: NDArray[np.float64] = self.value[tree, node].sum(axis=1, dtype=np.float64)
        return total


@dataclass(frozen=True, slots=True)
class Model:
    """Everything that is shipped. `features`: the names of the columns of a row, in order."""

    features: tuple[str, ...]
    heads: Mapping[str, Trees]
    lexicon: Lexicon
    calibration: Calibration
    version: str

    def scores(self, rows: F32) -> dict[str, NDArray[np.float64]]:
        """The log-odds of every head for each row of features, and what follows from them."""
        return derived({name: trees(rows) for name, trees in self.heads.items()}, self.features, rows)


def derived(
    scores: dict[str, NDArray[np.float64]], features: Sequence[str], rows: F32
) -> dict[str, NDArray[np.float64]]:
    """The scores with what the calibration reads beside them.

    `READ`, and: `holds`: the source holds the claim, by overlap and as people grade. `veto`: signs of a change count
    against a claim, their absence does not count for it; `changed`: those that go beyond chance, in proportion to how
    near a sentence comes, for far from any they mean nothing.
    """
    read = {name: rows[:, features.index(name)].astype(np.float64) for name in READ}
    supported, partial, unsupported = (scores[name] for name in GRADES)
    return {
        **scores,
        **read,
        "holds": scores["coverage"] + GRADED * (supported - np.logaddexp(partial, unsupported)),
        "veto": np.minimum(scores["intact"], 0),
        "changed": np.minimum(scores["intact"] + CHANCE, 0) * read[NEAREST] ** 2,
    }


def read(path: Path) -> Model:
    """A model from its file. ValueError when the file is not one."""
    with np.load(path, allow_pickle=False) as kept:
        try:
            lexicon = Lexicon(
                kept["hashes"],
                kept["rarity"],
                kept["synonyms"],
                kept["opposites"],
                kept["far_opposites"],
                float(kept["unseen"]),
            )
            heads = {
                name: Trees(
                    kept[f"{name}_feature"],
                    kept[f"{name}_threshold"],
                    kept[f"{name}_left"],
                    kept[f"{name}_right"],
                    kept[f"{name}_value"],
                    int(kept[f"{name}_depth"]),
                )
                for name in HEADS
            }
            calibration = Calibration.of(kept["calibration_names"].tolist(), kept["calibration"])
            return Model(tuple(kept["features"].tolist()), heads, lexicon, calibration, str(kept["version"]))
        except KeyError as error:
            raise ValueError(f"{path.name} is not a model of this version: {error}") from error


@cache
def shipped() -> Model:
    """The model in the package, read once a process."""
    return read(FILE)
