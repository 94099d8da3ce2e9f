"""A receipt as one self-contained HTML page: the checklist, the four tables, then the document with its citations.

The page loads nothing and runs nothing but its own few lines of script, which its content security policy names by
hash; without script everything but the next/previous keys works. It is built to be printed and attached.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jinja2
from markupsafe import Markup

from verification_pipeline import __version__, pages
from verification_pipeline.receipts.rendering import document_html

TextOf = Callable[[str], str | None]
Row = Mapping[str, Any]

_PACKAGE = "verification_pipeline.receipts"
_AROUND = 400  # code points of a source shown on each side of the evidence
_LABEL = 16

STATES: dict[str, tuple[str, str]] = {
    "unsupported": ("✗", "unsupported"),
    "wrong-source": ("⇄", "wrong source"),
    "dangling": ("∅", "dangling: no such source"),
    "unsupported-style": ("?", "style not understood"),
    "partially-supported": ("~", "partially supported"),
    "not-checked": ("…", "not checked"),
    "supported": ("✓", "supported"),
}
"""What a citation can be, worst first, with its sign and its words."""

QUOTE_SIGNS = {"verified": "✓", "altered": "✗", "not-found": "∅", "not-checked": "…"}
_CLOSING = "\"'”’“»›」』"


@dataclass(frozen=True, slots=True)
class Passage:
    """The place in a source that a pair rests on, with what stands around it."""

    before: str
    words: str
    after: str


@dataclass(frozen=True, slots=True)
class Cited:
    """One pair as the page shows it."""

    row: Row
    state: str
    sign: str
    said: str
    because: str
    source: Row | None
    correct: Row | None
    passage: Passage | None


def mark(receipt_id: str) -> str:
    """Words in the head of a page by which to tell which receipt it shows, and which version of this module made it."""
    return f'<meta name="receipt" content="{receipt_id} {__version__}">'


def render(receipt: Row, text_of: TextOf) -> str:
    """The page of a receipt. `text_of` gives stored texts by hash; without a text its part of the page is left out."""
    pairs = list(_pairs(receipt, text_of))
    sha = receipt["document"]["text_sha256"]
    text = text_of(sha) if sha else None
    body = None if text is None else document_html(text, _pieces(receipt, pairs, text))
    counted = Counter(pair.state for pair in pairs)
    style, script = (pages.part(_PACKAGE, name) for name in ("receipt.css", "receipt.js"))
    return _template("receipt.html").render(
        receipt=receipt,
        mark=Markup(mark(receipt["id"])),  # noqa: S704 - a hash and a version
        pairs=pairs,
        body=body,
        states=[(state, sign, words, counted[state]) for state, (sign, words) in STATES.items() if counted[state]],
        style=style,
        script=script,
        style_hash=pages.source_hash(style),
        script_hash=pages.source_hash(script),
    )


def _pairs(receipt: Row, text_of: TextOf) -> Iterator[Cited]:
    sources = {source["source_key"]: source for source in receipt["sources"]}
    for row in receipt["cite_check"]["rows"]:
        state = row["verdict"] or row["outcome"]
        sign, words = STATES[state]
        how = "" if row["outcome"] != "auto-passed" else " without a reader"
        said = f"{words}{how}{', the source says otherwise' if row['contradicted'] else ''}"
        because = row["rationale"] or row["reason"] or ""
        source, correct = (sources.get(row[name]) for name in ("source_key", "correct_source_key"))
        yield Cited(row, state, sign, said, because, source, correct, _passage(row, text_of))


def _passage(row: Row, text_of: TextOf) -> Passage | None:
    if row["evidence"] is None:
        return None
    start, end = row["evidence_start"], row["evidence_end"]
    text = text_of(row["evidence_text_sha256"])
    if text is None:
        return Passage("", row["evidence"], "")
    first, last = max(0, start - _AROUND), min(len(text), end + _AROUND)
    before = ("…" if first else "") + text[first:start]
    return Passage(before, text[start:end], text[end:last] + ("…" if last < len(text) else ""))


def _pieces(receipt: Row, pairs: Sequence[Cited], text: str) -> list[tuple[int, int, Markup]]:
    """Everything that is put into the document, in order: a chip for each marker, a sign after each quotation."""
    chips = _chips(receipt["markers"]["rows"], pairs, text)
    covered = [(start, end) for start, end, _ in chips]
    signs = []
    for number, row in enumerate(receipt["quote_integrity"]["rows"]):
        at = row["end"] + (text[row["end"] : row["end"] + 1] in tuple(_CLOSING))
        if not _inside(covered, at):
            signs.append((at, at, _quote_sign(number, row)))
    return sorted([*chips, *signs], key=lambda piece: piece[:2])


def _inside(ranges: Sequence[tuple[int, int]], offset: int) -> bool:
    before = bisect_left(ranges, offset, key=lambda place: place[0]) - 1
    return before >= 0 and offset < ranges[before][1]


def _quote_sign(number: int, row: Row) -> Markup:
    html = _template("quotation.html").render(number=number, row=row, sign=QUOTE_SIGNS[row["status"]])
    return Markup(html.strip())  # noqa: S704 - made by the template


def _chips(markers: Sequence[Row], pairs: Sequence[Cited], text: str) -> list[tuple[int, int, Markup]]:
    """A piece of HTML for each marker of the document; markers that overlap are one chip."""
    by_id = {pair.row["pair_id"]: pair for pair in pairs}
    chips = []
    for number, (start, end, rows) in enumerate(_together(markers), start=1):
        cited = [by_id[row["pair_id"]] for row in rows if row["pair_id"] in by_id]
        states = {pair.state for pair in cited} or {rows[0]["status"]}
        state = next((state for state in STATES if state in states), "not-checked")
        label = text[start:end]
        chips.append((start, end, _chip(number, state, label, cited)))
    return chips


def _chip(number: int, state: str, label: str, cited: Sequence[Cited]) -> Markup:
    short = label if len(label) <= _LABEL else label[: _LABEL - 1] + "…"
    sign = STATES[state][0]
    html = _template("citation.html").render(number=number, state=state, sign=sign, label=short, cited=cited)
    return Markup(html.strip())  # noqa: S704 - made by the template


def _together(markers: Iterable[Row]) -> Iterator[tuple[int, int, list[Row]]]:
    """Citing markers in order, those that overlap as one."""
    group: list[Row] = []
    end = 0
    for row in sorted(markers, key=lambda row: (row["start"], row["end"])):
        if row["status"] == "not-a-citation":
            continue
        if group and row["start"] >= end:
            yield group[0]["start"], end, group
            group = []
            end = 0
        group.append(row)
        end = max(end, row["end"])
    if group:
        yield group[0]["start"], end, group


def _template(name: str) -> jinja2.Template:
    return pages.environment(_PACKAGE).get_template(name)
