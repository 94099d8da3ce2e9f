"""Finding the quoted spans of a document: pairing of quotation marks, block quotes, what is no quotation.

Belongs here: where quoted words start and end. Does not belong here: which source they cite (`citing`) and whether they
stand there (`compare`).

Marks are paired inside one paragraph (list item, table cell), each glyph family by its own rule, so that a stray mark
costs at most itself and the text between two quotations is never taken for one. Sources of the rules: the Unicode
Standard, chapter 6.2 ("Quotation Marks") and CLDR's quotation delimiters for the glyph families.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from verification_pipeline.config import Quotes
from verification_pipeline.text.index import WordIndex

Kind = Literal["inline", "block", "unclosed"]


@dataclass(frozen=True, slots=True)
class QuotedSpan:
    """Quoted words document[start:end]; with their marks they take document[outer_start:outer_end]."""

    start: int
    end: int
    outer_start: int
    outer_end: int
    kind: Kind


@dataclass(frozen=True, slots=True)
class _Segment:
    """A stretch in which marks may be paired: a paragraph, list item, heading, table cell. `text` has code blanked."""

    start: int
    text: str
    follows: bool
    """Whether it continues the flow of the segment before (a paragraph after a paragraph)."""


_LINE = re.compile(r"[^\n]*\n?")
_ITEM = re.compile(r"[ \t]{0,12}(?:[-*+•]|\d{1,4}[.)])[ \t]+|[ ]{0,3}#{1,6}[ \t]")
_BLOCK_QUOTE = re.compile(r"[ \t]{0,3}>")
_BLOCK_PREFIX = re.compile(r"[ \t]{0,3}(?:>[ \t]?)+")
_CALLOUT = re.compile(
    r"\s*(?:\[!\w+\]|(?:\*\*|__)[^*_\n]{1,60}(?:\*\*|__)|[A-Z][\w ]{1,24}:(?=\s)|[\u2600-\u27bf\U0001f300-\U0001faff])"
)
_ATTRIBUTION = re.compile(r"\s*(?:[—―]|–\s|--+\s?|-\s)\s*\S")
_MARKER_TAIL = 400  # code points in which closing markers are looked for
_MARKER_END = re.compile(
    r"(?:\s{0,3}(?:\[\^?\d{1,4}(?:\s?[,;–-]\s?\d{1,4}){0,30}\](?:\([^()\s]{0,2000}\))?|\[\[[^\[\]\n]{1,80}\]\]"
    r"|【[^【】\n]{1,40}】)[.,]?){1,20}[\s*_]*$"
)
_NOT_PROSE = re.compile(
    r"(?P<code>`{1,3}[^`\n]{1,2000}`{1,3})"
    r"|(?P<link>\]\([^()\n]{0,2000}(?:\([^()\n]{0,200}\)[^()\n]{0,200})?\))"
    r"|(?P<tag></?[a-zA-Z][a-zA-Z0-9]{0,15}(?:\s[^<>\n]{0,1000})?/?>)"
    r"|(?P<escape>\\(?=[\"'“”]))"
)
_FILLER = {"code": "x", "link": ")", "tag": "*", "escape": "*"}
_TRANSPARENT = "*_~\u200b\u2060"
_OPENING_CONTEXT = "([{<—–―-/:=|>“‘«‹「『（【，。、；："
_SENTENCE_END = ".,!?…。，！？"
_STRAIGHT = '"＂'
_DIRECTED = re.compile("[“”„‟«»‹›「」『』]")
_SINGLE_OPENERS = re.compile("[‘‚]")
_CITED_YEAR = re.compile(r"\((?:1[89]|20)\d\d[a-z]?\)\.$")
_PARAGRAPH_END = re.compile(r"\n[ \t]*\n")
_WORDS = re.compile(r"[^\W\d_][\w'’-]*")
_LAST_WORD = re.compile(r"([^\W\d_]+)[:,]?\s*$")


def quoted_spans(text: str, prose: Sequence[tuple[int, int]], settings: Quotes) -> list[QuotedSpan]:
    """The quotations of a document in order, none inside another; `prose` are the ranges that are read."""
    readable = _merged(prose)
    blocks, segments = _segments(text)
    found = [span for block in blocks for span in _block_quotes(text, block)]
    found += _inline(segments, text)
    kept = [span for span in found if _inside(readable, _middle(text, span))]
    return [span for span in _outermost(kept) if not _is_title(text, span, settings)]


def size_in_words(words: str, settings: Quotes) -> float:
    """Length in words; ideographs count as `settings.words_per_ideograph` each."""
    index = WordIndex.build(words)
    ideographs = sum(1 for start, end in zip(index.starts, index.ends, strict=True) if _ideograph(words[start:end]))
    return len(index) - ideographs * (1 - settings.words_per_ideograph)


def _ideograph(word: str) -> bool:
    return len(word) == 1 and ("\u3040" <= word <= "\u9fff" or "\uf900" <= word <= "\ufaff" or word >= "\U00020000")


# ---- segments


def _segments(text: str) -> tuple[list[list[tuple[int, int]]], list[_Segment]]:
    """Block quotes (each a list of line ranges) and the segments of everything else, in order."""
    blocks: list[list[tuple[int, int]]] = []
    segments: list[_Segment] = []
    start, end, paragraph_before, in_block = 0, 0, False, False

    def close(follows: bool) -> None:
        if text[start:end].strip():
            segments.append(_Segment(start, _blanked(text[start:end]), follows))

    follows = False
    for line in _LINE.finditer(text):
        first, last = line.span()
        if first == last:
            break
        if _BLOCK_QUOTE.match(text, first, last):
            close(follows)
            start = end = last
            if in_block:
                blocks[-1].append((first, last))
            else:
                blocks.append([(first, last)])
            in_block, follows = True, False
            continue
        in_block = False
        blank = not text[first:last].strip()
        item = _ITEM.match(text, first, last)
        row = text[first:last].lstrip().startswith("|")
        if blank:
            close(follows)
            paragraph_before = paragraph_before or end > start
            follows = end > start or follows
            start = end = last
        elif row:
            close(follows)
            segments.extend(_cells(text, first, last))
            start = end = last
            follows = False
        elif item:
            close(follows)
            start, end, follows = item.end(), last, False
        else:
            end = last
    close(follows)
    return blocks, segments


def _cells(text: str, first: int, last: int) -> Iterable[_Segment]:
    place = first
    for cell in text[first:last].split("|"):
        if cell.strip():
            yield _Segment(place, _blanked(cell), follows=False)
        place += len(cell) + 1


def _blanked(text: str) -> str:
    """The text with code, link targets and tags overwritten, length unchanged."""
    return _NOT_PROSE.sub(lambda m: _FILLER[m.lastgroup or "code"] * len(m[0]), text)


# ---- block quotes


def _block_quotes(text: str, lines: Sequence[tuple[int, int]]) -> Iterable[QuotedSpan]:
    """A block quote as one span; as one per paragraph where an inner paragraph ends with its own marker.

    Markers at the end and the line that names the speaker are no quoted words. A call-out (`[!NOTE]`, a bold label, a
    sign) is no quotation.
    """
    paragraphs = _block_paragraphs(text, lines)
    if not paragraphs or _CALLOUT.match(text, paragraphs[0][0]):
        return
    ends = [_without_markers(text, start, end) for start, end in paragraphs]
    apart = any(words < end for words, (_, end) in zip(ends[:-1], paragraphs, strict=False))
    if apart:
        for words, (start, end) in zip(ends, paragraphs, strict=True):
            yield QuotedSpan(start, words, start, end, "block")
    else:
        yield QuotedSpan(paragraphs[0][0], ends[-1], paragraphs[0][0], lines[-1][1], "block")


def _block_paragraphs(text: str, lines: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The paragraphs inside a block quote, without prefixes of their first line and without the speaker's line."""
    paragraphs: list[tuple[int, int]] = []
    continues = False
    for first, last in lines:
        prefix = _BLOCK_PREFIX.match(text, first, last)
        start, end = _trimmed(text, prefix.end() if prefix else first, last)
        if start >= end or (paragraphs and _ATTRIBUTION.match(text, start, end)):
            continues = False
        elif continues:
            paragraphs[-1] = (paragraphs[-1][0], end)
        else:
            paragraphs.append((start, end))
            continues = True
    return paragraphs


