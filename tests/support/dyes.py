"""A small archive that cites a dye and a tide, and registers that know of their retraction, for tests of sweeps."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tests.dois import register
from tests.support.corpora import write_folder

DYE = "10.5555/dye.1"
TIDE = "10.5555/tide.2"

_TEXT = """---
date: {date}
---
The dye is stable [1]. The tide is high [2].{remark}

## Sources

[1] On dyes. https://doi.org/10.5555/DYE.1
[2] On tides. https://doi.org/10.5555/tide.2
"""


def sources(document: str) -> list[dict[str, str]]:
    """The two papers, as the document's own sources."""
    return [
        {"id": "1", "document_id": document, "url": f"https://doi.org/{DYE}", "text": "The dye is stable."},
        {"id": "2", "document_id": document, "url": f"https://doi.org/{TIDE}", "text": "The tide is high."},
    ]


def archive(root: Path, **documents: str | tuple[str, str]) -> Path:
    """A folder corpus: document id = its date, or (date, remark)."""
    told = {name: (value, "") if isinstance(value, str) else value for name, value in documents.items()}
    texts = {name: _TEXT.format(date=date, remark=remark) for name, (date, remark) in told.items()}
    return write_folder(root, texts, [source for name in told for source in sources(name)])


def retractions(path: Path, *rows: Mapping[str, str]) -> Path:
    """A Retraction Watch file that retracts a paper nobody cites, and these."""
    return register.write(path, [{"OriginalPaperDOI": "10.5555/else"}, *rows])


DYE_RETRACTED = {"OriginalPaperDOI": DYE, "RetractionDate": "3/1/2020 0:00"}
