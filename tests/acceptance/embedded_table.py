"""The figures of the embedded checker on public human-labelled claims, one line a set, with bootstrap intervals.

    python -m tests.acceptance.embedded_table [BENCHMARKS]

Sets that the model never saw are judged by the shipped checker. For sets it was trained on, the answers are those of
models that saw neither the source text nor the claim (five folds), stored beside the training scripts. Intervals
resample whole groups of rows that share a text or a claim.

Two questions are asked of every set. *Best guess*: what the probabilities say when no abstention is allowed, by one
rule for all sets. *As given*: the checker's own verdicts, at the default confidence.
"""

from __future__ import annotations

import argparse
import gzip
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tests.builders import evidence, item
from training import data
from verification_pipeline.checkers.embedded import AGAINST, EmbeddedChecker, decide
from verification_pipeline.checkers.embedded.guards import Doubt
from verification_pipeline.checkers.protocol import Item
from verification_pipeline.checkers.retrieval import WordRetriever
from verification_pipeline.config import Embedded

FAMILIES = {
    "citation_integrity/train": True,
    "wice/dev": True,
    "expertqa/dev": True,
    "factcheck_gpt/dev": True,
    "fever_symmetric/dev": True,
    **{name: True for name in data.TRAINED if name.startswith("summedits")},
    "citation_integrity/dev": False,
    "healthver/dev": False,
    "nli4ct/dev": False,
}
"""Sets, and whether the model was trained on them."""
BUILT = ("fever_symmetric/dev", "summedits", "nli4ct/dev")
"""Sets whose false claims were made from true ones, so that overlap cannot tell them apart."""
ANSWERS = Path(__file__).resolve().parents[2] / "training" / "answers.json.gz"
PAGES = ("citation_integrity/train", "wice/dev", "expertqa/dev", "factcheck_gpt/dev")
"""Sets trained on whose claims people graded against cited pages."""
DENIED = ("healthver/dev", "fever_symmetric/dev", "nli4ct/dev")
"""Sets where what the source contradicts is a class of its own."""
RIGHT = 0.8
"""How often `supported` should be right at the default confidence."""
STEPS = np.arange(0.5, 0.9, 0.01).round(2)
RESAMPLES = 400


@dataclass(frozen=True)
class Labelled:
    """A labelled claim with its source. `group`: rows that share a text or a claim have the same."""

    id: str
    dataset: str
    claim: str
    source: str
    label: str | None
    class3: str | None
    evidence: tuple[str, ...]
    group: int

    def with_claim(self, claim: str) -> Labelled:
        return replace(self, claim=claim)


@dataclass(frozen=True)
class Answer:
    """What was answered to a claim: probabilities, doubts as (kind, against), the passage if it was judged here."""

    supported: float
    contradicted: float
    partial: float
    absent: float
    doubts: tuple[Doubt, ...]
    paper: tuple[float, ...]
    fold: int = -1
    passage: str | None = None


def labelled(folder: Path, dataset: str) -> list[Labelled]:
    """Rows of one set."""
    rows = data.read(folder, dataset)
    groups = data.groups(rows)
    return [
        Labelled(row.id, row.dataset, row.claim, row.source, row.label, row.class3, row.evidence, int(group))
        for row, group in zip(rows, groups, strict=True)
    ]


def items_of(rows: Sequence[Labelled]) -> list[Item]:
    """Rows as a checker takes them, each its own document with one source."""
    return [item(row.claim, evidence(f"{row.id}", row.source)) for row in rows]


def stored(rows: Sequence[Labelled]) -> list[Answer]:
    """The answers of models that saw neither the text nor the claim."""
    with gzip.open(ANSWERS, "rt", encoding="utf-8") as file:
        kept = json.load(file)
    return [
        Answer(*p, tuple(Doubt(kind, "", against) for kind, against in doubts), tuple(paper), fold)
        for *p, doubts, paper, fold in (kept[f"{row.dataset} {row.id}"] for row in rows)
    ]


