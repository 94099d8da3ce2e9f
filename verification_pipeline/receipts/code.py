"""Copied code: fenced blocks of a document that also stand in one of its sources, without a citation beside them.

Code is compared as words, so that indentation and line breaks that an extractor lost do not hide a copy. A citation
is beside a block when a marker bound to that source stands in the block, or in the paragraph before or after it. The
check is informational.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pyromark

from verification_pipeline.config import TextChecks
from verification_pipeline.receipts.scaffold import TextFinding
from verification_pipeline.records import Citations, Document, Evidence, Marker
from verification_pipeline.text.index import U64, WordIndex

KIND = "code-unattributed"


def find_unattributed_code(
    document: Document, cited: Citations, evidence: Mapping[str, Evidence], settings: TextChecks | None = None
) -> list[TextFinding]:
    """Blocks of code, `code_min_lines` long or longer, that stand in a source which no marker beside them names."""
    settings = settings or TextChecks()
    blocks = list(_blocks(document.text, settings.code_min_lines))
    if not blocks:
        return []
    runs = {key: np.unique(one.body.index.grams(settings.code_run_words)) for key, one in sorted(evidence.items())}
    markers = sorted(cited.markers, key=lambda marker: marker.start)
    found = []
    for start, end in blocks:
        block = document.text[start:end]
        holders = _holders(block, runs, settings)
        if holders and not _cited_beside(document.text, start, end, markers, holders):
            names = ", ".join(evidence[key].source.source_id for key in holders)
            found.append(TextFinding(document.document_key, KIND, start, end, block, f"stands in source {names}"))
    return found


def _blocks(text: str, min_lines: int) -> Iterator[tuple[int, int]]:
    """Code-point ranges of fenced blocks with so many lines of code or more, fences included."""
    if "```" not in text and "~~~" not in text:
        return
    raw = text.encode("utf-8", "surrogatepass")
    at = done = 0
    for event, place in pyromark.events_with_range(text):
        if not _opens_fence(event):
            continue
        done += len(raw[at : place["start"]].decode("utf-8", "surrogatepass"))
        at = place["start"]
        block = raw[at : place["end"]].decode("utf-8", "surrogatepass").rstrip("\n")
        if sum(bool(line.strip("`~ \t>")) for line in block.split("\n")[1:]) >= min_lines:
            yield done, done + len(block)


def _opens_fence(event: object) -> bool:
    started = event.get("Start") if isinstance(event, dict) else None
    block = started.get("CodeBlock") if isinstance(started, dict) else None
    return isinstance(block, dict) and "Fenced" in block


def _holders(block: str, sources: Mapping[str, U64], settings: TextChecks) -> list[str]:
    """Sources that hold the block: so large a share of its runs of words stands in them."""
    code = block.partition("\n")[2]
    runs = np.unique(WordIndex.build(code).grams(settings.code_run_words))
    return [key for key, held in sources.items() if _share(runs, held) >= settings.code_min_share]


def _share(runs: U64, held: U64) -> float:
    if not len(runs) or not len(held):
        return 0.0
    places = np.minimum(np.searchsorted(held, runs), len(held) - 1)
    return float((held[places] == runs).mean())


def _cited_beside(text: str, start: int, end: int, markers: Sequence[Marker], sources: Sequence[str]) -> bool:
    first, last = _paragraph_before(text, start), _paragraph_after(text, end)
    begin = bisect_left(markers, first, key=lambda marker: marker.start)
    stop = bisect_left(markers, last, key=lambda marker: marker.start)
    return any(marker.source_key in sources for marker in markers[begin:stop])


def _paragraph_before(text: str, start: int) -> int:
    while start > 0 and text[start - 1].isspace():
        start -= 1
    return max(text.rfind("\n\n", 0, start), 0)


def _paragraph_after(text: str, end: int) -> int:
    while end < len(text) and text[end].isspace():
        end += 1
    blank = text.find("\n\n", end)
    return blank if blank >= 0 else len(text)
