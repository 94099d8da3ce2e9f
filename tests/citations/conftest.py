"""Documents and sources for the citation tests."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from verification_pipeline.citations import SourceCatalogue, extract
from verification_pipeline.config import Settings
from verification_pipeline.keys import document_key, source_key, text_sha256
from verification_pipeline.records import Citations, Document, Source
from verification_pipeline.text.addresses import canonical_url

Extract = Callable[..., Citations]

_NAMES = (
    "Harbour log|Weather diary|Bee census|Tram timetable|Mill register|Lock journal|Kiln notes|Tide tables|Pier survey"
)


def source(source_id: str, document_id: str | None = "report", **fields: object) -> Source:
    """A source row with a canonical address, as the corpus reader makes it."""
    url = fields.get("url")
    made: dict[str, object] = {"canonical_url": canonical_url(str(url)) if url else None, **fields}
    return Source(source_key("c", document_id, source_id), source_id, document_id, **made)  # type: ignore[arg-type]


NINE = [
    source(f"s{n}", url=f"https://example.org/{n}", title=name) for n, name in enumerate(_NAMES.split("|"), start=1)
]
LIST = "\n\n## Sources\n\n" + "\n".join(f"[{n}] {s.title}. {s.url}" for n, s in enumerate(NINE, start=1)) + "\n"


@pytest.fixture
def extracted() -> Extract:
    """Extract a document's citations; nine sources s1 to s9 and their list `[1]` to `[9]` unless told otherwise."""

    def run(
        text: str,
        own: Sequence[Source] | None = None,
        shared: Sequence[Source] = (),
        listed: bool = True,
        **fields: object,
    ) -> Citations:
        whole = text + LIST if listed else text
        document = Document(document_key("c", "report"), "c", "report", whole, text_sha256(whole), **fields)  # type: ignore[arg-type]
        return extract(document, NINE if own is None else own, SourceCatalogue.build(shared), Settings())

    return run


def cited(citations: Citations) -> list[tuple[str, str]]:
    """(claim, target) of every pair, in order."""
    return [(pair.claim, pair.target) for pair in citations.pairs]


def targets(citations: Citations) -> list[str]:
    """Targets of every pair, in order."""
    return [pair.target for pair in citations.pairs]


def refused(citations: Citations) -> list[tuple[str, str | None]]:
    """Marker rows that are no citation: text and reason."""
    return [(m.text, m.reason) for m in citations.markers if m.status == "not-a-citation"]
