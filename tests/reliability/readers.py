"""Readers of the DuckDB file while nights replace it: `python -m tests.reliability.readers [READERS] [NIGHTS]`.

Each reader is a process that opens the file, asks two tables that are replaced together whether they agree, closes it,
and starts again after a pause, the longer the more readers there are; a few keep one connection open throughout. What
a reader must never see: an error, no file, or half.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from tests.support.corpora import MILL, harbour
from tests.support.nights import verify

_READER = '''
import os, pathlib, sys, time
import duckdb

file, stop, keep = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3] == "keep"
asked = """
SELECT
    (SELECT count(*) FROM runs WHERE finished_at IS NOT NULL),
    (SELECT count(DISTINCT run_id) FROM metrics),
    (SELECT count(*) FROM current_receipts)
"""
open_one = lambda: duckdb.connect(file, read_only=True, config={"threads": 1, "memory_limit": "200MB"})
seen, reads, held, parent = set(), 0, open_one() if keep else None, os.getppid()
while not stop.exists() and os.getppid() == parent:
    connection = held or open_one()
    runs, counted, receipts = connection.execute(asked).fetchone()
    assert runs == counted and receipts == 2, (runs, counted, receipts)
    seen.add(runs)
    reads += 1
    if not keep:
        connection.close()
    time.sleep(float(sys.argv[4]))
print(reads, len(seen))
'''


def read_while_nights_run(root: Path, readers: int, nights: int) -> tuple[int, Counter[int]]:
    """Reads in all, and how many readers saw how many versions. AssertionError: what a reader stumbled on."""
    corpus, out, stop = harbour(root / "harbour"), root / "out", root / "stop"
    verify(out, corpus)
    script = root / "reader.py"
    script.write_text(_READER)
    file = str(out / "verification.duckdb")
    started = [
        subprocess.Popen(
            [sys.executable, str(script), file, str(stop), "keep" if number % 5 == 0 else "again", f"{readers / 25}"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for number in range(readers)
    ]
    try:
        for number in range(nights):
            (corpus / "documents" / "mill.md").write_text(MILL.replace("three", f"{number + 4}"), "utf-8")
            verify(out, corpus)
    finally:
        stop.touch()
        said = [process.communicate(timeout=120) for process in started]
    failures = [error.strip().splitlines()[-1] for _, error in said if error.strip()]
    assert not failures, failures
    answers = [tuple(map(int, answer.split())) for answer, _ in said]
    return sum(reads for reads, _ in answers), Counter(versions for _, versions in answers)


if __name__ == "__main__":
    readers, nights = (int(argument) for argument in (*sys.argv[1:], *("50", "4")[len(sys.argv) - 1 :]))
    with tempfile.TemporaryDirectory() as folder:
        reads, versions = read_while_nights_run(Path(folder), readers, nights)
    print(f"{readers} readers, {nights} nights: {reads} reads, none failed; readers by versions seen: {dict(versions)}")