def _without_markers(text: str, start: int, end: int) -> int:
    """Where the words of text[start:end] end before the markers that close it."""
    tail = max(start, end - _MARKER_TAIL)
    match = _MARKER_END.search(text, tail, end)
    return start + len(text[start : match.start()].rstrip()) if match else end


# ---- marks


@dataclass(slots=True)
class _Pairing:
    """Pairs found in one segment and what is still open at its end, as offsets into the segment."""

    pairs: list[tuple[int, int]]
    left_open: int | None = None
    stray_close: int | None = None
    """The first closing mark, when nothing was open before it."""


def _inline(segments: Sequence[_Segment], text: str) -> Iterable[QuotedSpan]:
    """Quotations in marks; one that runs over several paragraphs is one span."""
    pending: int | None = None
    for segment in segments:
        straight, directional = _straight(segment.text), _directional(segment.text)
        if pending is not None:
            family = straight if text[pending] in _STRAIGHT else directional
            closing = _continued(segment, family, text[pending])
            if closing is not None:
                yield _span(text, pending, segment.start + closing)
            if closing is not None or family.left_open is None or not _repeats(segment, text[pending]):
                if closing is None and text[pending] not in _STRAIGHT:
                    yield _unclosed(text, pending)
                pending = None
        for first, last in (*straight.pairs, *directional.pairs, *_single(segment.text)):
            yield _span(text, segment.start + first, segment.start + last)
        for family in (directional, straight):
            if pending is None and family.left_open is not None:
                pending = segment.start + family.left_open
    if pending is not None and text[pending] not in _STRAIGHT:
        yield _unclosed(text, pending)