def judged(rows: Sequence[Labelled], checker: EmbeddedChecker) -> list[Answer]:
    """The answers of the shipped model."""
    answers = []
    for reading in checker.read([(one.pair.claim, one.evidence) for one in items_of(rows)]):
        source, (first, last) = reading.measured.source, reading.measured.found.passage
        passage = source.text[source.starts[first] : source.ends[last]]
        p = (reading.supported, reading.contradicted, reading.partial, reading.absent)
        answers.append(Answer(*p, reading.doubts, reading.paper, passage=passage))
    return answers


Rows = NDArray[np.int64]


def auc(truth: NDArray[np.bool_], score: NDArray[np.float64]) -> float:
    """Chance that a true row scores above a false one."""
    if truth.all() or not truth.any():
        return float("nan")
    ranks = np.empty(len(score))
    order = np.argsort(score, kind="stable")
    ranks[order] = np.arange(1, len(score) + 1)
    _, inverse, counts = np.unique(score, return_inverse=True, return_counts=True)
    ranks = (np.bincount(inverse, ranks) / counts)[inverse]
    positives = int(truth.sum())
    return float((ranks[truth].sum() - positives * (positives + 1) / 2) / (positives * (len(truth) - positives)))


def balanced(truth: NDArray[np.bool_], said: NDArray[np.bool_]) -> float:
    """Mean of the shares of true and of false rows that are told right."""
    if truth.all() or not truth.any():
        return float("nan")
    return float((said[truth].mean() + (~said[~truth]).mean()) / 2)


def macro_f1(truth: NDArray[np.str_], said: NDArray[np.str_]) -> float:
    """Mean F1 over the classes that the truth has."""
    scores = []
    for name in np.unique(truth):
        hit = int(((truth == name) & (said == name)).sum())
        scores.append(2 * hit / max(int((truth == name).sum() + (said == name).sum()), 1))
    return float(np.mean(scores))


def interval(groups: Rows, figure: Callable[[Rows], float]) -> tuple[float, float, float]:
    """A figure of all rows with the 95 % interval over resampled groups."""
    members = [np.flatnonzero(groups == name) for name in np.unique(groups)]
    dice = np.random.default_rng(3)
    found = [
        figure(np.concatenate([members[k] for k in dice.integers(0, len(members), len(members))]))
        for _ in range(RESAMPLES)
    ]
    low, high = np.nanquantile(found, [0.025, 0.975])
    return figure(np.arange(len(groups))), float(low), float(high)


def verdicts(answers: Sequence[Answer]) -> tuple[NDArray[np.str_], NDArray[np.float64]]:
    """S, P, U or C for every answer, and the confidence in it."""
    out, confidence = [], []
    for answer in answers:
        verdict, contradicted, sure = decide(answer)
        out.append("C" if contradicted else {"supported": "S", "partially-supported": "P"}.get(verdict, "U"))
        confidence.append(sure)
    return np.array(out), np.array(confidence)


def best_guess(name: str, answer: Answer) -> str:
    """What the probabilities say, whatever the doubts: S, P or U; S, C or U for sets of what sources contradict."""
    if answer.supported >= 0.5:
        return "S"
    if name.startswith(DENIED):
        return "C" if answer.contradicted > AGAINST * (1 - answer.supported) else "U"
    return "P" if answer.partial >= answer.absent else "U"


def chosen(label: NDArray[np.str_], said: NDArray[np.str_], confidence: NDArray[np.float64]) -> float:
    """The least confidence at which `supported` is right often enough; the greatest tried where it never is."""
    for step in STEPS:
        called = label[(said == "S") & (confidence >= step)]
        if len(called) and (called == "S").mean() >= RIGHT:
            return float(step)
    return float(STEPS[-1])


