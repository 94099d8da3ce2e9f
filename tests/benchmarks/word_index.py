"""The word index, and extraction and triage on top of it, over planted archives of several sizes on one core.

    python -m tests.benchmarks.word_index [ARCHIVE] [--documents 100 1000 3000]

Without ARCHIVE one is made by the generator in the shared folder. CPU seconds; documents are read one at a time, as a
night reads them; reading and decoding the files is not counted. Linear means that a document costs the same in every
archive (`cost` is relative to the smallest one) and that the peak memory does not rise.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.console import Console
from rich.table import Table

from tests.support.planted import documents, made
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


def report(archive: Path, sizes: Sequence[int]) -> Table:
    """One row for each number of documents, each measured in a process of its own."""
    columns = "documents,index MB/s,extraction pairs/s,triage pairs/s,both pairs/s,with index pairs/s,cost,peak MB"
    table = Table(*columns.split(","))
    smallest = 0.0
    for count in sorted(sizes):
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as fresh:
            found = fresh.submit(measure, archive, count).result()
        both = found.extraction + found.triage
        rates = (found.pairs / seconds for seconds in (found.extraction, found.triage, both, both + found.index))
        cost = (both + found.index) / found.documents
        smallest = smallest or cost
        table.add_row(
            str(found.documents),
            f"{found.characters / found.index / 1e6:.0f}",
            *(f"{rate:,.0f}" for rate in rates),
            f"{cost / smallest:.2f}",
            f"{found.peak:.0f}",
        )
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("archive", type=Path, nargs="?")
    parser.add_argument("--documents", type=int, nargs="+", default=[100, 1000, 3000])
    options = parser.parse_args()
    with TemporaryDirectory() as folder:
        archive = options.archive or made(Path(folder) / "archive", max(options.documents))
        if archive is None:
            sys.exit("no archive: the shared folder is not beside this checkout")
        Console(width=130).print(report(archive, options.documents))


if __name__ == "__main__":
    main()
