"""Small corpora written to disk, for tests that run the whole pipeline."""

from __future__ import annotations

import json
from pathlib import Path

PIER = """---
date: 2024-05-01
---
# Pier

The pier is 120 m long [1]. It opened in 1911 [2]. The harbour keeps 40 boats [3].

The guide says "the pier was rebuilt after the great storm" [1].

## Sources

[1] Pier guide. https://example.org/pier
[2] Town log. https://example.org/log
"""

MILL = """# Mill

The mill ground three tonnes of flour a day [[mill-book]]. Nobody knows who built it.
"""

SOURCES = [
    {
        "id": "1",
        "document_id": "pier",
        "n": 1,
        "url": "https://example.org/pier",
        "title": "Pier guide",
        "text": "The pier is 120 m long. In 1953 the pier was rebuilt after the great storm. It is open all year.",
    },
    {
        "id": "2",
        "document_id": "pier",
        "n": 2,
        "url": "https://example.org/log",
        "title": "Town log",
        "text": "The market moved to the square in 1911, and the pier followed two years later.",
    },
    {"id": "mill-book", "title": "Mill book", "text": "The mill ground three tonnes of flour a day until it burned."},
]


def write_folder(root: Path, documents: dict[str, str], sources: list[dict]) -> Path:
    """A folder corpus."""
    (root / "documents").mkdir(parents=True, exist_ok=True)
    for name, text in documents.items():
        path = root / "documents" / f"{name}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    rows = "".join(json.dumps(source, ensure_ascii=False) + "\n" for source in sources)
    (root / "sources.jsonl").write_text(rows, "utf-8")
    return root


def harbour(root: Path) -> Path:
    """Two documents with own and shared sources: passed, read, dangling, a true quote."""
    return write_folder(root, {"pier": PIER, "mill": MILL}, SOURCES)
