"""Whole nights of the command over a planted archive, without a checker: speed, memory, what an unchanged night costs.

    python -m tests.benchmarks.night ARCHIVE [--documents 300 3300] [--workers 2] [--one-worker]

For each size, on the first documents of ARCHIVE: a night on an empty corpus (start-up), a first night, the same night
again, a night after one document changed, and one after the text of one source changed. `--one-worker` adds a first
night with one worker, whose receipts must have the same digests: exit status 1 when they differ. CPU seconds are those
of the whole process tree: the fair figure on a busy machine; wall time stands beside them. Memory is the peak of all
processes together. Rates are of the first night without start-up.
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
from pathlib import Path

from tests.support import processes, stores
from tests.support.planted import first_documents

_ROW = "  {:24}{:>9}{:>9}{:>9}{:>25}{:>9}"


def night(corpus: Path, out: Path, workers: int) -> processes.Ended:
    """One night to its end."""
    ended = processes.measured("run", corpus, "--out", out, "--checker", "none", "--workers", workers)
    if ended.status:
        raise SystemExit(f"the night ends with {ended.status}: {ended.stderr}")
    return ended


def nights(archive: Path, folder: Path, count: int, workers: int, one_worker: bool) -> bool:
    """All nights of one size, a line each as it ends; whether one worker, if asked for, gives the same digests."""
    corpus = first_documents(archive, count, folder / "corpus")
    (folder / "empty" / "documents").mkdir(parents=True)
    out, alone = folder / "out", folder / "out-one"
    with (corpus / "sources.jsonl").open("rb") as rows:
        n_sources = sum(1 for _ in rows)
    print(f"{count} documents, {n_sources} sources, {workers} workers")
    print(_ROW.format("", "CPU s", "wall s", "peak MB", "of the first night, CPU", "wall"), flush=True)
    empty = night(folder / "empty", folder / "out-empty", workers)
    first = night(corpus, out, workers)
    kept = stores.digests(out)

    def line(name: str, ended: processes.Ended) -> None:
        shares = (ended.cpu_seconds / first.cpu_seconds, ended.wall_seconds / first.wall_seconds)
        figures = (f"{ended.cpu_seconds:.1f}", f"{ended.wall_seconds:.1f}", f"{ended.peak_megabytes:.0f}")
        print(_ROW.format(name, *figures, *(f"{share:.1%}" for share in shares)), flush=True)

    line("empty corpus", empty)
    line("first night", first)
    spent = (first.cpu_seconds - empty.cpu_seconds, first.wall_seconds - empty.wall_seconds)
    for name, seconds in zip(("of CPU", f"with {workers} workers"), spent, strict=True):
        print(f"  in a minute {name}: {60 * count / seconds:.0f} documents, {60 * n_sources / seconds:.0f} sources")
    line("unchanged", night(corpus, out, workers))
    _change_document(corpus)
    line("one document changed", night(corpus, out, workers))
    _change_source(corpus)
    line("one source changed", night(corpus, out, workers))
    if not one_worker:
        return True
    shutil.rmtree(corpus)
    first_documents(archive, count, corpus)
    line("first night, one worker", night(corpus, alone, 1))
    equal = kept == stores.digests(alone)
    print(f"digests with one worker and with {workers}: {'equal' if equal else 'DIFFERENT'}")
    return equal


def _change_document(corpus: Path) -> None:
    path = sorted((corpus / "documents").iterdir())[0]
    path.write_text(path.read_text("utf-8") + "\nNothing more is known.\n", "utf-8")


def _change_source(corpus: Path) -> None:
    path, beside = corpus / "sources.jsonl", corpus / "sources.tmp"
    with path.open("rb") as lines, beside.open("wb") as changed:
        row = json.loads(next(lines))
        changed.write(json.dumps({**row, "text": row["text"] + " Nothing more is known."}).encode() + b"\n")
        shutil.copyfileobj(lines, changed)
    beside.replace(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("archive", type=Path)
    parser.add_argument("--documents", type=int, nargs="+", default=[300, 1000])
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--one-worker", action="store_true")
    options = parser.parse_args()
    same = []
    for count in sorted(options.documents):
        with tempfile.TemporaryDirectory() as folder:
            same.append(nights(options.archive, Path(folder), count, options.workers, options.one_worker))
        print(flush=True)
    raise SystemExit(not all(same))


if __name__ == "__main__":
    main()
