"""Step 1: the table of words, the folds, and the edited rows, written to a work folder."""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from dataclasses import fields
from functools import lru_cache
from pathlib import Path

import numpy as np

from training import data
from training.edits import false_edits, harmless_edits
from training.wordnet import WordNet
from verification_pipeline.checkers.embedded.lexicon import Lexicon, short
from verification_pipeline.checkers.embedded.retrieve import find
from verification_pipeline.checkers.embedded.views import ClaimView, SourceView
from verification_pipeline.keys import text_sha256
from verification_pipeline.text.index import IndexedText, WordIndex

FOLDS = 5
SEED = 20
MOVED_TRUE, MOVED = 0.25, 0.05
"""Share of pages, by whether their own claim is true, that also get a claim of another page."""


def lexicon_of(texts: list[str], words: WordNet) -> Lexicon:
    """Rarity over passages of 300 words; opposites of WordNet as hashes."""
    seen: Counter[int] = Counter()
    count = 0
    for text in texts:
        hashes = WordIndex.build(text).words
        for start in range(0, len(hashes), 300):
            seen.update(np.unique(hashes[start : start + 300]).tolist())
            count += 1
    kept = sorted(word for word, n in seen.items() if n >= 3)
    rarity = np.array([-np.log(seen[word] / count) for word in kept], np.float32)
    far = {
        (a, b)
        for a, near in words.synonyms.items()
        for other in near
        for b in words.antonyms.get(other, ())
        if b not in near and b not in words.antonyms.get(a, ())
    }
    tables = [
        _table({(a, b) for a, bs in words.synonyms.items() for b in bs}, set(kept)),
        _table({(a, b) for a, bs in words.antonyms.items() for b in bs}, set(kept)),
        _table(far, set(kept)),
    ]
    return Lexicon(np.array(kept, np.uint64), rarity, *tables, unseen=float(-np.log(2 / count)))


def _table(pairs: set[tuple[str, str]], known: set[int]) -> np.ndarray:
    """Pairs of known words as short hashes, both ways round, sorted."""
    forms = sorted({word for pair in pairs for word in pair})
    hashed = {word: WordIndex.build(word).words for word in forms}
    usable = {word: int(short(found)[0]) for word, found in hashed.items() if len(found) and int(found[0]) in known}
    both = {(usable[x], usable[y]) for a, b in pairs if a in usable and b in usable for x, y in ((a, b), (b, a))}
    return np.unique(np.array(sorted(both), np.uint32).reshape(-1, 2), axis=0)


def save(lexicon: Lexicon, path: Path) -> None:
    """Write a lexicon as arrays."""
    np.savez(path, **{field.name: getattr(lexicon, field.name) for field in fields(lexicon)})


def load(path: Path) -> Lexicon:
    """Read a lexicon."""
    with np.load(path) as kept:
        return Lexicon(*(kept[field.name] for field in fields(Lexicon)[:-1]), unseen=float(kept["unseen"]))


def edited(rows: list[data.Row], fold: np.ndarray, words: WordNet) -> list[tuple[int, str, str, str]]:
    """(row, kind, claim, label) made from true claims, from source sentences, and from claims moved to other pages.

    A claim is moved within its fold, so that no model sees a claim of the rows that it answers.
    """
    made: list[tuple[int, str, str, str]] = []
    pools: dict[tuple[str, int], list[data.Row]] = {}
    for row, number in zip(rows, fold.tolist(), strict=True):
        pools.setdefault((row.dataset.split("/")[0], number), []).append(row)
    for k, row in enumerate(rows):
        dice = random.Random(f"{SEED}-{row.dataset}-{row.id}")
        if row.label == "S":
            false = false_edits(row.claim, row.source, words, dice)
            for edit in dice.sample(false, min(3, len(false))):
                made.append((k, edit.kind, edit.text, edit.label))
            harmless = harmless_edits(row.claim, words, dice)
            for edit in dice.sample(harmless, min(1, len(harmless))):
                made.append((k, "harmless-" + edit.kind, edit.text, "S"))
        if dice.random() < (MOVED_TRUE if row.label == "S" else MOVED):
            other = dice.choice(pools[row.dataset.split("/")[0], int(fold[k])])
            if other.source != row.source:
                made.append((k, "moved", other.claim, "U"))
    made += _from_sentences(rows, words)
    return made


