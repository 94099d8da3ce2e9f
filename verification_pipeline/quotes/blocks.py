"""The shape of a document as far as quotations need it: stretches in which marks pair, and block quotes.

Belongs here: paragraphs, list items, table cells, block quotes. Does not belong here: quotation marks (`marks`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

Range = tuple[int, int]

_LINE = re.compile(r"[^\n]*\n?")
_FENCE = re.compile(r"[ \t]{0,12}(?:```|~~~)")
_ITEM = re.compile(r"[ \t]{0,12}(?:[-*+•]|\d{1,4}[.)])[ \t]+|[ ]{0,3}#{1,6}[ \t]")
_BLOCK_PREFIX = re.compile(r"[ \t]{0,3}(?:>[ \t]?)+")
_BEGINS_WITH_MARK = re.compile(r"[\s*_]*[\"＂“”„‟«»「『‘‚]")
_CALLOUT = re.compile(r"\s*(?:\[!\w+\]|(?:\*\*|__)[^*_\n]{1,60}(?:\*\*|__)|[\u2600-\u27bf\U0001f300-\U0001faff])")
_LABEL = re.compile(r"\s*[*_]{0,2}(?:[A-Z][\w -]{1,24}:\s|[^\s，。,.:：]{1,16}：)")
_ATTRIBUTION = re.compile(r"\s*(?:[—―]|–\s|--+\s?|-\s)\s*\S")
_COLON = re.compile(r"[:：][\s*_]*$")
_CITATION = re.compile(r"(?:\]|】|\]\([^()\s]{0,2000}\))[\s.*_。]*$")
_AUTHORED = re.compile(r"[\"＂“”„「」]|\*\*|__")
_LEAD_IN_CHARS = 2_100
_MARKER = re.compile(
    r"(?:\[\^?\d{1,4}(?:\s?[,;–-]\s?\d{1,4}){0,30}\]|\[\[[^\[\]\n]{1,80}\]\])(?:\([^()\s]{0,2000}\))?|【[^【】\n]{1,40}】"
)
_MOST_MARKERS = 20  # closing one quote
_MARKER_CHARS, _LINK_CHARS = 220, 2_200
_AFTER_MARKER = " \t\r\n*_.,。)）"
_NOT_WORDS = re.compile(
    r"(?P<code>`{1,3}[^`\n]{1,2000}`{1,3})"
    r"|(?P<link>\]\([^()\n]{0,2000}(?:\([^()\n]{0,200}\)[^()\n]{0,200})?\))"
    r"|(?P<tag></?[a-zA-Z][a-zA-Z0-9]{0,15}(?:\s[^<>\n]{0,1000})?/?>)"
    r"|(?P<escape>\\(?=[\"'“”]))"
)
_NOT_WORDS_SIGNS = "`", "](", "<", "\\"
_FILLER = {"code": "x", "link": ")", "tag": "*", "escape": "*"}

_Kind = Literal["paragraph", "item", "row", "quote", "blank", "code"]


@dataclass(frozen=True, slots=True)
class Segment:
    """A stretch in which marks may pair: a paragraph, list item, heading or table cell.

    `text` is the document's from `start` on, with code, link targets and tags overwritten at the same length;
    `follows` says that it is a paragraph after a paragraph, so that a quotation may run on into it.
    """

    start: int
    text: str
    follows: bool = False


@dataclass(frozen=True, slots=True)
class BlockQuote:
    """Words of a block quote, or of one of its paragraphs: text[start:end]; with its markers it reaches to `outer_end`.

    `announced`: something says that another's words follow (a lead-in, a speaker's line, a closing marker). A block
    without any of that may be set off for emphasis and be the author's own.
    """

    start: int
    end: int
    outer_end: int
    announced: bool


def read(text: str) -> tuple[list[Segment], list[BlockQuote]]:
    """Segments and block quotes of a document, each in order."""
    segments: list[Segment] = []
    quotes: list[BlockQuote] = []
    before: tuple[_Kind, int] = ("blank", 0)
    for kind, lines in _runs(text):
        start, end = lines[0][0], lines[-1][1]
        if kind == "row":
            segments += _cells(text, start, end)
        elif kind == "quote" and not _BEGINS_WITH_MARK.match(text, *_line_words(text, lines[0])):
            quotes += _block_quotes(text, lines)
        else:
            follows = kind == before[0] == "paragraph" and not text[before[1] : start].strip()
            segments.append(Segment(start, _blanked(text[start:end]), follows))
        before = (kind, end)
    return segments, quotes


def without_markers(text: str, start: int, end: int) -> int:
    """Where the words of text[start:end] end before the markers that close them; `end` if none do."""
    reached = end
    for _ in range(_MOST_MARKERS):
        tail = start + len(text[start:reached].rstrip(_AFTER_MARKER))
        # The bracket that closes a link was stripped as one that closes a remark.
        tail += text[tail : tail + 1] == ")" and "](" in text[max(start, tail - _LINK_CHARS) : tail]
        marker = _marker_start(text, start, tail)
        if marker is None:
            break
        reached = marker
    return end if reached == end else start + len(text[start:reached].rstrip(" \t\r\n(（"))


def _marker_start(text: str, start: int, end: int) -> int | None:
    """Where the marker begins that ends exactly at `end`, with its link if it has one."""
    bracket = end
    if text[end - 1 : end] == ")":
        bracket = text.rfind("](", max(start, end - _LINK_CHARS), end) + 1
    opening = "【" if text[bracket - 1 : bracket] == "】" else "["
    first = text.rfind(opening, max(start, bracket - _MARKER_CHARS), bracket)
    if first > start and text[first - 1] == "[":
        first -= 1
    return first if first > start and _MARKER.fullmatch(text, first, end) else None


def trimmed(text: str, start: int, end: int) -> Range:
    """The range without white space at its ends; empty at `start` if there is nothing else."""
    words = text[start:end]
    if not words.strip():
        return start, start
    return start + len(words) - len(words.lstrip()), start + len(words.rstrip())


def _runs(text: str) -> Iterator[tuple[_Kind, list[Range]]]:
    """Consecutive lines of one kind; blank lines and fenced code part them and are left out."""
    run: list[Range] = []
    kind: _Kind = "blank"
    fenced = False
    for line in _LINE.finditer(text):
        if line.start() == line.end():
            break
        this = _line_kind(text, *line.span())
        if this == "code":
            fenced = not fenced
        joins = this == kind in ("paragraph", "quote") or (this == "paragraph" and kind == "item")
        if run and (fenced or not joins):
            yield kind, run
            run = []
        if fenced or this in ("blank", "code"):
            kind = "blank"
            continue
        kind = kind if run else this
        run.append(line.span())
    if run:
        yield kind, run


def _line_kind(text: str, start: int, end: int) -> _Kind:
    lead = text[start:end].lstrip(" \t")[:1]
    if lead in ("", "\n", "\r"):
        return "blank"
    if lead == "|":
        return "row"
    if lead in "`~" and _FENCE.match(text, start, end):
        return "code"
    if lead == ">" and _BLOCK_PREFIX.match(text, start, end):
        return "quote"
    return "item" if _ITEM.match(text, start, end) else "paragraph"


def _cells(text: str, start: int, end: int) -> Iterator[Segment]:
    for cell in text[start:end].split("|"):
        if cell.strip():
            yield Segment(start, _blanked(cell))
        start += len(cell) + 1


def _blanked(text: str) -> str:
    if not any(sign in text for sign in _NOT_WORDS_SIGNS):
        return text
    return _NOT_WORDS.sub(lambda m: _FILLER[m.lastgroup or "code"] * len(m[0]), text)


# ---- block quotes


def _block_quotes(text: str, lines: Sequence[Range]) -> Iterator[BlockQuote]:
    """A block quote as one stretch; as one per paragraph where an inner paragraph ends with its own marker.

    A call-out (`[!NOTE]`, a bold label, a sign) is no quotation.
    """
    paragraphs, spoken = _paragraphs(text, lines)
    if not paragraphs or _CALLOUT.match(text, paragraphs[0][0]):
        return
    ends = [without_markers(text, start, end) for start, end in paragraphs]
    announced = spoken or _announced(text, lines[0][0], paragraphs, ends)
    if any(words < end for words, (_, end) in zip(ends[:-1], paragraphs, strict=False)):
        for words, (start, end) in zip(ends, paragraphs, strict=True):
            yield BlockQuote(start, words, end, announced)
    else:
        yield BlockQuote(paragraphs[0][0], ends[-1], lines[-1][1], announced)


def _announced(text: str, start: int, paragraphs: Sequence[Range], ends: Sequence[int]) -> bool:
    """Whether another's words follow: after a colon; or with a marker before or after and no sign of the author.

    An author's own block has a label, markers amid its words, emphasis, or quotation marks of its own.
    """
    lead = text[max(0, start - _LEAD_IN_CHARS) : start].rstrip()
    if _LABEL.match(text, *paragraphs[0]):
        return False
    if _COLON.search(lead):
        return True
    cited = _CITATION.search(lead) is not None or ends[-1] < paragraphs[-1][1]
    words = [text[first:last] for (first, _), last in zip(paragraphs, ends, strict=True)]
    return cited and not any(_MARKER.search(part) or _AUTHORED.search(part) for part in words)


def _paragraphs(text: str, lines: Sequence[Range]) -> tuple[list[Range], bool]:
    """Paragraphs inside a block quote, and whether a line after them names the speaker."""
    paragraphs: list[Range] = []
    continues, spoken = False, False
    for line in lines:
        start, end = trimmed(text, *_line_words(text, line))
        if paragraphs and _ATTRIBUTION.match(text, start, end):
            continues, spoken = False, True
        elif start == end:
            continues = False
        elif continues:
            paragraphs[-1] = (paragraphs[-1][0], end)
        else:
            paragraphs.append((start, end))
            continues = True
    return paragraphs, spoken


def _line_words(text: str, line: Range) -> Range:
    prefix = _BLOCK_PREFIX.match(text, *line)
    return (prefix.end() if prefix else line[0]), line[1]
