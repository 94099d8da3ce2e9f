"""Step 3: the trees, as arrays, and the scores of every row by trees that did not see its group (five folds).

Rows of sets that are never trained on are scored by the trees that are shipped.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import lightgbm
import numpy as np

from verification_pipeline.checkers.embedded.model import GRADES, PAPER

WEIGHTS = {
    "citation_integrity": 1.0,
    "wice": 2.5,
    "expertqa": 0.7,
    "factcheck_gpt": 0.5,
    "fever_symmetric": 0.7,
    "summedits": 0.35,
}
"""Of a row, by family: small sets of whole pages count more than large sets of snippets."""
BUILT = ("fever_symmetric", "summedits")
"""Families whose false claims were made from true ones: what is wrong in them is a change, not a lack."""
PAGES = ("wice", "citation_integrity", "factcheck_gpt", "expertqa")
"""Families whose claims people graded against pages."""
EVEN = 0.85
"""How far the rarer readings of a paper are weighed up: 0 not at all, 1 to equal shares."""
RISING = re.compile(
    r"(page|window|evidence)_(share|exact|words)|run_|clause_(min|mean|joint|last)|figures_(share|company|sided|close)"
    r"|names_(company|sided|close)|together_|near_(kept|pairs)|window_pairs|fuzz_|order$"
)
FALLING = re.compile(
    r".*_lost|.*missing|opposed|lost_run|negations_odd|near_replaced|near_inserted|gain_page|clause_lost|names_reversed"
)


def settings(names: list[str], monotone: bool, leaves: int) -> dict:
    """LightGBM settings of a head; `monotone` binds what must only help or only hurt."""
    rules: dict = {
        "objective": "binary",
        "learning_rate": 0.05,
        "num_leaves": leaves,
        "min_data_in_leaf": 60,
        "feature_fraction": 0.4,
        "bagging_fraction": 0.7,
        "bagging_freq": 1,
        "lambda_l2": 5,
        "verbose": -1,
        "seed": 1,
        "num_threads": 1,
        "deterministic": True,
    }
    if monotone:
        rules["monotone_constraints"] = [
            1 if RISING.match(name) else -1 if FALLING.match(name) else 0 for name in names
        ]
    return rules


class Task:
    """What one or several ensembles learn: which rows, what is true of them, with which weights.

    `truth`: 0 or 1, or the number of a class when there are more `names`. Every set starts from its own shares, so that
    the trees learn what differs inside a set, not which set is in front of them.
    """

    def __init__(
        self,
        names: tuple[str, ...],
        use: np.ndarray,
        truth: np.ndarray,
        weight: np.ndarray,
        sets: np.ndarray,
        rules: dict,
        trees: int,
    ) -> None:
        self.names, self.use, self.truth, self.weight, self.trees = names, use, truth.astype(int), weight, trees
        several = len(names) > 1
        self.rules = rules | ({"objective": "multiclass", "num_class": len(names)} if several else {})
        self.start = np.zeros((len(use), len(names)))
        for name in np.unique(sets[use]):
            rows = use & (sets == name)
            counts = np.bincount(self.truth[rows], weights=weight[rows], minlength=max(2, len(names)))
            shares = np.clip(counts / counts.sum(), 0.05 if not several else 1e-3, 0.95)
            self.start[sets == name] = np.log(shares) if several else np.log(shares[1] / shares[0])

    def fit(self, values: np.ndarray, rows: np.ndarray) -> lightgbm.Booster:
        """Trees from some of the rows."""
        chosen = self.use & rows
        start = self.start[chosen].ravel(order="F")
        data = lightgbm.Dataset(values[chosen], self.truth[chosen], weight=self.weight[chosen], init_score=start)
        return lightgbm.train(self.rules, data, self.trees)

    def scores(self, booster: lightgbm.Booster, values: np.ndarray) -> np.ndarray:
        """Log-odds (rows × names)."""
        return booster.predict(values, raw_score=True).reshape(len(values), len(self.names))


def arrays(booster: lightgbm.Booster, place: int, count: int) -> dict[str, np.ndarray]:
    """The trees of one of `count` ensembles grown together, as padded arrays.

    Thresholds are rounded down to single precision, which splits single-precision rows exactly as before.
    """
    trees = [tree["tree_structure"] for tree in booster.dump_model()["tree_info"][place::count]]
    flat = [_nodes(tree) for tree in trees]
    size = max(map(len, flat))
    out = {
        "feature": np.full((len(flat), size), -1, np.int16),
        "threshold": np.zeros((len(flat), size), np.float32),
        "left": np.zeros((len(flat), size), np.int16),
        "right": np.zeros((len(flat), size), np.int16),
        "value": np.zeros((len(flat), size), np.float32),
    }
    for t, nodes in enumerate(flat):
        for n, (feature, threshold, left, right, value) in enumerate(nodes):
            single = np.float32(threshold)
            if float(single) > threshold:
                single = np.nextafter(single, np.float32(-np.inf))
            for name, entry in zip(out, (feature, single, left, right, value), strict=True):
                out[name][t, n] = entry
    return {**out, "depth": np.array(max(map(_depth, trees)))}


def _nodes(tree: dict) -> list[tuple]:
    nodes: list[tuple] = []

    def add(node: dict) -> int:
        place = len(nodes)
        nodes.append(())
        if "leaf_value" in node and "split_feature" not in node:
            nodes[place] = (-1, 0.0, 0, 0, node["leaf_value"])
        else:
            left, right = add(node["left_child"]), add(node["right_child"])
            nodes[place] = (node["split_feature"], node["threshold"], left, right, 0.0)
        return place

    add(tree)
    return nodes


def _depth(node: dict) -> int:
    return 0 if "split_feature" not in node else 1 + max(_depth(node["left_child"]), _depth(node["right_child"]))


class Table:
    """The rows of the work folder with their features."""

    def __init__(self, work: Path) -> None:
        with np.load(work / "features.npz") as kept:
            self.names = [str(name) for name in kept["names"]]
            self.values, self.at = kept["values"], kept["rows"]
        lines = [json.loads(line) for line in (work / "rows.jsonl").open(encoding="utf-8")]
        rows = [lines[k] for k in self.at]
        self.dataset = np.array([row["dataset"] for row in rows])
        self.family = np.array([row["dataset"].split("/")[0] for row in rows])
        self.kind = np.array([row["kind"] for row in rows])
        self.label = np.array([row["label"] or "-" for row in rows])
        self.class3 = np.array([row["class3"] or "-" for row in rows])
        self.fold = np.array([row["fold"] for row in rows])
        self.real = self.kind == "real"
        self.weight = np.array([WEIGHTS.get(family, 1.0) for family in self.family])
        self.weight[self.dataset == "wice/subclaim_partial_train"] *= 0.4

    def tasks(self) -> tuple[Task, ...]:
        """The heads of `model.HEADS`."""
        seen = (self.fold >= 0) & (self.label != "-")
        moved, trimmed = self.kind == "moved", self.kind == "trimmed"
        false = np.isin(self.label, ["C", "X"]) & ~self.real
        harmless = np.char.startswith(self.kind, "harmless") | (
            np.char.startswith(self.kind, "sentence") & (self.label == "S")
        )
        weight = np.where(self.real, self.weight, 0.25 * self.weight)
        built = np.isin(self.family, BUILT)
        bound, free = settings(self.names, True, 7), settings(self.names, False, 7)

        whole = seen & (self.real | moved | trimmed | harmless)
        share = np.select([harmless, built], [0.3, 0.5], 1.0)
        pairs = seen & (false | harmless | (self.real & ((self.label == "S") | built)))
        even = np.where(self.real & built, 0.5, 1.0)
        against = seen & ((self.real & np.isin(self.label, ["P", "U", "C"])) | moved | (false & (self.label == "C")))
        against &= np.isin(self.family, PAGES) & ~np.char.startswith(self.kind, "sentence")
        graded = seen & (self.real | moved | trimmed) & np.isin(self.family, PAGES)
        grade = np.select([self.label == "S", self.label == "P"], [0, 1], 2)
        cited = self.real & (self.class3 != "-") & (self.fold >= 0)
        reading = np.select([self.class3 == "ACCURATE", self.class3 == "NOT_ACCURATE"], [0, 1], 2)
        rare = (cited.sum() / 3 / np.bincount(reading[cited], minlength=3)[reading]) ** EVEN

        intact = settings(self.names, False, 15)
        supported = self.label == "S"
        return (
            Task(("coverage",), whole, supported, share * weight, self.dataset, bound, 300),
            Task(("intact",), pairs, supported, even, self.family, intact, 500),
            Task(("against",), against, self.label == "C", weight, self.dataset, free, 200),
            Task(GRADES, graded, grade, weight, self.dataset, free, 150),
            Task(PAPER, cited, reading, rare, self.dataset, free | {"min_data_in_leaf": 30}, 100),
        )


def answers(table: Table, folds: int) -> tuple[dict[str, np.ndarray], dict[str, dict[str, np.ndarray]]]:
    """Scores of every row by models that did not see its group, and the arrays of the models trained on all."""
    scores: dict[str, np.ndarray] = {}
    final: dict[str, dict[str, np.ndarray]] = {}
    rest = table.fold < 0
    for task in table.tasks():
        score = np.zeros((len(table.real), len(task.names)))
        for k in range(folds):
            held = table.fold == k
            score[held] = task.scores(task.fit(table.values, ~held), table.values[held])
        booster = task.fit(table.values, np.ones(len(table.real), bool))
        score[rest] = task.scores(booster, table.values[rest])
        for place, name in enumerate(task.names):
            scores[name], final[name] = score[:, place], arrays(booster, place, len(task.names))
    return scores, final


def run(work: Path) -> None:
    """Write the trees and their answers to the work folder."""
    table = Table(work)
    scores, final = answers(table, 5)
    np.savez(work / "tree_scores.npz", rows=table.at, **scores)
    parts = {f"{name}_{part}": value for name, found in final.items() for part, value in found.items()}
    np.savez(work / "trees.npz", features=np.array(table.names), **parts)
