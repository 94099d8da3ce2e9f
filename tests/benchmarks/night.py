"""Whole nights of the command over a planted archive, without a checker: speed, memory, what an unchanged night costs.

    python -m tests.benchmarks.night ARCHIVE [--documents 300 1000] [--workers 2]

For each size, on the first documents of ARCHIVE: an empty corpus (start-up), a first night, the same night again, a
night after one document changed, a night after the text of one source changed, and a first night with one worker,
whose receipts must have the same digests. CPU seconds are those of the whole process tree: the fair figure on a busy
machine; wall time stands beside them. Memory is the peak of all processes together. Exit status 1 when digests differ.
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
from pathlib import Path

from rich.console import Console
from rich.table import Table

from tests.support import processes, stores
from tests.support.planted import first_documents


def night(corpus: Path, out: Path, workers: int) -> processes.Ended:
    """One night to its end."""
    ended = processes.measured("run", corpus, "--out", out, "--checker", "none", "--workers", workers)
    if ended.status:
        raise SystemExit(f"the night ends with {ended.status}: {ended.stderr}")
    return ended


def nights(archive: Path, folder: Path, count: int, workers: int) -> tuple[Table, bool]:
    """All nights of one size, and whether one worker gives the digests of several."""
    corpus = first_documents(archive, count, folder / "corpus")
    (folder / "empty" / "documents").mkdir(parents=True)
    out = folder / "out"
    empty = night(folder / "empty", folder / "out-empty", workers)
    first = night(corpus, out, workers)
    n_sources = sum(1 for _ in (corpus / "sources.jsonl").open("rb"))
    title = f"{count} documents, {n_sources} sources, {workers} workers"
    table = Table("night", "CPU s", "wall s", "peak MB", "of the first, CPU", "of the first, wall", title=title)
    kept = stores.digests(out)

    def line(name: str, ended: processes.Ended) -> None:
        shares = (ended.cpu_seconds / first.cpu_seconds, ended.wall_seconds / first.wall_seconds)
        figures = (f"{ended.cpu_seconds:.1f}", f"{ended.wall_seconds:.1f}", f"{ended.peak_megabytes:.0f}")
        table.add_row(name, *figures, *(f"{share:.1%}" for share in shares))

    line("empty corpus", empty)
    line("first", first)
    line("unchanged", night(corpus, out, workers))
    _change_document(corpus)
    line("one document changed", night(corpus, out, workers))
    _change_source(corpus)
    line("one source changed", night(corpus, out, workers))
    shutil.rmtree(corpus)
    first_documents(archive, count, corpus)
    line("first, one worker", night(corpus, folder / "out-one", 1))
    for name, seconds in (("CPU", first.cpu_seconds), ("wall", first.wall_seconds)):
        documents, sources = 60 * count / seconds, 60 * n_sources / seconds
        table.add_row(f"a {name} minute", f"{documents:.0f} documents, {sources:.0f} sources")
    return table, kept == stores.digests(folder / "out-one")


def _change_document(corpus: Path) -> None:
    path = sorted((corpus / "documents").iterdir())[0]
    path.write_text(path.read_text("utf-8") + "\nNothing more is known.\n", "utf-8")


def _change_source(corpus: Path) -> None:
    path = corpus / "sources.jsonl"
    with path.open(encoding="utf-8") as lines:
        row = json.loads(next(lines))
        rest = lines.read()
    changed = json.dumps({**row, "text": row["text"] + " Nothing more is known."})
    path.write_text(f"{changed}\n{rest}", "utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("archive", type=Path)
    parser.add_argument("--documents", type=int, nargs="+", default=[300, 1000])
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    console, same = Console(width=130), True
    for count in sorted(options.documents):
        with tempfile.TemporaryDirectory() as folder:
            table, equal = nights(options.archive, Path(folder), count, options.workers)
        console.print(table)
        console.print(f"digests with one worker and with {options.workers}: {'equal' if equal else 'DIFFERENT'}")
        same = same and equal
    raise SystemExit(not same)


if __name__ == "__main__":
    main()
