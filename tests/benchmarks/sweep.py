"""Speed and memory of the retraction sweep: a register of the real one's size, many DOIs, many days.

Run as a script; it makes its own inputs (invented rows in the register's format) and prints one line a figure.
Options: --works N, --rows N, --days N.
"""

from __future__ import annotations

import argparse
import csv
import resource
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import polars as pl

from verification_pipeline.config import Registers
from verification_pipeline.dois.normalise import find_dois
from verification_pipeline.dois.retraction_watch import COLUMNS, read
from verification_pipeline.dois.sweep import Stored, run

CLOCK = datetime(2026, 1, 10, tzinfo=UTC)
NATURES = ("Retraction",) * 17 + ("Expression of concern", "Correction", "Reinstatement")


def register_rows(count: int) -> Iterator[list[str]]:
    """Rows of the register's format and about its length (900 bytes each)."""
    padding = "Department of Tides, University of the Coast; " * 12
    for number in range(count):
        paper = number * 7 % (count * 9 // 10)
        year, month, day = 2000 + number % 26, 1 + number % 12, 1 + number % 28
        yield [
            str(number), f"On the tides of harbour {number}", "(ENV) Oceanography;", padding, "Journal of Tides",
            "Coastal Press", "Nowhere", "A Marsh;B Reed", "https://example.org/;", "Research Article;",
            f"{month}/{day}/{year} 0:00", f"10.5555/notice({number})", str(number), "1/1/1999 0:00",
            f"10.5555/Paper.{paper}", "0", NATURES[number % len(NATURES)], "+Error in Data;+Concerns about Tides;",
            "No", "", "",
        ]  # fmt: skip


def write_register(path: Path, count: int) -> None:
    """A register file of `count` rows."""
    with path.open("w", encoding="utf-8", newline="") as out:
        writer = csv.writer(out, lineterminator="\r\n")
        writer.writerow([*COLUMNS, ""])
        writer.writerows(register_rows(count))


def cited(count: int) -> pl.DataFrame:
    """`count` works; as many as the register has papers are in it."""
    dois = [f"10.5555/paper.{number}" for number in range(count)]
    return pl.DataFrame({"work_id": [f"doi:{doi}" for doi in dois], "doi": dois}).with_columns(
        pmid=pl.lit(None, dtype=pl.String),
        title=pl.lit("On tides"),
        comment=pl.lit(None, dtype=pl.String),
    )


def report(what: str, started: float, detail: str = "") -> None:
    """One line: what, CPU seconds of all threads, peak memory so far."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{what}: {time.process_time() - started:.1f} CPU-s, peak {peak:,.0f} MB {detail}".rstrip(), flush=True)


def main() -> None:
    """Print the figures."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--works", type=int, default=1_000_000)
    options.add_argument("--rows", type=int, default=71_641)
    options.add_argument("--days", type=int, default=2_500)
    asked = options.parse_args()
    text = "The tide rises, see https://doi.org/10.5555/S0000-1111(97)11096-0). And more words follow here. " * 10_000
    started = time.process_time()
    find_dois(text)
    report("extraction", started, f"{len(text) / 1e6:.1f} MB, 10,000 DOIs")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "retraction_watch.csv"
        write_register(path, asked.rows)
        settings = Registers(retraction_watch=path, canaries=())
        started = time.process_time()
        read(path, settings, CLOCK)
        report("load", started, f"{path.stat().st_size / 1e6:.0f} MB, {asked.rows:,} rows")
        works = cited(asked.works)
        started = time.process_time()
        result = run(works, Stored.nothing(), settings, CLOCK.date(), CLOCK, CLOCK)
        report("sweep", started, f"{asked.works:,} DOIs, {dict(result.statuses['status'].value_counts().iter_rows())}")
        stored = Stored(result.lookups, result.notices, result.statuses)
        started = time.process_time()
        run(works, stored, settings, CLOCK.date() + timedelta(days=1), CLOCK, CLOCK)
        report("same file, next night", started)
        fewer = works.head(100_000)
        first = CLOCK.date() - timedelta(days=asked.days - 1)
        started = time.process_time()
        filled = run(fewer, Stored.nothing(), settings, (first, date(2026, 1, 10)), CLOCK, CLOCK)
        report("range", started, f"{fewer.height:,} DOIs, {asked.days:,} days, {filled.statuses.height:,} periods")


if __name__ == "__main__":
    main()
