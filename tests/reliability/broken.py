"""Broken documents by the thousand through the whole command: all accounted for, none slow.

    python -m tests.reliability.broken FOLDER [--documents 20000] [--seed 1] [--workers 2] [--seconds 10]

FOLDER holds bundles (`*.jsonl` with `markdown` and `sources`). Every document is one of theirs, broken in a way drawn
from the seed: cut, binary, without line ends, nested beyond reason, in another encoding, strewn with controls, with
front matter that is none; so are its sources. A document must have a row, whatever became of it, and a receipt; pairs
and markers must add up; no document may take longer than `--seconds`. Prints one JSON object; exit status 1 on a fault.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tests.support import processes
from verification_pipeline.store import Store
from verification_pipeline.sums import broken_sums

_SOURCES = 3
_LONGEST = 20_000  # code points that are kept of a document: many inputs say more than long ones
Break = Callable[[str, random.Random], bytes]


def _cut(text: str, dice: random.Random) -> bytes:
    raw = text.encode()
    return raw[: dice.randrange(len(raw) + 1)]


def _binary(text: str, dice: random.Random) -> bytes:
    raw = bytearray(text.encode())
    for _ in range(dice.randint(1, 200)):
        raw[dice.randrange(len(raw))] = dice.randrange(256)
    return bytes(raw)


def _endless_line(text: str, dice: random.Random) -> bytes:
    return (text.replace("\n", " ") * dice.randint(1, 8)).encode()


def _nested(text: str, dice: random.Random) -> bytes:
    opening = dice.choice(["> ", "- ", "[", "(", "**", "<div>", "`", "|", "#", "[[", "1. ", "{", "<!--", "$"])
    deep = opening * dice.randint(100, 3_000)
    place = dice.randrange(len(text))
    return f"{text[:place]}\n{deep}{text[place:]}".encode()


def _encoded(text: str, dice: random.Random) -> bytes:
    encoding = dice.choice(["utf-16", "utf-16-le", "utf-32", "latin-1", "cp1252", "shift_jis", "koi8-r", "gb18030"])
    return text.encode(encoding, errors="replace")


def _controls(text: str, dice: random.Random) -> bytes:
    signs = ["\x00", "\x1b", "\u202e", "\u2028", "\ufeff", "\r", "\x0c", "\ud800", "\U0010ffff", "\u0300" * 50]
    for _ in range(dice.randint(1, 50)):
        place = dice.randrange(len(text))
        text = text[:place] + dice.choice(signs) + text[place:]
    return text.encode("utf-8", "surrogatepass")


def _front_matter(text: str, dice: random.Random) -> bytes:
    head = dice.choice(
        ["a: [", "date: 2024-99-99", "? ? ?", "&a [*a]", "title: !!python/object:os.system x", "\t- : :"]
    )
    return f"---\n{head}\n---\n{text}".encode()


def _repeated(text: str, dice: random.Random) -> bytes:
    piece = text[dice.randrange(len(text)) :][: dice.randint(1, 60)]
    return (text + piece * dice.randint(100, 1_000)).encode()


def _whole(text: str, dice: random.Random) -> bytes:
    return text.encode("utf-8", "surrogatepass")


BREAKS: tuple[Break, ...] = (
    _cut, _binary, _endless_line, _nested, _encoded, _controls, _front_matter, _repeated, _whole,
)  # fmt: skip


def documents(folder: Path) -> list[dict[str, Any]]:
    """Documents of the bundles in a folder that have text, in the order of their files."""
    lines = (line for path in sorted(folder.glob("*.jsonl")) for line in path.read_bytes().split(b"\n") if line.strip())
    return [row for row in map(json.loads, lines) if isinstance(row.get("markdown"), str) and row["markdown"].strip()]


def write(rows: Sequence[dict[str, Any]], folder: Path, count: int, seed: int) -> Counter[str]:
    """A folder corpus of broken documents; how often each break was drawn."""
    drawn: Counter[str] = Counter()
    (folder / "documents").mkdir(parents=True)
    with (folder / "sources.jsonl").open("wb") as sources:
        for number in range(count):
            dice = random.Random(f"{seed}-{number}")
            row, broken = dice.choice(rows), dice.choice(BREAKS)
            drawn[broken.__name__.strip("_")] += 1
            start = dice.randrange(max(1, len(row["markdown"]) - _LONGEST))
            text = row["markdown"][start : start + _LONGEST]
            name, suffix = f"d{number:05d}", dice.choice([".md", ".md", ".md", ".txt", ".html"])
            (folder / "documents" / f"{name}{suffix}").write_bytes(broken(text, dice))
            for source in dice.sample(row.get("sources") or [], min(_SOURCES, len(row.get("sources") or []))):
                told = json.dumps({**source, "document_id": name}, ensure_ascii=False)
                changed = dice.choice(BREAKS)(told, dice) if dice.random() < 0.2 else told.encode("utf-8", "replace")
                sources.write(changed.replace(b"\n", b" ") + b"\n")
    return drawn


def faults(store: Store, count: int, seconds: float) -> list[str]:
    """Documents that are not accounted for, sums that are broken, documents that took too long."""
    found = broken_sums(store)
    rows = store.read_all("documents", ["document_key", "document_id", "status"])
    if rows.height != count:
        found.append(f"{count} documents were given, {rows.height} have a row")
    current = store.read_all("receipts", ["document_key", "current"]).filter("current")
    without = rows.join(current, on="document_key", how="anti")
    found += [f"{name}: no receipt" for name in without["document_id"]]
    for key, reason in store.read_all("failures", ["document_key", "reason"]).iter_rows():
        name = rows.filter(document_key=key)["document_id"][0]
        told = f"took longer than {seconds:g} s" if reason.startswith("TimeoutError") else reason
        found.append(f"{name}: {told}")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--documents", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=10)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        drawn = write(documents(options.folder), folder / "broken", options.documents, options.seed)
        (folder / "settings.toml").write_text(f"[limits]\ndocument_seconds = {options.seconds}\n", "utf-8")
        ended = processes.measured(
            "run", folder / "broken", "--out", folder / "out", "--checker", "none", "--workers", options.workers,
            "--config", folder / "settings.toml",
        )  # fmt: skip
        store = Store.open(folder / "out", create=False)
        found = faults(store, options.documents, options.seconds)
        if ended.status:
            found.append(f"exit status {ended.status}: {ended.stderr[-500:]}")
        statuses = Counter(store.read_all("documents", ["status"])["status"].to_list())
        told = {
            "documents": options.documents,
            "broken": dict(sorted(drawn.items())),
            "statuses": dict(sorted(statuses.items())),
            "problems": store.read("problems").height,
            "pairs": store.read_all("pairs", ["pair_id"]).height,
            "cpu_seconds": round(ended.cpu_seconds, 1),
            "wall_seconds": round(ended.wall_seconds, 1),
            "peak_megabytes": round(ended.peak_megabytes),
            "faults": found,
        }
    print(json.dumps(told, indent=1, ensure_ascii=False))
    raise SystemExit(bool(found))


if __name__ == "__main__":
    main()
