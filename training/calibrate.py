"""Step 4: probabilities from scores, and the file that is shipped.

Curves are fitted on scores of rows whose group the scoring models did not see. What the scores are worth is learned
inside the sets (each with a constant of its own), how probable that makes a verdict over all of them together; partly
and not supported are told apart with both weighed to equal shares inside each set.
Probabilities of the rows of sets that were trained on, by curves fitted on the other folds, go to `answers.npz` in the
work folder.
"""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

import numpy as np

from training.train_trees import PAGES, Table
from verification_pipeline.checkers.embedded.calibration import CURVES, Calibration
from verification_pipeline.checkers.embedded.model import GRADES, READ, derived

PARTLY = ("coverage", *GRADES, *READ[1:])
INPUTS = ("holds", "changed", "against", "veto", *PARTLY)
EDITED = 0.0
"""Weight of an edited claim beside a labelled one."""
SETS = {
    "citation_integrity": 0.5,
    "wice": 2.0,
    "expertqa": 1.0,
    "factcheck_gpt": 0.3,
    "fever_symmetric": 1.0,
    "summedits": 0.2,
}
PARTLY_ROWS = {"wice": 600, "citation_integrity": 100, "factcheck_gpt": 200, "expertqa": 200}
"""For how many rows a set counts when partly and not supported are told apart: only in wice is the former common."""


def logistic(x: np.ndarray, y: np.ndarray, weight: np.ndarray, ridge: float = 2.0) -> np.ndarray:
    """Weights of a logistic curve (last: the constant), by Newton's method."""
    x = np.column_stack([x, np.ones(len(x))])
    beta = np.zeros(x.shape[1])
    penalty = np.diag([ridge] * (x.shape[1] - 1) + [0.0])
    for _ in range(30):
        p = 1 / (1 + np.exp(-np.clip(x @ beta, -30, 30)))
        gradient = x.T @ (weight * (y - p)) - penalty @ beta
        hessian = (x * (weight * p * (1 - p))[:, None]).T @ x + penalty + 1e-9 * np.eye(len(beta))
        step = np.linalg.solve(hessian, gradient)
        beta += step
        if np.abs(step).max() < 1e-8:
            break
    return beta


def partly(table: Table, scores: dict[str, np.ndarray], rows: np.ndarray) -> np.ndarray:
    """Weights of `PARTLY` and a constant, fitted on some rows that are not supported."""
    weight = np.zeros(len(rows))
    for family, count in PARTLY_ROWS.items():
        for some in (True, False):
            chosen = rows & (table.family == family) & ((table.label == "P") == some)
            weight[chosen] = count / 2 / max(chosen.sum(), 1)
    x = np.column_stack([scores[name][rows] for name in PARTLY])
    middle, scale = x.mean(axis=0), x.std(axis=0) + 1e-9
    *slopes, constant = logistic((x - middle) / scale, (table.label[rows] == "P").astype(float), weight[rows])
    slopes = np.array(slopes) / scale
    return np.append(slopes, constant - middle @ slopes)


def curves(table: Table, scores: dict[str, np.ndarray], rows: np.ndarray) -> Calibration:
    """The three curves, fitted on some rows."""
    edited = ~table.real & ~np.isin(table.kind, ["moved", "trimmed"])
    weight = np.array([SETS.get(family, 1.0) for family in table.family]) * np.where(edited, EDITED, 1.0)
    seen = rows & (table.fold >= 0) & (table.label != "-") & (table.dataset != "wice/subclaim_partial_train")
    refused = seen & table.real & np.isin(table.label, ["C", "P", "U"]) & (table.family != "summedits")
    jobs = (
        (seen & (table.real | edited), table.label == "S", ("holds", "changed")),
        (refused, table.label == "C", ("against", "veto")),
    )
    weights = np.zeros((len(CURVES), len(INPUTS) + 1))
    for k, (chosen, truth, names) in enumerate(jobs):
        x = np.column_stack([scores[name][chosen] for name in names])
        y = truth[chosen].astype(float)
        family = np.where(table.real, table.family, "edited")[chosen]
        which = (family[:, None] == np.unique(family)[None, 1:]).astype(float)
        slopes = logistic(np.column_stack([x, which]), y, weight[chosen])[: len(names)]
        scale, constant = logistic((x @ slopes)[:, None], y, weight[chosen])
        for name, slope in zip(names, slopes, strict=True):
            weights[k, INPUTS.index(name)] = slope * scale
        weights[k, -1] = constant
    columns = [INPUTS.index(name) for name in PARTLY]
    weights[-1, [*columns, -1]] = partly(table, scores, refused & np.isin(table.family, PAGES))
    return Calibration.of(INPUTS, weights)


def run(work: Path, out: Path) -> None:
    """Write the model file, and the probabilities of rows by curves that did not see them to the work folder."""
    table = Table(work)
    with np.load(work / "tree_scores.npz") as kept:
        heads = {name: kept[name] for name in kept.files if name != "rows"}
    scores = derived(heads, table.names, table.values)
    everything = np.ones(len(table.real), bool)
    final = curves(table, scores, everything)
    p = {name: np.zeros(len(table.real)) for name in ("supported", "contradicted", "partial", "absent")}
    for fold in range(-1, 5):
        held = table.fold == fold
        fitted = final if fold < 0 else curves(table, scores, ~held)
        found = fitted({name: score[held] for name, score in scores.items()})
        for name in p:
            p[name][held] = getattr(found, name)
    np.savez(work / "answers.npz", rows=table.at, **p)
    with np.load(work / "lexicon.npz") as words, np.load(work / "trees.npz") as trees:
        parts = {**{name: words[name] for name in words.files}, **{name: trees[name] for name in trees.files}}
    parts["calibration_names"] = np.array(final.inputs)
    parts["calibration"] = final.weights
    parts["version"] = np.array(sha256(b"".join(parts[name].tobytes() for name in sorted(parts))).hexdigest()[:12])
    np.savez_compressed(out, **parts)
    print(dict(zip(CURVES, final.weights.round(3).tolist(), strict=True)))
