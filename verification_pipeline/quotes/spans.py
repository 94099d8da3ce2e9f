"""The quoted spans of a document: what its marks and block quotes enclose, less what is no quotation.

Belongs here: spans over several paragraphs, nesting, length, titles and coined phrases. Does not belong here: pairing
(`marks`), shape of the document (`blocks`), which source a quote cites (`citing`), whether it stands there (`compare`).
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from verification_pipeline.config import Quotes
from verification_pipeline.quotes import blocks, marks
from verification_pipeline.quotes.blocks import Range, Segment
from verification_pipeline.text.index import WordIndex

Kind = Literal["inline", "block", "aside", "coined", "unclosed"]

_PARAGRAPH_END = re.compile(r"\n[ \t]*\n")
_CITED_YEAR_BEFORE = re.compile(r"\((?:1[89]|20)\d\d[a-z]?\)\.$")
_NAMED_AFTER = re.compile(r"[\s*_,]{0,5}\(?(?:(?:1[89]|20)\d\d[a-z]?\)|arXiv|doi:|https?://|ISBN|ISSN)")
_COINED = re.compile(r"[→⇒↔⟶]|\s[+＋=]\s|(?<=[\u3040-\u9fff）])[+＋/—–-](?=[\u3040-\u9fff（])")
_CLAUSE = re.compile("[，。；！？…,;!?]|——")
_SENTENCE_START = re.compile("[。！？；\n]")
_SPOKEN_AFTER = re.compile("[，,]?(?:と|って|との|[^，。；！？\\s]{0,8}(?:说|說|称|稱|指出|表示|写道|寫道))")
_CITED_AFTER = re.compile(r"[\s*_，。,.)）]{0,4}(?:\[|【|（[^（）]{0,40}\d{4})")
_WORD = re.compile(r"[^\W\d_][\w'’-]*")
_ASCII_WORD = re.compile(r"[0-9A-Za-z]+")
_LAST_WORD = re.compile(r"([^\W\d_]+)[:,]?\s*$")
_LEAD_CHARS = 40
_SENTENCE_END = ".!?。！？"


@dataclass(frozen=True, slots=True)
class QuotedSpan:
    """Quoted words document[start:end]; with their marks they take document[outer_start:outer_end].

    `kind`: in quotation marks, a block quote, a block quote that nothing announces as another's words (aside), a phrase
    in marks likewise (coined), or an opening mark that nothing closes.
    """

    start: int
    end: int
    outer_start: int
    outer_end: int
    kind: Kind


def quoted_spans(text: str, prose: Sequence[Range], settings: Quotes) -> list[QuotedSpan]:
    """The quotations of a document in order, none inside another; `prose` are the ranges that are read."""
    segments, block_quotes = blocks.read(text)
    found = [
        QuotedSpan(quote.start, quote.end, quote.start, quote.outer_end, "block" if quote.announced else "aside")
        for quote in block_quotes
    ]
    found += _in_marks(segments, text)
    readable = _merged(prose)
    kept = [span for span in found if any(_inside(readable, place) for place in (span.start, span.end - 1))]
    quotations = (span for span in _outermost(kept) if span.kind != "inline" or not _names(text, span, settings))
    return [replace(span, kind="coined") if _is_coined(text, span, settings) else span for span in quotations]


def size_in_words(words: str, settings: Quotes) -> float:
    """Length in words; ideographs count as `settings.words_per_ideograph` each."""
    if words.isascii():
        return len(_ASCII_WORD.findall(words))
    index = WordIndex.build(words)
    single = index.starts[index.ends - index.starts == 1].tolist()
    ideographs = sum(1 for place in single if marks.is_ideograph(words[place]))
    return len(index) - ideographs * (1 - settings.words_per_ideograph)


def _in_marks(segments: Iterable[Segment], text: str) -> Iterator[QuotedSpan]:
    """Spans in quotation marks; one that runs over several paragraphs is one span."""
    pending: int | None = None
    for segment in segments:
        straight, directional = marks.straight(segment.text), marks.directional(segment.text)
        if pending is not None:
            family = straight if text[pending] in marks.STRAIGHT else directional
            closing = _continued(segment, family, text[pending])
            if closing is not None:
                yield _span(text, pending, segment.start + closing)
            elif text[pending] not in marks.STRAIGHT and not _repeats(segment, text[pending]):
                yield _unclosed(text, pending)
            if closing is not None or family.left_open is None or not _repeats(segment, text[pending]):
                pending = None
        for first, last in (*straight.pairs, *directional.pairs, *marks.single(segment.text)):
            yield _span(text, segment.start + first, segment.start + last)
        for family in (directional, straight):
            if pending is None and family.left_open is not None:
                pending = segment.start + family.left_open
    if pending is not None and text[pending] not in marks.STRAIGHT:
        yield _unclosed(text, pending)


def _repeats(segment: Segment, mark: str) -> bool:
    """Whether a paragraph begins with the mark that the one before left open, as printers repeat it."""
    return segment.follows and segment.text.lstrip(f" \t{marks.TRANSPARENT}").startswith(mark)


def _continued(segment: Segment, family: marks.Pairing, mark: str) -> int | None:
    """Where a quotation left open by the paragraph before closes in this one, as an offset into it."""
    if not segment.follows:
        return None
    if not _repeats(segment, mark):
        return family.stray_close
    first = segment.text.index(mark)
    pair = next((pair for pair in family.pairs if pair[0] == first), None)
    if pair is None:
        return None
    family.pairs.remove(pair)
    return pair[1]


def _span(text: str, first: int, last: int) -> QuotedSpan:
    start, end = blocks.trimmed(text, first + 1, last)
    return QuotedSpan(start, blocks.without_markers(text, start, end), first, last + 1, "inline")


def _unclosed(text: str, first: int) -> QuotedSpan:
    stop = _PARAGRAPH_END.search(text, first)
    start, end = blocks.trimmed(text, first + 1, stop.start() if stop else len(text))
    return QuotedSpan(start, end, first, end, "unclosed")


def _merged(ranges: Sequence[Range]) -> list[Range]:
    merged: list[Range] = []
    for start, end in sorted(ranges):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def _inside(ranges: Sequence[Range], place: int) -> bool:
    k = bisect_right(ranges, (place, 1 << 62)) - 1
    return k >= 0 and ranges[k][0] <= place < ranges[k][1]


def _outermost(spans: Iterable[QuotedSpan]) -> list[QuotedSpan]:
    """Without spans that lie inside, or cut into, one taken before; what never closed yields to what did."""
    kept: list[QuotedSpan] = []
    reached = 0
    ordered = sorted(spans, key=lambda s: (s.outer_start, -s.outer_end))
    for span in ordered:
        if span.kind != "unclosed" and span.start < span.end and span.outer_start >= reached:
            kept.append(span)
            reached = span.outer_end
    taken = [(span.outer_start, span.outer_end) for span in kept]
    alone = [span for span in ordered if span.kind == "unclosed" and span.start < span.end and not _meets(taken, span)]
    return sorted((*kept, *alone), key=lambda s: s.start)


def _meets(taken: Sequence[Range], span: QuotedSpan) -> bool:
    """Whether a span overlaps one of the ascending, disjoint ranges."""
    k = bisect_right(taken, (span.outer_end - 1, 1 << 62)) - 1
    return k >= 0 and taken[k][1] > span.outer_start


def _is_coined(text: str, span: QuotedSpan, settings: Quotes) -> bool:
    """Whether marks may set off a phrase of the author's own, as Chinese and Japanese do at any length.

    It has no clause of its own, no one is said to speak, and no citation follows at once.
    """
    words = text[span.start : span.end]
    ideographs = sum(map(marks.is_ideograph, words))
    if span.kind != "inline" or 2 * ideographs < len(words) or _CLAUSE.search(words):
        return False
    before = _SENTENCE_START.split(text[max(0, span.outer_start - _LEAD_CHARS) : span.outer_start])[-1]
    announced = before.rstrip(f" {marks.TRANSPARENT}").endswith((":", "：", ",", "，"))
    spoken = any(cue in before for cue in settings.speech_cues) or _SPOKEN_AFTER.match(text, span.outer_end)
    return not (announced or spoken or _CITED_AFTER.match(text, span.outer_end))


def _names(text: str, span: QuotedSpan, settings: Quotes) -> bool:
    """Whether the marks enclose a name, not words someone said: a title, or a phrase coined with signs."""
    words = text[span.start : span.end]
    lead = text[max(0, span.outer_start - _LEAD_CHARS) : span.outer_start].rstrip(f" {marks.TRANSPARENT}")
    cue = _LAST_WORD.search(lead)
    announced = cue[1].casefold() if cue is not None else ""
    like_a_title = words[:1].isupper() and words[-1:] not in _SENTENCE_END
    if announced in settings.title_cues or (announced in settings.title_nouns and like_a_title):
        return True
    if like_a_title and _NAMED_AFTER.match(text, span.outer_end):
        return True
    long_words = [word for word in _WORD.findall(words) if len(word) > 3]
    capitals = sum(1 for word in long_words if word[0].isupper())
    if len(long_words) >= settings.title_min_words and capitals >= settings.title_capitals * len(long_words):
        return True
    return _COINED.search(words) is not None or _CITED_YEAR_BEFORE.search(lead) is not None
