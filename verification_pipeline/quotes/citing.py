"""Which sources a quotation cites: the markers attached to it, else the pairs whose claim it stands in.

Belongs here: position of markers around a quote. Does not belong here: markers and pairs themselves (`citations`).
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

from verification_pipeline.quotes.spans import QuotedSpan
from verification_pipeline.records import Citations, Marker

_CITING = frozenset({"bound", "dangling"})
_PARAGRAPH_END = re.compile(r"\n[ \t]*\n")
_LEAD_IN_CHARS = 400  # of the paragraph before a block quote


@dataclass(frozen=True, slots=True)
class Cited:
    """What a quote cites: source keys in the order of their markers, and whether any marker was dangling."""

    keys: tuple[str, ...]
    dangling: bool

    @property
    def anything(self) -> bool:
        """Whether the quote has a citation at all."""
        return bool(self.keys) or self.dangling


class CitedSources:
    """Look-up of what a quotation of one document cites."""

    def __init__(self, text: str, citations: Citations, gap: int) -> None:
        self._text = text
        self._gap = gap
        self._markers = sorted((m for m in citations.markers if m.status in _CITING), key=lambda m: (m.start, m.end))
        self._starts = [marker.start for marker in self._markers]
        self._claims = sorted(
            (start, end, k) for k, pair in enumerate(citations.pairs) for start, end in pair.claim_spans
        )
        self._sentences = sorted((p.sentence_start, p.sentence_end, k) for k, p in enumerate(citations.pairs))
        self._pairs = citations.pairs

    def of(self, span: QuotedSpan) -> Cited:
        """The attached markers; else those inside; else the pairs around; for a block quote, the lead-in's."""
        found = self._attached(span.outer_end) or self._between(span.start, span.outer_end)
        if found:
            return _cited([(marker.source_key, marker.status) for marker in found])
        overlapping = self._overlapping(self._claims, span) or self._overlapping(self._sentences, span)
        if overlapping:
            return _cited([(self._pairs[k].source_key, self._pairs[k].status) for k in overlapping])
        if span.kind in ("block", "aside"):
            return _cited([(marker.source_key, marker.status) for marker in self._lead_in(span.outer_start)])
        return Cited((), dangling=False)

    def words(self, span: QuotedSpan) -> str:
        """The quoted words with the document's own markers overwritten by spaces."""
        words = self._text[span.start : span.end]
        for marker in self._between(span.start, span.end):
            first, last = marker.start - span.start, marker.end - span.start
            words = words[:first] + " " * (min(last, len(words)) - first) + words[last:]
        return words

    def _attached(self, end: int) -> list[Marker]:
        """Markers that follow at once, only marks and white space between."""
        found: list[Marker] = []
        k = bisect_left(self._starts, end)
        while k < len(self._markers):
            marker = self._markers[k]
            between = self._text[end : marker.start] if marker.start <= end + self._gap else "x"
            if any(character.isalnum() for character in between) or _PARAGRAPH_END.search(between):
                break
            found.append(marker)
            end = max(end, marker.end)
            k += 1
        return found

    def _between(self, start: int, end: int) -> list[Marker]:
        return self._markers[bisect_left(self._starts, start) : bisect_left(self._starts, end)]

    def _overlapping(self, ranges: Sequence[tuple[int, int, int]], span: QuotedSpan) -> list[int]:
        """Pairs with a range that meets the quote, in document order."""
        last = bisect_left(ranges, (span.end, -1, -1))
        met = {k for start, end, k in ranges[max(0, last - _NEAR) : last] if end > span.start}
        return sorted(met)

    def _lead_in(self, start: int) -> list[Marker]:
        """Markers that end the paragraph before a block quote, or stand anywhere in it if it ends in a colon."""
        lead = self._text[max(0, start - _LEAD_IN_CHARS) : start].rstrip(" \t\n>")
        end = start - (min(start, _LEAD_IN_CHARS) - len(lead))
        breaks = [m.end() for m in _PARAGRAPH_END.finditer(lead)]
        paragraph = end - len(lead) + (breaks[-1] if breaks else 0)
        found = self._between(paragraph, end)
        if lead.endswith((":", "：")):
            return found
        return [m for m in found if not any(c.isalnum() for c in self._text[m.end : end])]


_NEAR = 256  # ranges looked back over: more citations than that on one sentence are not told apart


def _cited(found: Sequence[tuple[str | None, str]]) -> Cited:
    keys = tuple(dict.fromkeys(key for key, _ in found if key is not None))
    return Cited(keys, dangling=any(key is None for key, _ in found))
