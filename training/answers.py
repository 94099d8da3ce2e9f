"""Step 5: the answers to rows that were trained on, by models that did not see them, stored for the table of figures.

One entry a row: probabilities (supported, contradicted, partial, absent) the guards' doubts, the
scores of `model.PAPER` for citing sentences, and the fold. No text is stored.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np

from training import data
from training.prepare import load, view
from verification_pipeline.checkers.embedded.features import Measured, negation_hashes
from verification_pipeline.checkers.embedded.guards import doubts
from verification_pipeline.checkers.embedded.model import PAPER
from verification_pipeline.checkers.embedded.retrieve import find
from verification_pipeline.checkers.embedded.views import ClaimView
from verification_pipeline.config import Embedded


def run(folder: Path, work: Path, out: Path) -> None:
    """Write the answers to rows that were trained on."""
    rules = Embedded()
    lexicon, negations = load(work / "lexicon.npz"), negation_hashes(rules.negations)
    labelled = [row for name in (*data.TRAINED, *data.MEASURED) for row in data.read(folder, name)]
    lines = [json.loads(line) for line in (work / "rows.jsonl").open(encoding="utf-8")]
    kept: dict[str, list] = {}
    with np.load(work / "answers.npz") as found:
        p = np.column_stack([found[name] for name in ("supported", "contradicted", "partial", "absent")])
        places = found["rows"]
    with np.load(work / "tree_scores.npz") as found:
        intact = found["intact"]
        paper = np.column_stack([found[name] for name in PAPER])
    for k, place in enumerate(places):
        line = lines[place]
        if line["kind"] != "real" or line["fold"] < 0:
            continue
        row = labelled[line["row"]]
        claim, source = ClaimView.of(row.claim, lexicon, "en"), view(row.source)
        measured = Measured(claim, source, find(claim, source, lexicon), lexicon, negations)
        doubted = [[doubt.kind, doubt.against] for doubt in doubts(measured, float(intact[k]), rules)]
        reading = paper[k].round(4).tolist() if row.class3 else []
        kept[f"{row.dataset} {row.id}"] = [*p[k].round(5).tolist(), doubted, reading, line["fold"]]
    with out.open("wb") as raw, gzip.GzipFile("", "wb", fileobj=raw, mtime=0) as file:
        file.write(json.dumps(kept, separators=(",", ":"), sort_keys=True).encode())