def nested(rows: Sequence[Labelled], answers: Sequence[Answer]) -> tuple[float, list[float], NDArray[np.str_]]:
    """Least confidence of `supported` as chosen on all rows, and for each fold on the other folds.

    The last are the labels of what the folds call supported by the choice of the others.
    """
    said, confidence = verdicts(answers)
    folds, label = np.array([answer.fold for answer in answers]), np.array([row.label for row in rows])
    steps, called = [], []
    for fold in np.unique(folds):
        held = folds == fold
        steps.append(chosen(label[~held], said[~held], confidence[~held]))
        called.append(label[held & (said == "S") & (confidence >= steps[-1])])
    return chosen(label, said, confidence), steps, np.concatenate(called)


def report(name: str, rows: Sequence[Labelled], answers: Sequence[Answer], rules: Embedded) -> dict[str, object]:
    """The figures of one set."""
    kept = [k for k, row in enumerate(rows) if row.label]
    rows, answers = [rows[k] for k in kept], [answers[k] for k in kept]
    label = np.array([row.label for row in rows])
    groups = np.array([row.group for row in rows])
    supported = np.array([one.supported for one in answers])
    guessed = np.array([best_guess(name, one) for one in answers])
    truth = label if name.startswith(DENIED) else np.where(label == "C", "U", label)
    said, confidence = verdicts(answers)
    out: dict[str, object] = {
        "set": name,
        "rows": len(rows),
        "AUC": interval(groups, lambda r: auc(label[r] == "S", supported[r])),
        "balanced": interval(groups, lambda r: balanced(label[r] == "S", supported[r] >= 0.5)),
        "macro-F1": interval(groups, lambda r: macro_f1(truth[r], guessed[r])),
        "accuracy": float((truth == guessed).mean()),
        "majority": float(np.unique(truth, return_counts=True)[1].max() / len(truth)),
    }
    sure = confidence >= rules.min_confidence
    called = sure & (said == "S")
    out["coverage"] = float(sure.mean())
    out["precision"] = float(np.isin(label[called], ["S"]).mean()) if called.any() else float("nan")
    out["lenient"] = float(np.isin(label[called], ["S", "P"]).mean()) if called.any() else float("nan")
    out["called"] = int(called.sum())
    out["right"] = (int((label[called] == "S").sum()), int(np.isin(label[called], ["S", "P"]).sum()), int(sure.sum()))
    return out


def overlap(rows: Sequence[Labelled], answers: Sequence[Answer]) -> tuple[int, int]:
    """Of the rows with annotated evidence, how many have a passage that overlaps a line of it."""
    with_evidence = [(row, answer) for row, answer in zip(rows, answers, strict=True) if row.evidence and row.label]
    return sum(_touches(answer.passage or "", row.evidence) for row, answer in with_evidence), len(with_evidence)


def _touches(passage: str, lines: Sequence[str]) -> bool:
    """Whether a line of evidence and the passage share a run of five words (fewer in a shorter line)."""
    held = passage.casefold().split()
    for line in lines:
        words = line.casefold().split()
        size = min(5, len(words))
        runs = {tuple(words[k : k + size]) for k in range(len(words) - size + 1)}
        if any(tuple(held[k : k + size]) in runs for k in range(len(held) - size + 1)):
            return True
    return False


def overlapping(rows: Sequence[Labelled]) -> NDArray[np.float64]:
    """Plain word overlap, the baseline: the share of the claim's weighted words in the best passage."""
    retriever = WordRetriever()
    found = [retriever.passages(one.pair.claim, one.evidence, 1) for one in items_of(rows)]
    return np.array([passages[0].score if passages else 0.0 for passages in found])


def papers(rows: Sequence[Labelled], answers: Sequence[Answer]) -> tuple[float, float, float]:
    """Macro-F1 of citing sentences as accurate, not accurate or irrelevant, with its interval."""
    known = [(row, answer) for row, answer in zip(rows, answers, strict=True) if row.class3]
    names = np.array(["ACCURATE", "NOT_ACCURATE", "IRRELEVANT"])
    truth = np.array([row.class3 for row, _ in known])
    said = names[[int(np.argmax(answer.paper)) for _, answer in known]]
    return interval(np.array([row.group for row, _ in known]), lambda r: macro_f1(truth[r], said[r]))