def _repeats(segment: _Segment, mark: str) -> bool:
    """Whether a paragraph begins with the mark that the one before left open, as printers repeat it."""
    return segment.follows and segment.text.lstrip(f" \t{_TRANSPARENT}").startswith(mark)


def _continued(segment: _Segment, family: _Pairing, mark: str) -> int | None:
    """Where a quotation left open by an earlier paragraph closes in this one, as an offset into it."""
    if not segment.follows:
        return None
    if _repeats(segment, mark):
        first = segment.text.index(mark)
        pair = next((pair for pair in family.pairs if pair[0] == first), None)
        if pair is not None:
            family.pairs.remove(pair)
            return pair[1]
        return None
    return family.stray_close


def _span(text: str, first: int, last: int) -> QuotedSpan:
    start, end = _trimmed(text, first + 1, last)
    return QuotedSpan(start, end, first, last + 1, "inline")


def _unclosed(text: str, first: int) -> QuotedSpan:
    stop = _PARAGRAPH_END.search(text, first)
    start, end = _trimmed(text, first + 1, stop.start() if stop else len(text))
    return QuotedSpan(start, end, first, end, "unclosed")


def _trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    words = text[start:end]
    return start + len(words) - len(words.lstrip()), max(start, start + len(words.rstrip()))


def _neighbours(text: str, place: int) -> tuple[str, str]:
    """The characters before and after a mark, emphasis passed over; empty at an end."""
    before, after = place - 1, place + 1
    while before >= 0 and text[before] in _TRANSPARENT:
        before -= 1
    while after < len(text) and text[after] in _TRANSPARENT:
        after += 1
    return (text[before] if before >= 0 else ""), (text[after] if after < len(text) else "")


def _opens(before: str, after: str) -> bool:
    """Whether a mark between these characters may open: something follows, nothing word-like stands before."""
    if not after or after.isspace():
        return False
    return not before or before.isspace() or before in _OPENING_CONTEXT or (before in ",;" and after.isalnum())


def _closes(before: str, after: str) -> bool:
    """Whether a mark between these characters may close."""
    return bool(before) and not before.isspace() and not (after.isalnum() and not _ideograph(after))


def _straight(text: str) -> _Pairing:
    """Pairs of the mark that has no direction; what stands around it decides. An inch mark pairs with nothing."""
    marks = [m.start() for m in re.finditer('["＂]', text)]
    roles: list[tuple[int, bool, bool, bool]] = []
    for place in marks:
        before, after = _neighbours(text, place)
        free = (before.isspace() and after.isspace()) or (_ideograph(before) and _ideograph(after))
        roles.append((place, free or _opens(before, after), free or _closes(before, after), before.isdigit()))
    pairing = _Pairing([])
    start: int | None = None
    for i, (place, opens, closes, inch) in enumerate(roles):
        if start is None:
            if opens:
                start = place
        elif closes and not (inch and _closed_later(roles, i)):
            pairing.pairs.append((start, place))
            start = None
        elif opens and not closes:
            start = place
    pairing.left_open = start
    return pairing


def _closed_later(roles: Sequence[tuple[int, bool, bool, bool]], i: int) -> bool:
    """Whether the next mark after a digit's mark closes as well, so that the digit's is an inch mark."""
    return i + 1 < len(roles) and roles[i + 1][2] and not roles[i + 1][1]


