"""Makes the shipped model from a folder of labelled sets, in one command, with fixed seeds.

    python -m training BENCHMARKS --wordnet DICT --out verification_pipeline/checkers/embedded/model.npz

Prepares rows, measures features, grows the trees, fits the calibration and stores the answers of models that did not
see a row, for the table of figures. About five minutes on one core.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from training import answers, calibrate, measure, prepare, train_trees


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m training", description=__doc__)
    parser.add_argument("data", type=Path, help="Folder of the labelled sets.")
    parser.add_argument("--wordnet", type=Path, required=True, help="Folder of the WordNet database files.")
    parser.add_argument("--out", type=Path, required=True, help="The model file.")
    parser.add_argument(
        "--answers",
        type=Path,
        default=Path(__file__).parent / "answers.json.gz",
        help="Where answers of models that did not see a row go.",
    )
    parser.add_argument("--work", type=Path, help="Folder for what is in between; kept when given.")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as passing:
        work = options.work or Path(passing)
        work.mkdir(parents=True, exist_ok=True)
        for step, words in (
            (lambda: prepare.run(options.data, options.wordnet, work), "rows"),
            (lambda: measure.run(options.data, work), "features"),
            (lambda: train_trees.run(work), "trees"),
            (lambda: calibrate.run(work, options.out), "calibration"),
            (lambda: answers.run(options.data, work, options.answers), "answers"),
        ):
            step()
            print(f"{words} done", flush=True)


if __name__ == "__main__":
    main()
