"""Step 2: the features of every row of the work folder."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from training import data
from training.prepare import load, view
from verification_pipeline.checkers.embedded.features import Measured, features, negation_hashes
from verification_pipeline.checkers.embedded.retrieve import find
from verification_pipeline.checkers.embedded.views import ClaimView
from verification_pipeline.config import Embedded

SENTENCES = 3_000
"""Edited source sentences that are measured."""


def run(folder: Path, work: Path) -> None:
    """Write the features of the rows to the work folder."""
    sources = [row.source for dataset in (*data.TRAINED, *data.MEASURED) for row in data.read(folder, dataset)]
    lexicon, negations = load(work / "lexicon.npz"), negation_hashes(Embedded().negations)
    names: list[str] = []
    table: list[list[float]] = []
    kept: list[int] = []
    rows = [json.loads(line) for line in (work / "rows.jsonl").open(encoding="utf-8")]
    sentences = [k for k, row in enumerate(rows) if row["kind"].startswith("sentence")]
    step = max(1, len(sentences) // SENTENCES)
    left_out = set(sentences) - set(sentences[::step])
    for k, row in enumerate(rows):
        if k in left_out:
            continue
        claim, source = ClaimView.of(row["claim"], lexicon, "en"), view(sources[row["row"]])
        if not len(claim):
            continue
        figures = features(Measured(claim, source, find(claim, source, lexicon), lexicon, negations))
        names = names or list(figures)
        table.append(list(figures.values()))
        kept.append(k)
    np.savez(
        work / "features.npz",
        names=np.array(names),
        values=np.array(table, np.float32),
        rows=np.array(kept),
    )
