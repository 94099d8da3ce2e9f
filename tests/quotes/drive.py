"""Drives the quote check on a document with `[n]` markers and its numbered sources."""

from __future__ import annotations

import re

from tests.builders import DOCUMENT, document, evidence
from verification_pipeline import keys
from verification_pipeline.config import Quotes
from verification_pipeline.quotes import QuoteRow, check_quotes
from verification_pipeline.records import Citations, Marker

KEYS = {n: keys.source_key("corpus", "doc", str(n)) for n in range(1, 10)}
_MARKER = re.compile(r"\[(\d)\]")
_CODE = re.compile(r"```.*?```", re.DOTALL)


def quotes_of(text: str, *sources: str | None, settings: Quotes | None = None, reverse: bool = False) -> list[QuoteRow]:
    """Rows of a document whose source n is `sources[n - 1]`; None is a source without usable text."""
    numbered = dict(enumerate(sources, start=1))
    own = {KEYS[n]: evidence(str(n), body) for n, body in numbered.items() if body is not None}
    if reverse:
        own = dict(reversed(own.items()))
    unreadable = [KEYS[n] for n, body in numbered.items() if body is None]
    markers = []
    for k, match in enumerate(_MARKER.finditer(text)):
        bound = int(match[1]) in numbered
        key, status = (KEYS[int(match[1])], "bound") if bound else (None, "dangling")
        markers.append(Marker(DOCUMENT, k, match[0], match.start(), match.end(), "number", match[1], key, status))
    code = _CODE.search(text)
    prose = ((0, len(text)),) if code is None else ((0, code.start()), (code.end(), len(text)))
    citations = Citations((), tuple(markers), (), prose)
    return check_quotes(document(text), citations, own, unreadable, settings or Quotes())
