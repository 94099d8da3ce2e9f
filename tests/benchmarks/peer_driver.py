"""The other side of `peer.py`: runs the `hyperresearch` package on the first documents of a planted archive.

    PYTHON_THAT_HAS_IT tests/benchmarks/peer_driver.py ARCHIVE DOCUMENTS STAGE[,STAGE ...] [CPU_SECONDS]

Stages: store, pairs, quotes, independence. Its own functions run over a database of its own schema, filled here as its
import fills it: one note a source, one claim a planted claim. Prints one JSON object: CPU seconds and counts by stage.
Independence is ended after CPU_SECONDS; `unfinished` then says so, and its seconds are those until then.
Needs that package and nothing else.
"""

from __future__ import annotations

import itertools
import json
import resource
import signal
import sqlite3
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

from hyperresearch.cli.lint import _check_quote_integrity
from hyperresearch.core.citecheck import extract_pairs, triage_pairs
from hyperresearch.core.config import DedupSettings
from hyperresearch.core.db import get_connection, init_schema
from hyperresearch.core.independence import compute_independence

_NOTE = (
    "INSERT INTO notes (id, title, path, type, source, created, file_mtime, content_hash, synced_at)"
    " VALUES (?, ?, ?, 'note', ?, ?, 0, '', '')"
)
_CLAIM = (
    "INSERT OR IGNORE INTO claims (note_id, claim, claim_hash, quoted_support, numbers, ingested_at)"
    " VALUES (?, ?, ?, ?, ?, '')"
)


class OutOfTimeError(BaseException):
    """A stage has spent the CPU seconds it was given. No handler of `Exception` in the package may swallow it."""


@contextmanager
def limited(seconds: int) -> Iterator[None]:
    """Raises OutOfTimeError inside once so many CPU seconds have been spent (0: no limit)."""

    def stop(*_: object) -> None:
        raise OutOfTimeError

    signal.signal(signal.SIGXCPU, stop)
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (int(time.process_time()) + seconds if seconds else hard, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_CPU, (hard, hard))


def main(archive: Path, count: int, stages: list[str], limit: int) -> None:
    figures: dict[str, float] = {}
    unfinished: list[str] = []

    @contextmanager
    def timed(name: str) -> Iterator[None]:
        started = time.process_time()
        try:
            yield
        except OutOfTimeError:
            unfinished.append(name)
        finally:
            figures[name] = figures.get(name, 0.0) + time.process_time() - started

    with tempfile.TemporaryDirectory() as folder:
        db = get_connection(Path(folder) / "vault.db")
        init_schema(db)
        ids, n_sources = _fill(db, archive, count, timed)
        texts = [(archive / "documents" / f"{name}.md").read_text("utf-8") for name in ids]
        vault = SimpleNamespace(db=db, config=SimpleNamespace(dedup=DedupSettings()))
        totals = {"documents": len(ids), "sources": n_sources, "pairs": 0, "passed": 0, "quotes": 0, "clusters": 0}
        for text in texts if "pairs" in stages else ():
            with timed("pairs"):
                found = triage_pairs(extract_pairs(text, db), db)
            totals["pairs"] += found["total"]
            totals["passed"] += found["supported_mechanical"]
        for name, text in zip(ids, texts, strict=True) if "quotes" in stages else ():
            with timed("quotes"):
                totals["quotes"] += len(_check_quote_integrity(vault, db, name, text))
        if "independence" in stages:
            with timed("independence"), limited(limit):
                totals["clusters"] = len(compute_independence(vault)["clusters"])
        db.close()
    print(json.dumps({"seconds": figures, "unfinished": unfinished, **totals}))


def _fill(db: sqlite3.Connection, archive: Path, count: int, timed) -> tuple[list[str], int]:  # type: ignore[no-untyped-def]
    ids: list[str] = []
    n_sources = 0
    with (archive / "sources.jsonl").open(encoding="utf-8") as lines:
        rows = (json.loads(line) for line in lines)
        for document_id, sources in itertools.islice(
            itertools.groupby(rows, key=lambda row: row["document_id"]), count
        ):
            ids.append(document_id)
            held = list(sources)
            n_sources += len(held)
            with timed("store"):
                for source in held:
                    _insert(db, source)
    with timed("store"):
        db.commit()
    return ids, n_sources


def _insert(db: sqlite3.Connection, source: dict) -> None:  # type: ignore[type-arg]
    key, title, url, text = source["id"], source["title"], source["url"], source["text"]
    db.execute(_NOTE, (key, title, f"research/notes/{key}.md", url, source["fetched_at"]))
    db.execute("INSERT INTO note_content VALUES (?, ?, ?)", (key, text, text))
    db.execute(
        "INSERT INTO notes_fts (id, title, body_plain, tags, aliases) VALUES (?, ?, ?, '', '')", (key, title, text)
    )
    db.execute("INSERT OR IGNORE INTO sources (url, note_id) VALUES (?, ?)", (url, key))
    for n, claim in enumerate(source["claims"]):
        numbers = json.dumps(claim["numbers"])
        db.execute(_CLAIM, (key, claim["claim"], str(n), claim["quoted_support"], numbers))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3].split(","), int(sys.argv[4]) if sys.argv[4:] else 0)
