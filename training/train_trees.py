"""Step 3: the trees, as arrays, and the scores of every row by trees that did not see its group (five folds).

    python -m training.train_trees --work DIR

Rows of sets that are never trained on are scored by the trees that are shipped.
"""

from __future__ import annotations

import argparse
import json
import re
from pathlib import Path

import lightgbm
import numpy as np

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
RISING = re.compile(
    r"(page|window|evidence)_(share|exact|words)|run_|clause_(min|mean|joint|last)|figures_(share|company|sided)"
    r"|names_(company|sided)|near_(kept|pairs)|window_pairs|fuzz_|order$"
)
FALLING = re.compile(
    r".*_lost|.*missing|opposed|lost_run|negations_odd|near_replaced|near_inserted|gain_page|clause_lost"
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
    """One head: which rows, what is true of them, with which weights. Every set starts from its own share of
    trues, so that the trees learn what differs inside a set, not which set is in front of them."""

    def __init__(self, use: np.ndarray, truth: np.ndarray, weight: np.ndarray, sets: np.ndarray, trees: int) -> None:
        self.use, self.truth, self.weight, self.trees = use, truth.astype(int), weight, trees
        self.start = np.zeros(len(use))
        for name in np.unique(sets[use]):
            rows = use & (sets == name)
            share = float(np.clip(np.average(self.truth[rows], weights=weight[rows]), 0.05, 0.95))
            self.start[sets == name] = np.log(share / (1 - share))

    def fit(self, values: np.ndarray, rows: np.ndarray, rules: dict) -> lightgbm.Booster:
        """Trees for this head from some of the rows."""
        chosen = self.use & rows
        data = lightgbm.Dataset(
            values[chosen], self.truth[chosen], weight=self.weight[chosen], init_score=self.start[chosen]
        )
        return lightgbm.train(rules, data, self.trees)


def arrays(booster: lightgbm.Booster) -> dict[str, np.ndarray]:
    """The trees as padded arrays; thresholds rounded down to single precision, which splits single-precision rows
    exactly as before."""
    trees = [tree["tree_structure"] for tree in booster.dump_model()["tree_info"]]
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
        self.fold = np.array([row["fold"] for row in rows])
        self.real = self.kind == "real"
        self.weight = np.array([WEIGHTS.get(family, 1.0) for family in self.family])
        self.weight[self.dataset == "wice/subclaim_partial_train"] *= 0.4

    def tasks(self) -> dict[str, tuple[Task, dict]]:
        """The heads of `model.HEADS`."""
        seen = (self.fold >= 0) & (self.label != "-")
        moved, trimmed = self.kind == "moved", self.kind == "trimmed"
        false = np.isin(self.label, ["C", "X"]) & ~self.real
        harmless = np.char.startswith(self.kind, "harmless") | (
            np.char.startswith(self.kind, "sentence") & (self.label == "S")
        )
        weight = np.where(self.real, self.weight, 0.25 * self.weight)
        built = np.isin(self.family, BUILT)
        whole = seen & (self.real | moved | trimmed | harmless)
        share = np.select([harmless, built], [0.3, 0.5], 1.0)
        coverage = Task(whole, self.label == "S", share * weight, self.dataset, 300)
        pairs = seen & (false | harmless | (self.real & ((self.label == "S") | built)))
        even = np.where(self.real & built, 0.5, 1.0)
        intact = Task(pairs, self.label == "S", even, self.family, 500)
        graded = seen & (self.real | moved) & np.isin(self.label, ["P", "U", "C"])
        graded &= np.isin(self.family, ["wice", "citation_integrity", "factcheck_gpt", "expertqa"])
        partial = Task(graded, self.label == "P", weight, self.dataset, 150)
        against = seen & ((self.real & np.isin(self.label, ["P", "U", "C"])) | moved | (false & (self.label == "C")))
        against &= np.isin(self.family, ["citation_integrity", "factcheck_gpt", "expertqa", "wice"])
        against &= ~np.char.startswith(self.kind, "sentence")
        opposed = Task(against, self.label == "C", weight, self.dataset, 200)
        return {
            "coverage": (coverage, settings(self.names, True, 7)),
            "intact": (intact, settings(self.names, False, 15)),
            "partial": (partial, settings(self.names, True, 7)),
            "against": (opposed, settings(self.names, False, 7)),
        }


def answers(table: Table, folds: int) -> tuple[dict[str, np.ndarray], dict[str, lightgbm.Booster]]:
    """Scores of every row by models that did not see its group, and the models trained on all."""
    scores: dict[str, np.ndarray] = {}
    final: dict[str, lightgbm.Booster] = {}
    for name, (task, rules) in table.tasks().items():
        score = np.zeros(len(table.real))
        for k in range(folds):
            held = table.fold == k
            score[held] = task.fit(table.values, ~held, rules).predict(table.values[held], raw_score=True)
        final[name] = task.fit(table.values, np.ones(len(table.real), bool), rules)
        rest = table.fold < 0
        score[rest] = final[name].predict(table.values[rest], raw_score=True)
        scores[name] = score
    return scores, final


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", type=Path, required=True)
    options = parser.parse_args()
    table = Table(options.work)
    scores, final = answers(table, 5)
    np.savez(options.work / "tree_scores.npz", rows=table.at, **scores)
    parts = {f"{name}_{part}": value for name, booster in final.items() for part, value in arrays(booster).items()}
    np.savez(options.work / "trees.npz", features=np.array(table.names), **parts)


if __name__ == "__main__":
    main()
