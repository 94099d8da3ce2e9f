"""Step 2: the features of every row of the work folder.

python -m training.measure --data BENCHMARKS --work DIR [--sentences N]
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np

from training import data
from training.prepare import load, view
from verification_pipeline.checkers.embedded.features import Measured, features, negation_hashes
from verification_pipeline.checkers.embedded.retrieve import find
from verification_pipeline.checkers.embedded.views import ClaimView
from verification_pipeline.config import Embedded


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--sentences", type=int, default=6_000, help="Edited source sentences that are measured.")
    options = parser.parse_args()
    sources = [row.source for dataset in (*data.TRAINED, *data.MEASURED) for row in data.read(options.data, dataset)]
    lexicon, negations = load(options.work / "lexicon.npz"), negation_hashes(Embedded().negations)
    names: list[str] = []
    table: list[list[float]] = []
    kept: list[int] = []
    rows = [json.loads(line) for line in (options.work / "rows.jsonl").open(encoding="utf-8")]
    sentences = [k for k, row in enumerate(rows) if row["kind"].startswith("sentence")]
    step = max(1, len(sentences) // options.sentences)
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
        options.work / "features.npz",
        names=np.array(names),
        values=np.array(table, np.float32),
        rows=np.array(kept),
    )


if __name__ == "__main__":
    main()
