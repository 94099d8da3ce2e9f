"""The words that an answer gives as evidence, found in the text they are said to come from, or not at all."""

from __future__ import annotations

from verification_pipeline.records import Evidence
from verification_pipeline.tables import Span
from verification_pipeline.text.normalise import normalise


def locate(words: str, evidence: Evidence) -> Span | None:
    """The span of a source that holds `words`, up to typography that carries no meaning; None when it holds none.

    Never a near match: an answer whose evidence was paraphrased or invented has none.
    """
    words = words.strip()
    text = evidence.body.text
    start = text.find(words) if words else -1
    if start >= 0:
        end = start + len(words)
    else:
        wanted = normalise(words).text.strip()
        held = normalise(text, beside=words)
        at = held.text.find(wanted) if wanted else -1
        if at < 0:
            return None
        start, end = held.original(at, at + len(wanted))
    return Span(evidence.source.source_key, evidence.body.sha256, start, end, text[start:end])
