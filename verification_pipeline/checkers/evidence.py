"""The words that an answer gives as evidence, found in the text they are said to come from, or not at all."""

from __future__ import annotations

from collections.abc import Sequence

from verification_pipeline.checkers.fences import neutral, visible, visible_map
from verification_pipeline.records import Evidence
from verification_pipeline.tables import Span
from verification_pipeline.text.normalise import normalise

Range = tuple[int, int]
_AS_WRITTEN = str.maketrans("\u2039\u203a", "<>")  # what a fence shows for them


def locate(words: str, evidence: Evidence, shown: Sequence[Range] = ()) -> Span | None:
    """The span of a source that holds `words`, up to typography that carries no meaning; None when it holds none.

    `shown` are the stretches that the answer was given on (none: the whole text): outside them only the very words
    count. Never a near match: an answer whose evidence was paraphrased, joined from two places or invented has none.
    """
    words = words.strip()
    text = evidence.body.text
    if not words:
        return None
    for first, last in shown or ((0, len(text)),):
        if found := _found(words, text[first:last]):
            return _span(evidence, first + found[0], first + found[1])
    start = text.find(words)
    return _span(evidence, start, start + len(words)) if start >= 0 else None


def _span(evidence: Evidence, start: int, end: int) -> Span:
    return Span(evidence.source.source_key, evidence.body.sha256, start, end, evidence.body.text[start:end])


def _found(words: str, text: str) -> Range | None:
    """Where `words` stand in a text: as they are, as a fence shows them, or in normal form."""
    start = text.find(words)
    if start >= 0:
        return start, start + len(words)
    seen, wanted = visible_map(text), visible(words).strip()
    start = neutral(seen.text).find(neutral(wanted)) if wanted else -1
    if start >= 0:
        return seen.original(start, start + len(wanted))
    held = normalise(seen.text, beside=wanted)
    for form in (wanted, wanted.translate(_AS_WRITTEN)):
        normal = normalise(form).text.strip()
        start = held.text.find(normal) if normal else -1
        if start >= 0:
            return seen.original(*held.original(start, start + len(normal)))
    return None
