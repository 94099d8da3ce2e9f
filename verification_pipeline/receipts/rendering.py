"""A document's markdown as safe HTML with its citation markers replaced by given pieces of HTML.

Only what markdown itself means becomes markup; raw HTML, images and addresses that are not http(s) become text, so a
hostile document can neither run nor load anything. Markers are exact ranges of code points: each is swapped for a
private sign before the markdown is parsed and for its HTML afterwards, so that no marker style needs a rule here.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pyromark
from markupsafe import Markup, escape

_OPEN, _CLOSE = "\U000f0000", "\U000f0001"
_PLACE = re.compile(f"{_OPEN}([0-9]+){_CLOSE}")
_OPTIONS = (
    pyromark.Options.ENABLE_TABLES
    | pyromark.Options.ENABLE_FOOTNOTES
    | pyromark.Options.ENABLE_STRIKETHROUGH
    | pyromark.Options.ENABLE_TASKLISTS
    | pyromark.Options.ENABLE_MATH
    | pyromark.Options.ENABLE_WIKILINKS
    | pyromark.Options.ENABLE_YAML_STYLE_METADATA_BLOCKS
)
_PLAIN_TAGS = {"Paragraph": "p", "Emphasis": "em", "Strong": "strong", "Strikethrough": "s", "Item": "li"}
_BLOCKS = ("Paragraph", "Item")
_ROWS = {"TableHead": ("<thead><tr>", "</tr></thead>"), "TableRow": ("<tr>", "</tr>")}
_FORMATTING = re.compile(r"</?(?:sup|sub|b|i|u|em|strong|small|mark|span|font|br|p|div|center)\b[^>]*>", re.IGNORECASE)
# Controls, and signs that reorder what stands around them, are shown and not obeyed.
_CONTROLS = {
    **{point: 0xFFFD for point in (*range(0x20), *range(0x7F, 0xA0)) if point not in (0x09, 0x0A)},
    **dict.fromkeys((*range(0x202A, 0x202F), *range(0x2066, 0x206A), 0xF0000, 0xF0001), 0xFFFD),
}


def harmless(words: str) -> str:
    """The same words, sign for sign, with controls and directional overrides made visible."""
    return words.translate(_CONTROLS)


def document_html(text: str, pieces: Sequence[tuple[int, int, Markup]]) -> Markup:
    """HTML of a markdown document; `pieces` are (start, end, HTML) in order and without overlaps."""
    parts: list[str] = []
    at = 0
    for number, (start, end, _) in enumerate(pieces):
        parts += (harmless(text[at:start]), f"{_OPEN}{number}{_CLOSE}")
        at = end
    parts.append(harmless(text[at:]))
    writer = _Writer([piece for _, _, piece in pieces])
    for event in pyromark.events("".join(parts), options=_OPTIONS, merge_text=True):
        writer.write(event)
    return Markup("".join(writer.out))  # noqa: S704 - every word in it was escaped


@dataclass(slots=True)
class _Writer:
    """Turns markdown events into HTML, one after the other."""

    pieces: Sequence[Markup]
    out: list[str] = field(default_factory=list)
    links: list[bool] = field(default_factory=list)
    """Open links and images; whether each opened an anchor."""
    held: list[str] = field(default_factory=list)
    """Pieces met inside a link: anchors do not nest, so they follow it."""
    in_head: bool = False
    hidden: int = 0
    """Depth inside metadata, which is not prose."""

    def write(self, event: Any) -> None:
        if isinstance(event, str):
            self.out.append({"SoftBreak": "\n", "HardBreak": "<br>\n", "Rule": "<hr>\n"}.get(event, ""))
            return
        ((kind, value),) = event.items()
        if kind == "Start":
            self._start(*_named(value))
        elif kind == "End":
            self._end(*_named(value))
        elif not self.hidden:
            self._leaf(kind, value)

    def _leaf(self, kind: str, value: Any) -> None:
        if kind == "Text":
            self._text(value)
        elif kind in ("Code", "InlineMath", "DisplayMath"):
            self.out.append("<code>")
            self._text(value)
            self.out.append("</code>")
        elif kind in ("Html", "InlineHtml"):
            self._text(_FORMATTING.sub("", value))
        elif kind == "FootnoteReference":
            self._text(f"[^{value}]")
        elif kind == "TaskListMarker":
            self.out.append("\N{BALLOT BOX WITH CHECK} " if value else "\N{BALLOT BOX} ")

    def _text(self, words: str) -> None:
        into = self.held if self.links else self.out
        at = 0
        for place in _PLACE.finditer(words):
            self.out.append(str(escape(words[at : place.start()])))
            into.append(str(self.pieces[int(place[1])]))
            at = place.end()
        self.out.append(str(escape(words[at:])))

    def _start(self, name: str, value: Any) -> None:
        if name == "MetadataBlock":
            self.hidden += 1
        elif name in _PLAIN_TAGS:
            self.out.append(f"<{_PLAIN_TAGS[name]}>")
        elif name == "Heading":
            self.out.append(f"<{_heading(value['level'])}>")
        elif name == "BlockQuote":
            self.out.append("<blockquote>\n")
        elif name == "CodeBlock":
            self.out.append("<pre><code>")
        elif name == "List":
            self.out.append("<ul>\n" if value is None else f'<ol start="{int(value)}">\n')
        elif name == "Table":
            self.out.append("<table>\n")
        elif name in _ROWS:
            self.in_head = name == "TableHead"
            self.out.append(_ROWS[name][0])
        elif name == "TableCell":
            self.out.append("<th>" if self.in_head else "<td>")
        elif name == "FootnoteDefinition":
            self.out.append(f'<div class="footnote"><span>[^{escape(value)}]</span> ')
        elif name in ("Link", "Image"):
            self._open_link(name, value)

    def _open_link(self, name: str, value: Any) -> None:
        address = value["dest_url"]
        if name == "Image":
            self.out.append(f"[image: {escape(address)} ")
        elif address.lower().startswith(("http://", "https://")):
            self.out.append(f'<a href="{escape(address)}" rel="noopener noreferrer nofollow" target="_blank">')
        self.links.append(name == "Link" and address.lower().startswith(("http://", "https://")))

    def _end(self, name: str, value: Any) -> None:
        if name == "MetadataBlock":
            self.hidden -= 1
        elif name in _PLAIN_TAGS:
            self.out.append(f"</{_PLAIN_TAGS[name]}>" + ("\n" if name in _BLOCKS else ""))
        elif name == "Heading":
            self.out.append(f"</{_heading(value)}>\n")
        elif name == "BlockQuote":
            self.out.append("</blockquote>\n")
        elif name == "CodeBlock":
            self.out.append("</code></pre>\n")
        elif name == "List":
            self.out.append("</ol>\n" if value else "</ul>\n")
        elif name == "Table":
            self.out.append("</table>\n")
        elif name in _ROWS:
            self.out.append(_ROWS[name][1] + "\n")
            self.in_head = False
        elif name == "TableCell":
            self.out.append("</th>" if self.in_head else "</td>")
        elif name == "FootnoteDefinition":
            self.out.append("</div>\n")
        elif name in ("Link", "Image"):
            self.out.append("]" if name == "Image" else "</a>" if self.links[-1] else "")
            self.links.pop()
            if not self.links:
                self.out += self.held
                self.held.clear()


def _named(value: Any) -> tuple[str, Any]:
    if isinstance(value, str):
        return value, None
    ((name, inner),) = value.items()
    return name, inner


def _heading(level: str) -> str:
    """The document's headings below those of the page."""
    return f"h{min(6, int(level[1:]) + 2)}"
