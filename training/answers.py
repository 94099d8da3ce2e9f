"""Step 5: the answers to rows that were trained on, by models that did not see them, stored for the table of figures.

    python -m training.answers --data BENCHMARKS --work DIR --out training/answers.json.gz

One entry a row: probabilities (supported, contradicted, partial, absent) and the guards' doubts. No text is stored.
"""

from __future__ import annotations

import argparse
import gzip
import json
from pathlib import Path

import numpy as np

from training import data
from training.prepare import load, view
from verification_pipeline.checkers.embedded.features import Measured, negation_hashes
from verification_pipeline.checkers.embedded.guards import doubts
from verification_pipeline.checkers.embedded.retrieve import find
from verification_pipeline.checkers.embedded.views import ClaimView
from verification_pipeline.config import Embedded


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    rules = Embedded()
    lexicon, negations = load(options.work / "lexicon.npz"), negation_hashes(rules.negations)
    labelled = [row for name in (*data.TRAINED, *data.MEASURED) for row in data.read(options.data, name)]
    lines = [json.loads(line) for line in (options.work / "rows.jsonl").open(encoding="utf-8")]
    kept: dict[str, list] = {}
    with np.load(options.work / "answers.npz") as found:
        p = np.column_stack([found[name] for name in ("supported", "contradicted", "partial", "absent")])
        places = found["rows"]
    with np.load(options.work / "tree_scores.npz") as found:
        intact = found["intact"]
    for k, place in enumerate(places):
        line = lines[place]
        if line["kind"] != "real" or line["fold"] < 0:
            continue
        row = labelled[line["row"]]
        claim, source = ClaimView.of(row.claim, lexicon, "en"), view(row.source)
        measured = Measured(claim, source, find(claim, source, lexicon), lexicon, negations)
        doubted = [[doubt.kind, doubt.against] for doubt in doubts(measured, float(intact[k]), rules)]
        kept[f"{row.dataset} {row.id}"] = [*p[k].round(5).tolist(), doubted]
    with options.out.open("wb") as raw, gzip.GzipFile("", "wb", fileobj=raw, mtime=0) as file:
        file.write(json.dumps(kept, separators=(",", ":"), sort_keys=True).encode())


if __name__ == "__main__":
    main()