def main() -> None:
    """Judge every set and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    shared = Path(__file__).resolve().parents[3] / "shared" / "benchmarks"
    parser.add_argument("benchmarks", type=Path, nargs="?", default=shared, help="Folder of the labelled sets.")
    folder = parser.parse_args().benchmarks
    rules = Embedded()
    checker = EmbeddedChecker(rules)
    pooled: dict[str, tuple[list[Labelled], list[Answer]]] = {}
    for name, trained in FAMILIES.items():
        rows = labelled(folder, name)
        answers = stored(rows) if trained else judged(rows, checker)
        family = "summedits" if name.startswith("summedits") else name
        known = pooled.setdefault(family, ([], []))
        shift = max((row.group for row in known[0]), default=-1) + 1
        known[0].extend(replace(row, group=row.group + shift) for row in rows)
        known[1].extend(answers)
    print(f"{'':58}|  best guess{'':51}|  as given, default")
    print(f"{'set':24}{'rows':>6}{'majority':>10}{'overlap AUC':>13}     ", end="")
    print(f"{'AUC':20}{'balanced':20}{'macro-F1':20}{'acc':>5}{'cover':>7}{'right':>7}{'part':>7}")
    reports = []
    for name, (rows, answers) in pooled.items():
        found = report(name, rows, answers, rules)
        reports.append(found)
        labels = [row for row in rows if row.label]
        plain = auc(np.array([row.label == "S" for row in labels]), overlapping(labels))
        cells = "".join(
            f"{m:.3f} ({a:.2f}-{b:.2f})  " for m, a, b in (found["AUC"], found["balanced"], found["macro-F1"])
        )
        shares = "".join(f"{found[key]:>7.2f}" for key in ("coverage", "precision", "lenient"))
        shares = f"{found['accuracy']:.2f}{shares}"
        print(f"{name:24}{found['rows']:>6}{found['majority']:>10.2f}{plain:>13.3f}     {cells}{shares}")
    for what, chosen in (("all sets", reports), ("sets of cited pages", [r for r in reports if r["set"] not in BUILT])):
        called, total = (sum(found[key] for found in chosen) for key in ("called", "rows"))
        strict, lenient, sure = (sum(found["right"][k] for found in chosen) for k in range(3))
        print(f"{what} at the default: verdicts on {sure / total:.3f} of {total}; {called} called supported,")
        print(f"    right {strict / called:.3f}, with partly supported {lenient / called:.3f}")
    pages = [
        (row, answer)
        for name, both in pooled.items()
        if name.endswith(PAGES)
        for row, answer in zip(*both, strict=True)
        if row.label
    ]
    least, steps, called = nested([row for row, _ in pages], [answer for _, answer in pages])
    print(f"least confidence for supported to be right in {RIGHT:.2f} of the pages trained on: {least:.2f};")
    print(
        f"    chosen without each fold {', '.join(f'{step:.2f}' for step in steps)}: {len(called)} called supported, ",
        end="",
    )
    print(f"right {(called == 'S').mean():.3f}, with partly supported {np.isin(called, ['S', 'P']).mean():.3f}")
    for name in ("citation_integrity/train", "citation_integrity/dev"):
        middle, low, high = papers(*pooled[name])
        print(f"{name}: accurate, not accurate or irrelevant, macro-F1 {middle:.3f} ({low:.2f}-{high:.2f})")
    for name in ("wice/dev", "citation_integrity/dev"):
        rows = labelled(folder, name)
        hits, count = overlap(rows, judged(rows, checker))
        print(f"{name}: the passage overlaps annotated evidence in {hits} of {count} ({hits / count:.3f})")


if __name__ == "__main__":
    main()
