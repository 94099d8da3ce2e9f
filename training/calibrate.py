"""Step 4: probabilities from scores, and the file that is shipped.

Curves are fitted on scores of rows whose group the scoring models did not see. What the scores are worth is learned
inside the sets (each with a constant of its own), how probable that makes a verdict over all of them together. Grades
are learned with the classes weighed to equal shares inside each set.
Probabilities of the rows of sets that were trained on, by curves fitted on the other folds, go to `answers.npz` in the
work folder.
"""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

import numpy as np
from scipy.optimize import minimize

from training.train_trees import PAGES, Table
from verification_pipeline.checkers.embedded.calibration import CURVES, Calibration
from verification_pipeline.checkers.embedded.model import GRADES, READ, derived

GRADING = ("coverage", *GRADES, *READ[1:])
INPUTS = ("holds", "changed", "against", "veto", *GRADING)
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


GRADED_ROWS = {"wice": 1000, "citation_integrity": 175, "factcheck_gpt": 350, "expertqa": 350}
"""For how many rows a set counts when grades are learned: only in wice is partial support common."""
RIDGE = 2.0


def logistic(x: np.ndarray, y: np.ndarray, weight: np.ndarray, ridge: float = RIDGE) -> np.ndarray:
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


def softmax(x: np.ndarray, y: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Weights (3 × columns and a constant) of a softmax over classes 0, 1, 2, columns taken to one scale."""
    middle, scale = x.mean(axis=0), x.std(axis=0) + 1e-9
    table, truth = np.column_stack([(x - middle) / scale, np.ones(len(x))]), np.eye(3)[y]
    shape = (table.shape[1], 3)

    def loss(flat: np.ndarray) -> tuple[float, np.ndarray]:
        beta = flat.reshape(shape)
        lines = table @ beta
        logs = lines - np.logaddexp.reduce(lines, axis=1)[:, None]
        slope = table.T @ (weight[:, None] * (np.exp(logs) - truth))
        slope[:-1] += 2 * RIDGE * beta[:-1]
        return float(RIDGE * (beta[:-1] ** 2).sum() - weight @ (logs * truth).sum(axis=1)), slope.ravel()

    beta = minimize(loss, np.zeros(shape).ravel(), jac=True, method="L-BFGS-B").x.reshape(shape)
    slopes = beta[:-1] / scale[:, None]
    return np.vstack([slopes, beta[-1] - middle @ slopes]).T


def grades(table: Table, scores: dict[str, np.ndarray], rows: np.ndarray) -> np.ndarray:
    """The softmax of `GRADING`, fitted on some rows, the classes equally common in every set."""
    truth = np.select([table.label == "S", table.label == "P"], [0, 1], 2)
    weight = np.zeros(len(truth))
    for family in PAGES:
        chosen = rows & (table.family == family)
        shares = 1 / np.bincount(truth[chosen], minlength=3)
        weight[chosen] = shares[truth[chosen]] * GRADED_ROWS[family] / 3
    used = weight > 0
    return softmax(np.column_stack([scores[name][used] for name in GRADING]), truth[used], weight[used])


def curves(table: Table, scores: dict[str, np.ndarray], rows: np.ndarray) -> Calibration:
    """The curves, fitted on some rows."""
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
    columns = [INPUTS.index(name) for name in GRADING]
    weights[len(jobs) :, [*columns, -1]] = grades(table, scores, seen & table.real & np.isin(table.family, PAGES))
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
    p["grades"] = np.zeros((len(table.real), 3))
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
