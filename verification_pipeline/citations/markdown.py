"""The shape of a Markdown document with exact places: blocks, links, code, superscripts, link definitions.

The parser is pyromark; its byte offsets become code points here. The page carries two texts of the document's own
length in which markup is spaces and a block ends in a line break, so that a pattern found in them has the document's
offsets: `view` for scanning (code is a run of `x`), `words` for reading (code as written). What belongs elsewhere:
what a marker is (`markers`), what a reference list is (`references`), sentences (`text.sentences`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import pyromark

BlockKind = Literal["paragraph", "item", "heading", "cell", "footnote"]

_OPTIONS = pyromark.Options.ENABLE_TABLES | pyromark.Options.ENABLE_FOOTNOTES | pyromark.Options.ENABLE_STRIKETHROUGH
_OPTIONS |= pyromark.Options.ENABLE_TASKLISTS
_INLINE = frozenset({"Emphasis", "Strong", "Strikethrough", "Link", "Image", "Superscript", "Subscript"})
_ESCAPE = re.compile(r"\\(?=[!-/:-@\[-`{-~])")
_TAG = re.compile(r"<!--.*?-->|<[/!?a-zA-Z][^<>]*>", re.DOTALL)
_DEFINITION = re.compile(
    r"^[ ]{0,3}(?:>[ ]?)*\[(?P<label>[^\]\n^][^\]\n]{0,200})\]:[ \t]*(?P<rest>\S[^\n]*(?:\n[ \t]+[\"'(][^\n]*)?)",
    re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class Block:
    """A run of inline text: paragraph, list item, heading, table cell or footnote.

    `start`, `end` reach from its first to its last inline element. `sections` are the indices of the headings above it,
    outermost first; `lead` is the index of the block that introduces its list, or -1.
    """

    kind: BlockKind
    start: int
    end: int
    sections: tuple[int, ...] = ()
    lead: int = -1
    level: int = 0
    table: int = -1
    row: int = -1
    column: int = -1
    label: str = ""


@dataclass(frozen=True, slots=True)
class Link:
    """A link: whole range, range of its text, address, and the label of a reference-style link."""

    start: int
    end: int
    text_start: int
    text_end: int
    address: str
    label: str


@dataclass(frozen=True, slots=True)
class Definition:
    """A link definition `[label]: address "title"`, which the parser takes out of the text."""

    start: int
    end: int
    label: str


@dataclass(slots=True)
class Page:
    """What the parser found, in document order."""

    view: str = ""
    words: str = ""
    blocks: list[Block] = field(default_factory=list)
    links: list[Link] = field(default_factory=list)
    code: list[tuple[int, int]] = field(default_factory=list)
    superscripts: list[tuple[int, int]] = field(default_factory=list)
    definitions: list[Definition] = field(default_factory=list)
    cells: dict[tuple[int, int, int], int] = field(default_factory=dict)

    def text_of(self, index: int) -> str:
        """The words of a block, white space collapsed."""
        block = self.blocks[index]
        return " ".join(self.words[block.start : block.end].split())


def read(text: str, start: int = 0) -> Page:
    """Parse a document from code point `start` on (after its front matter). Linear in its length."""
    body = text[start:]
    raw = body.encode("utf-8", "replace")
    reader = _Reader(text, start, _code_points(raw, len(body)))
    for event, span in pyromark.events_with_range(body, options=_OPTIONS, merge_text=True):
        reader.take(event, span["start"], span["end"])
    return reader.page_with(_definitions(text, start, reader.blocks))


def _code_points(raw: bytes, length: int) -> Callable[[int], int]:
    """From byte offsets of `raw` to code-point offsets."""
    if len(raw) == length:
        return lambda offset: offset
    starts = (np.frombuffer(raw, dtype=np.uint8) & 0xC0) != 0x80
    before = np.zeros(len(raw) + 1, dtype=np.int32)
    np.cumsum(starts, out=before[1:])
    return before.item


def _definitions(text: str, start: int, blocks: list[Block]) -> Iterator[Definition]:
    """Definition lines in what lies between the blocks."""
    if "]:" not in text:
        return
    edge = start
    for block in [*blocks, None]:
        stop = block.start if block else len(text)
        if stop - edge > 4 and "]:" in text[edge:stop]:
            for match in _DEFINITION.finditer(text, edge, stop):
                yield Definition(match.start(), match.end(), match.group("label").strip())
        edge = max(edge, block.end if block else edge)


class _Reader:
    """Folds the parser's events into blocks and views. One use per document."""

    def __init__(self, text: str, offset: int, code_point: Callable[[int], int]) -> None:
        self.text, self.offset, self.code_point = text, offset, code_point
        self.page = Page()
        self.blocks = self.page.blocks
        self.kept: list[tuple[int, int, str]] = []  # ranges copied into the views: text, or code
        self.containers: list[tuple[str, Any]] = []
        self.leaf_start = self.leaf_end = -1
        self.sections: tuple[int, ...] = ()
        self.leads: list[int] = []
        self.last_block = -1
        self.table = self.row = self.column = -1
        self.links: list[tuple[int, Any, int]] = []
        self.superscript = -1
        self.images = 0

    def take(self, event: Any, start_byte: int, end_byte: int) -> None:
        start, end = self.code_point(start_byte) + self.offset, self.code_point(end_byte) + self.offset
        if type(event) is str:
            if event == "Rule":
                self._close()
            return
        name, value = next(iter(event.items()))
        if name == "Text":
            if self.containers and self.containers[-1][0] == "CodeBlock":
                return
            self._inline(start, end)
            if not self.images:
                self.kept.append((start, end, "text"))
        elif name == "Start":
            kind, data = (value, None) if type(value) is str else next(iter(value.items()))
            if kind in _INLINE:
                self._inline(start, end)
                self._open_inline(kind, data, start)
            else:
                self._close()
                self._open(kind, data)
        elif name == "End":
            kind = value if type(value) is str else next(iter(value))
            if kind in _INLINE:
                self._close_inline(kind, start, end)
            else:
                self._close()
                self._leave(kind, start, end)
        elif name == "Code":
            self._inline(start, end)
            self.kept.append((start, end, "code"))
            self.page.code.append((start, end))
        elif name == "InlineHtml":
            self._inline(start, end)
            self._tag(self.text[start:end], start, end)
        elif name == "Html":
            self._html(start, end)
        elif name == "FootnoteReference":
            self._inline(start, end)
            self.kept.append((start, end, "text"))

    def _inline(self, start: int, end: int) -> None:
        if self.leaf_start < 0:
            self.leaf_start, self.leaf_end = start, end
        elif end > self.leaf_end:
            self.leaf_end = end

    def _open(self, kind: str, data: Any) -> None:
        self.containers.append((kind, data))
        if kind == "List":
            self.leads.append(self.last_block)
        elif kind == "Table":
            self.table += 1
            self.row = -1
        elif kind in ("TableHead", "TableRow"):
            self.row += 1
            self.column = -1
        elif kind == "TableCell":
            self.column += 1

    def _leave(self, kind: str, start: int, end: int) -> None:
        if kind == "CodeBlock":
            self.page.code.append((start, end))
        if kind == "List" and self.leads:
            self.leads.pop()
        if self.containers:
            self.containers.pop()

    def _close(self) -> None:
        """End the open block, if any, as a row of `blocks`."""
        if self.leaf_start < 0:
            return
        start, end = self.leaf_start, self.leaf_end
        self.leaf_start = -1
        top, data = self.containers[-1] if self.containers else ("Paragraph", {})
        index = len(self.blocks)
        if top == "Heading":
            level = int(str(data["level"])[1:])
            while self.sections and self.blocks[self.sections[-1]].level >= level:
                self.sections = self.sections[:-1]
            self.blocks.append(Block("heading", start, end, self.sections, level=level))
            self.sections = (*self.sections, index)
        elif top == "TableCell":
            self.blocks.append(
                Block("cell", start, end, self.sections, table=self.table, row=self.row, column=self.column)
            )
            self.page.cells[self.table, self.row, self.column] = index
        else:
            kind, label = self._container_kind()
            self.blocks.append(
                Block(
                    kind,
                    start,
                    end,
                    self.sections,
                    self.leads[-1] if self.leads and kind == "item" else -1,
                    label=label,
                )
            )
        self.last_block = index

    def _container_kind(self) -> tuple[BlockKind, str]:
        for kind, data in reversed(self.containers[-4:]):
            if kind == "FootnoteDefinition":
                return "footnote", str(data)
            if kind == "Item":
                return "item", ""
        return "paragraph", ""

    def _open_inline(self, kind: str, data: Any, start: int) -> None:
        if kind == "Link":
            self.links.append((start, data, len(self.kept)))
        elif kind == "Image":
            self.images += 1

    def _close_inline(self, kind: str, start: int, end: int) -> None:
        if kind == "Image":
            self.images = max(0, self.images - 1)
        if kind != "Link" or not self.links:
            return
        _, data, first = self.links.pop()
        inner = self.kept[first:]
        text_start, text_end = (inner[0][0], inner[-1][1]) if inner else (start + 1, start + 1)
        link_type = str(data["link_type"])
        label = str(data["id"]) if link_type.startswith(("Reference", "Collapsed", "Shortcut")) else ""
        self.page.links.append(Link(start, end, text_start, text_end, str(data["dest_url"]), label))
        if label:  # brackets that the parser took for a link by definition are read as written
            del self.kept[first:]
            self.kept.append((start, end, "text"))

    def _tag(self, tag: str, start: int, end: int) -> None:
        lowered = tag[:5].lower()
        if lowered.startswith("<sup"):
            self.superscript = start
        elif lowered == "</sup" and self.superscript >= 0:
            self.page.superscripts.append((self.superscript, end))
            self.superscript = -1

    def _html(self, start: int, end: int) -> None:
        """A piece of an HTML block: its tags are markup, the rest is text."""
        self._inline(start, end)
        position = start
        for match in _TAG.finditer(self.text, start, end):
            if match.start() > position:
                self.kept.append((position, match.start(), "text"))
            self._tag(match.group(), match.start(), match.end())
            position = match.end()
        if end > position:
            self.kept.append((position, end, "text"))

    def page_with(self, definitions: Iterator[Definition]) -> Page:
        """The finished page, with its two views."""
        self._close()
        ends = {block.end for block in self.blocks}
        self.page.view = self._view(ends, code=False)
        has_code = any(kind == "code" for _, _, kind in self.kept)
        self.page.words = self._view(ends, code=True) if has_code else self.page.view
        self.page.definitions.extend(definitions)
        self.page.code.sort()
        return self.page

    def _view(self, ends: set[int], *, code: bool) -> str:
        text, pieces, position = self.text, [], 0
        for start, end, kind in self.kept:
            if start < position:
                continue
            if start > position:
                pieces.append(" " * (start - position))
            piece = text[start:end]
            if kind == "code":
                piece = piece if code else "x" * len(piece)
            elif "\\" in piece:
                piece = _ESCAPE.sub(" ", piece)
            pieces.append(piece)
            position = end
        pieces.append(" " * (len(text) - position))
        view = "".join(pieces).replace("\n", " ").replace("\r", " ")
        if not ends:
            return view
        marks = sorted(ends)
        edges = [0, *(end + 1 for end in marks if end < len(view))]
        cut = [view[first : last - 1] for first, last in pairwise(edges)]
        return "\n".join([*cut, view[edges[-1] :]])