def _directional(text: str) -> _Pairing:
    """Pairs, inner ones too, of the marks that have a direction or borrow it from their language („ “, » «, ” ”)."""
    pairing = _Pairing([])
    stack: list[tuple[int, str]] = []
    for match in _DIRECTED.finditer(text):
        place, mark = match.start(), match[0]
        before, after = _neighbours(text, place)
        if stack and _closes_open(mark, stack[-1][1], before, after):
            pairing.pairs.append((stack.pop()[0], place))
        elif _opens_new(mark, before, after):
            stack.append((place, mark))
        elif not pairing.pairs and pairing.stray_close is None:
            pairing.stray_close = place
    if stack and not any(first > stack[0][0] for first, _ in pairing.pairs):
        pairing.left_open = stack[0][0]
    return pairing


_CLOSERS = {
    "“": "”“",
    "”": "”",
    "„": "“”‟",
    "‟": "”",
    "«": "»",
    "»": "«»",
    "‹": "›",
    "›": "‹",
    "「": "」",
    "『": "』",
}


def _closes_open(mark: str, opener: str, before: str, after: str) -> bool:
    if mark not in _CLOSERS[opener]:
        return False
    return mark in "”」』" or (mark, opener) in {("»", "«"), ("“", "„")} or _closes(before, after)


def _opens_new(mark: str, before: str, after: str) -> bool:
    if mark in "„「『":
        return True
    return _opens(before, after) or (mark in "“«‹" and not before.isalnum())


def _single(text: str) -> list[tuple[int, int]]:
    """Pairs of ‘ ’ and ‚ ‘. The closing mark is also the apostrophe: one before punctuation is preferred."""
    pairs: list[tuple[int, int]] = []
    openers = [m.start() for m in _SINGLE_OPENERS.finditer(text)]
    reached = 0
    for i, start in enumerate(openers):
        if start < reached or _neighbours(text, start)[0].isalnum():
            continue
        low = text[start] == "‚"
        stop = len(text) if low or i + 1 == len(openers) else openers[i + 1]
        closing = _closing_single(text, start + 1, stop, "‘’" if low else "’")
        if closing is not None:
            pairs.append((start, closing))
            reached = closing + 1
    return pairs


def _closing_single(text: str, start: int, stop: int, marks: str) -> int | None:
    """The closing mark in text[start:stop]: the first that no plural's apostrophe can be, else the last."""
    last = None
    for match in re.finditer(f"[{marks}]", text[start:stop]):
        place = start + match.start()
        before, after = _neighbours(text, place)
        if after.isalnum() or before.isspace():
            continue
        if before not in "sSxz" or after in _SENTENCE_END:
            return place
        last = place
    return last


# ---- what is kept


def _merged(ranges: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for start, end in sorted(ranges):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def _inside(ranges: Sequence[tuple[int, int]], place: int) -> bool:
    k = bisect_right(ranges, (place, 1 << 62)) - 1
    return k >= 0 and ranges[k][0] <= place < ranges[k][1]


def _middle(text: str, span: QuotedSpan) -> int:
    """A place amid the quoted words that is no white space."""
    place = (span.start + span.end) // 2
    while place < span.end and text[place].isspace():
        place += 1
    return min(place, max(span.start, span.end - 1))


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
    unclosed = [
        span
        for span in ordered
        if span.kind == "unclosed"
        and not any(a < span.outer_end and span.outer_start < b for a, b in _near(taken, span))
    ]
    return sorted((*kept, *unclosed), key=lambda s: s.start)


def _near(taken: Sequence[tuple[int, int]], span: QuotedSpan) -> Sequence[tuple[int, int]]:
    """The taken ranges that may meet a span: from the last that starts before it to the last that starts inside."""
    first = max(0, bisect_right(taken, (span.outer_start, 0)) - 1)
    return taken[first : bisect_right(taken, (span.outer_end, 0))]


def _is_title(text: str, span: QuotedSpan, settings: Quotes) -> bool:
    """A title in quotation marks: announced as one, or with its words in capitals."""
    if span.kind != "inline":
        return False
    words = text[span.start : span.end]
    lead = text[max(0, span.outer_start - 40) : span.outer_start].rstrip(f" {_TRANSPARENT}")
    cue = _LAST_WORD.search(lead)
    announced = cue[1].casefold() if cue is not None else ""
    if announced in settings.title_cues:
        return True
    if announced in settings.title_nouns and words[0].isupper() and words[-1] not in ".!":
        return True
    long_words = [word for word in _WORDS.findall(words) if len(word) > 3]
    capitals = sum(1 for word in long_words if word[0].isupper())
    if len(long_words) >= settings.title_min_words and capitals >= settings.title_capitals * len(long_words):
        return True
    return _CITED_YEAR.search(lead) is not None
