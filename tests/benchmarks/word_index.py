"""The word index, and extraction and triage on top of it, over a planted archive on one core.

    python -m tests.benchmarks.word_index ARCHIVE [--documents 100 1000 3000]

CPU seconds; documents are read one at a time, as a night reads them. The rates should not fall and the peak memory
should not rise with the number of documents. Reading and decoding the files is not counted.
"""

from __future__ import annotations

import argparse
import resource
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

from rich.console import Console
from rich.table import Table

from tests.support.planted import documents
from verification_pipeline.citations import SourceCatalogue, extract
from verification_pipeline.config import Settings
from verification_pipeline.triage import triage


@dataclass(slots=True)
class Figures:
    """Counts, CPU seconds by step, and the peak memory of the process in MB."""

    documents: int = 0
    characters: int = 0
    words: int = 0
    pairs: int = 0
    index: float = 0.0
    extraction: float = 0.0
    triage: float = 0.0
    peak: float = 0.0


def measure(archive: Path, count: int) -> Figures:
    """The first `count` documents."""
    settings, shared, figures = Settings(), SourceCatalogue.build(()), Figures()
    for planted in documents(archive, count):
        started = time.process_time()
        for one in planted.evidence.values():
            figures.words += len(one.body.index)
        indexed = time.process_time()
        cited = extract(planted.document, planted.sources, shared, settings)
        extracted = time.process_time()
        rows = triage(cited.pairs, planted.evidence, settings, "en")
        figures.triage += time.process_time() - extracted
        figures.extraction += extracted - indexed
        figures.index += indexed - started
        figures.documents += 1
        figures.characters += sum(len(one.body.text) for one in planted.evidence.values())
        figures.pairs += len(rows)
    figures.peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("archive", type=Path)
    parser.add_argument("--documents", type=int, nargs="+", default=[100, 1000, 3000])
    options = parser.parse_args()
    table = Table(
        "documents", "word index, MB/s", "extraction, pairs/s", "triage, pairs/s", "both", "with index", "peak, MB"
    )
    for count in sorted(options.documents):
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as fresh:
            found = fresh.submit(measure, options.archive, count).result()
        both = found.extraction + found.triage
        rates = (found.pairs / seconds for seconds in (found.extraction, found.triage, both, both + found.index))
        speed = f"{found.characters / found.index / 1e6:.0f}"
        table.add_row(str(found.documents), speed, *(f"{rate:,.0f}" for rate in rates), f"{found.peak:.0f}")
    Console(width=130).print(table)


if __name__ == "__main__":
    main()
