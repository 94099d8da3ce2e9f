"""Human-labelled claims and their sources, read from a folder given on the command line, and how they are split.

Sets with a licence that allows it are trained on; the others are only measured. Rows that share a source text or a
claim are never on both sides of a split.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

TRAINED = (
    "citation_integrity/train",
    "wice/dev",
    "wice/subclaim_partial_train",
    "expertqa/dev",
    "factcheck_gpt/dev",
    "fever_symmetric/dev",
    *(
        f"summedits/{name}"
        for name in ("ectsum", "news", "podcast", "qmsumm", "sales_call", "sales_email", "samsum", "scitldr")
    ),
)
"""Openly licensed: MIT, ODC-BY with CC-BY-SA text, MIT, Apache-2.0, CC-BY-SA, Apache-2.0."""
MEASURED = ("citation_integrity/dev", "healthver/dev", "nli4ct/dev")
"""Never trained on: held out, or without a stated licence."""

_MARKERS = re.compile(
    r"\s?\[\[?(?:CIT|OTHER)[^\]]*\]?\]|\s?\[\[?(?:CIT|OTHER)\b\]?|\s?\[\d+(?:[,;–-]\s?\d+)*\]|\bCIT\b\]?"
)


@dataclass(frozen=True, slots=True)
class Row:
    """One labelled pair. `label`: S supported, P partially, U unsupported, C contradicted; None where none is given."""

    dataset: str
    id: str
    claim: str
    source: str
    label: str | None
    class3: str | None
    evidence: tuple[str, ...]


def read(folder: Path, dataset: str) -> list[Row]:
    """The rows of one set, in file order, citation markers blanked."""
    sources = {str(r["id"]): r["text"] for r in _lines(folder / f"{dataset}.sources.jsonl")}
    short = {"supported": "S", "partially-supported": "P", "unsupported": "U", "contradicted": "C"}
    return [
        Row(
            dataset,
            r["id"],
            _MARKERS.sub("", r["claim"]).strip(),
            sources[str(r["source_id"])],
            short.get(r["verdict"] or ""),
            r.get("class3"),
            tuple(line for line in (r["evidence"] or "").split("\n") if line.strip()),
        )
        for r in _lines(folder / f"{dataset}.claims.jsonl")
    ]


def _lines(path: Path) -> Iterator[dict]:
    with path.open(encoding="utf-8") as file:
        yield from map(json.loads, file)


def groups(rows: list[Row]) -> np.ndarray:
    """A number for each row; rows that share a source text or a claim share it, and so do their like."""
    parent: dict[str, str] = {}

    def root(x: str) -> str:
        parent.setdefault(x, x)
        while parent[x] != x:
            parent[x] = parent[parent[x]]
            x = parent[x]
        return x

    for row in rows:
        keys = [f"c{row.claim.casefold()}", f"s{row.source}"]
        if row.dataset.startswith("summedits"):
            keys.append("d" + re.sub(r"_(?:og|\d+)$", "", re.sub(r"^summedits-(\w+)-\d+-", r"\1-", row.id)))
        for key in keys[1:]:
            parent[root(key)] = root(keys[0])
    names = [root(f"c{row.claim.casefold()}") for row in rows]
    order = {name: k for k, name in enumerate(dict.fromkeys(names))}
    return np.array([order[name] for name in names])


def folds(rows: list[Row], count: int, seed: int = 7) -> np.ndarray:
    """A fold for each row: whole groups, dealt per set, largest first, so that every fold holds some of every set."""
    owner = groups(rows)
    generator = np.random.default_rng(seed)
    fold = np.zeros(len(rows), dtype=int)
    assigned: dict[int, int] = {}
    for dataset in dict.fromkeys(row.dataset for row in rows):
        mine = np.array([row.dataset == dataset for row in rows])
        names, sizes = np.unique(owner[mine], return_counts=True)
        order = np.lexsort((generator.random(len(names)), -sizes))
        load = np.zeros(count)
        for k in order:
            name = int(names[k])
            if name not in assigned:
                assigned[name] = int(np.argmin(load))
            load[assigned[name]] += sizes[k]
    for k, name in enumerate(owner):
        fold[k] = assigned[int(name)]
    return fold