def _from_sentences(rows: list[data.Row], words: WordNet) -> list[tuple[int, str, str, str]]:
    """Sentences of the sources as claims: one as it stands, one harmless edit, two false ones."""
    made: list[tuple[int, str, str, str]] = []
    used: set[str] = set()
    for k, row in enumerate(rows):
        if row.source in used:
            continue
        used.add(row.source)
        dice = random.Random(f"{SEED}-sentence-{row.dataset}-{row.id}")
        picked = [
            s
            for s in re.split(r"(?<=[.!?])\s+|\n+", row.source[:60_000])
            if 8 <= len(s.split()) <= 32 and s[:1].isupper() and s.rstrip().endswith(".")
        ]
        count = 12 if len(row.source) > 8_000 else 4 if len(row.source) > 2_000 else 1
        for sentence in dice.sample(picked, min(count, len(picked))):
            harmless = harmless_edits(sentence, words, dice)
            true = dice.choice(harmless) if harmless and dice.random() < 0.7 else None
            made.append((k, f"sentence-{true.kind}" if true else "sentence", true.text if true else sentence, "S"))
            false = false_edits(true.text if true and dice.random() < 0.5 else sentence, row.source, words, dice)
            for edit in dice.sample(false, min(2, len(false))):
                made.append((k, f"sentence-{edit.kind}", edit.text, edit.label))
    return made


def trimmed(rows: list[data.Row], lexicon: Lexicon) -> list[tuple[int, str, str, str]]:
    """Claims that are not supported, without the words that their page lacks: what is left is mostly supported."""
    made: list[tuple[int, str, str, str]] = []
    for k, row in sorted(enumerate(rows), key=lambda pair: pair[1].source):
        if row.label not in ("P", "U") or row.dataset.startswith(("summedits", "fever")):
            continue
        claim = ClaimView.of(row.claim, lexicon, "en")
        if not len(claim):
            continue
        held = find(claim, view(row.source), lexicon).in_page > 0
        share = float(claim.weights @ held / claim.weights.sum())
        if 0.4 <= share < 1:
            parts = zip(claim.index.starts, claim.index.ends, held, strict=True)
            made.append((k, "trimmed", " ".join(row.claim[a:b] for a, b, kept in parts if kept), "S"))
    return made


@lru_cache(maxsize=64)
def view(text: str) -> SourceView:
    """A source text, read once for the rows that share it."""
    return SourceView.of(IndexedText(text_sha256(text), text), "en")


def run(folder: Path, wordnet: Path, work: Path) -> None:
    """Write the lexicon and the rows to the work folder."""
    words = WordNet(wordnet)
    rows = [row for dataset in data.TRAINED for row in data.read(folder, dataset)]
    lexicon = lexicon_of(list(dict.fromkeys(text for row in rows for text in (row.source, row.claim))), words)
    save(lexicon, work / "lexicon.npz")
    fold = data.folds(rows, FOLDS)
    made = edited(rows, fold, words) + trimmed(rows, lexicon)
    measured = [row for dataset in data.MEASURED for row in data.read(folder, dataset)]
    with (work / "rows.jsonl").open("w", encoding="utf-8") as file:
        jobs = [(k, "real", row.claim, row.label, int(fold[k])) for k, row in enumerate(rows)]
        jobs += [(k, kind, claim, label, int(fold[k])) for k, kind, claim, label in made]
        jobs += [(k, "real", row.claim, row.label, -1) for k, row in enumerate(measured, len(rows))]
        everything = rows + measured
        for k, kind, claim, label, number in sorted(jobs, key=lambda job: everything[job[0]].source):
            out = {
                "row": k,
                "dataset": everything[k].dataset,
                "kind": kind,
                "claim": claim,
                "label": label,
                "class3": everything[k].class3 if kind == "real" else None,
                "fold": number,
            }
            file.write(json.dumps(out, ensure_ascii=False) + "\n")
