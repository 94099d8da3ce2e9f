"""Side by side with the `hyperresearch` package, in one run, on one planted archive. CPU seconds of one core each.

    python -m tests.benchmarks.peer ARCHIVE --peer-python PATH [--documents 100 1000] [--sources 3000] [--limit 480]

PATH is an interpreter that has the package; `peer_driver.py` runs there. Each side reads its own store: it has a
database with a full-text index (and claims that someone extracted before), we have the texts. Quotes are checked over
the smallest number of documents, voices are counted over --sources sources; its count of them is ended after --limit
CPU seconds, and the ratio is then a lower bound. Both sides read the same documents;
what each finds in them is printed beside the time, because it does not find the same.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import time
from collections import Counter
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from tests.support.planted import Planted, documents
from verification_pipeline.citations import SourceCatalogue, extract
from verification_pipeline.config import Settings
from verification_pipeline.independence import Member, cluster_archive, measuring, sketch
from verification_pipeline.quotes import check_quotes
from verification_pipeline.records import Source
from verification_pipeline.stages.voices import SketchRow
from verification_pipeline.tables import frame
from verification_pipeline.text.index import IndexedText
from verification_pipeline.triage import triage

SETTINGS = Settings()
SHARED = SourceCatalogue.build(())
SOURCES_A_DOCUMENT = 30
Seconds = dict[str, float]


def ours(archive: Path, count: int) -> tuple[Seconds, Counter[str]]:
    """Word index, pairs (extraction and triage) and quotes of the first documents."""
    spent: Seconds = {}
    found: Counter[str] = Counter()
    for planted in documents(archive, count):
        clock = time.process_time()
        for one in planted.evidence.values():
            _ = one.body.index
        clock = _add(spent, "index", clock)
        cited = extract(planted.document, planted.sources, SHARED, SETTINGS)
        rows = triage(cited.pairs, planted.evidence, SETTINGS, "en")
        clock = _add(spent, "pairs", clock)
        quotes = check_quotes(planted.document, cited, planted.evidence, (), SETTINGS.quotes)
        _add(spent, "quotes", clock)
        found["documents"] += 1
        found["sources"] += len(planted.sources)
        found["pairs"] += len(rows)
        found["passed"] += sum(row.outcome == "auto-passed" for row in rows)
        found["quotes"] += sum(row.status in ("altered", "not-found") for row in quotes)
    return spent, found


def voices(archive: Path, count: int) -> tuple[float, int]:
    """CPU seconds from the texts of the first documents' sources to clusters of the whole archive; their number."""
    held: dict[str, IndexedText] = {}
    sources: list[Source] = []
    rows: list[SketchRow] = []
    spent = 0.0
    planted: Planted
    for planted in documents(archive, count):
        sources += planted.sources
        held |= {key: IndexedText(one.body.sha256, one.body.text) for key, one in planted.evidence.items()}
        clock = time.process_time()
        rows += [SketchRow.of(sketch(one, SETTINGS.independence), None) for one in planted.evidence.values()]
        spent += time.process_time() - clock
    clock = time.process_time()
    measure = measuring(held.__getitem__, SETTINGS.independence)
    members = (Member.of(source, SETTINGS.independence) for source in sources)
    clusters = cluster_archive(members, frame("sketches", rows), measure, SETTINGS.independence)
    spent += time.process_time() - clock
    return spent, len({row.cluster_id for row in clusters})


def theirs(python: Path, archive: Path, count: int, stages: str, limit: int = 0) -> dict[str, Any]:
    """What the driver prints; `limit` in CPU seconds."""
    driver = Path(__file__).with_name("peer_driver.py")
    command = [str(python), str(driver), str(archive), str(count), stages, str(limit)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr)
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def _add(spent: Seconds, name: str, clock: float) -> float:
    now = time.process_time()
    spent[name] = spent.get(name, 0.0) + now - clock
    return now


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("archive", type=Path)
    parser.add_argument("--peer-python", type=Path, required=True)
    parser.add_argument("--documents", type=int, nargs="*", default=[100, 1000], help="none: voices only")
    parser.add_argument("--sources", type=int, default=3000, help="sources whose voices are counted; 0: none")
    parser.add_argument("--limit", type=int, default=0, help="CPU seconds for the other's voices; 0: no limit")
    options = parser.parse_args()
    table = Table("stage", "ours, CPU s", "theirs, CPU s", "theirs / ours", "ours finds", "theirs finds")

    def line(stage: str, mine: float, other: float, mine_found: object = "", other_found: object = "") -> None:
        table.add_row(stage, f"{mine:.3f}", f"{other:.3f}", f"{other / mine:.2f}", str(mine_found), str(other_found))

    sizes = sorted(options.documents)
    for count in sizes:
        with_quotes = count == sizes[0]
        spent, found = ours(options.archive, count)
        peer = theirs(options.peer_python, options.archive, count, "pairs,quotes" if with_quotes else "pairs")
        seconds = peer["seconds"]
        of = f"{found['documents']} documents"
        my_pairs, peer_pairs = (f"{one['pairs']} pairs, {one['passed']} passed" for one in (found, peer))
        line(f"pairs and triage, {of}", spent["pairs"], seconds["pairs"], my_pairs, peer_pairs)
        line(
            f"same, each side's index made, {of}", spent["pairs"] + spent["index"], seconds["pairs"] + seconds["store"]
        )
        if with_quotes:
            line(
                f"quotes, {of}",
                spent["quotes"],
                seconds["quotes"],
                f"{found['quotes']} faults",
                f"{peer['quotes']} faults",
            )
    if options.sources:
        count = options.sources // SOURCES_A_DOCUMENT
        mine, clusters = voices(options.archive, count)
        peer = theirs(options.peer_python, options.archive, count, "independence", options.limit)
        stage, seconds = f"voices of {peer['sources']} sources", peer["seconds"]["independence"]
        if peer["unfinished"]:
            found = (f"{clusters} clusters", f"not finished after {seconds:.0f} s")
            table.add_row(stage, f"{mine:.3f}", f"> {seconds:.0f}", f"> {seconds / mine:.0f}", *found)
        else:
            line(stage, mine, seconds, f"{clusters} clusters", f"{peer['clusters']} clusters")
    Console(width=150).print(table)


if __name__ == "__main__":
    main()
