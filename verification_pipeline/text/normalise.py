"""Reversible normalisation: how two prints of the same words look alike, with offset maps both ways.

Belongs here: typography that carries no meaning (white space, line-break hyphens, soft hyphens, ligatures, quotation
glyphs, dashes, composed characters, long s, emphasis, links, tags, reference numbers). What carries meaning stays:
words, case, digits, signs, currency and per-cent signs, punctuation, super- and subscripts of units. Does not belong
here: what a quoter may change on purpose (`quotes`), words (`text.index`), numbers.

One linear pass: a clean text costs one scan. Every change is kept as a break point, so each offset of the normalised
text has its place in the original and back.
"""

from __future__ import annotations

import html
import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass

ELLIPSIS = "…"
MINUS = "\u2212"

_SUPERSCRIPTS = "⁰¹²³⁴⁵⁶⁷⁸⁹"
_DASHES = "\u2010\u2011\u2012\u2013\u2014\u2015\u2212\u2e3a\u2e3b\ufe63\uff0d"
_DOUBLE_MARKS = '"“”„‟«»‹›「」『』〝〞＂'
_SINGLE_MARKS = "'’‘‚‛\u02bc´"
_INVISIBLE = "\u00ad\u200b\u200c\u200d\u2060\ufeff\ufe0e\ufe0f"
_IGNORED = rf"\s{_INVISIBLE}{_DOUBLE_MARKS}{_SINGLE_MARKS}*`~"
_REFERENCE = (
    r"\[\^?\d{1,4}(?:\s?[,;–-]\s?\^?\d{1,4}){0,30}\]"
    rf"|(?:(?<=[^\W\d_][^\W\d_][^\W\d_])|(?<=[.,;:!?)”\"’]))[{_SUPERSCRIPTS}](?:[,–⁻]?[{_SUPERSCRIPTS}])*"
)
_TAG = r"</?(?:i|b|em|strong|sup|sub|br|span|u|mark|a|p|small|cite|q)(?:\s[^<>]{0,300})?/?>"
_LINK = (
    r"!?\[(?=[^\[\]]{1,300}\]\()"
    r"|\]\([^()\s]{0,2000}(?:\([^()\s]{0,200}\)[^()\s]{0,200})?(?:\s\"[^\"\n]{0,200}\")?\)"
)
_QUOTE_PREFIX = r"(?:(?<=\n)|(?<=\n[ ])|(?<=\n[ ][ ])|(?<=\n>)|(?<=\n>[ ]))>"
_VERSE_LINE = r"(?<=\s)/(?=\s)"
_UNDERLINE = r"(?<![^\W_])_+|_+(?![^\W_])"
# Letters and digits that need no change, of scripts that space their words; between two of them one space stays. Nor
# does a mark that ends a word or clause, unless an ellipsis begins with it.
_IN_WORDS = (
    "0-9A-Za-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u017e\u0180-\u024f\u0386\u0388-\u03ff\u0400-\u0481\u048a-\u052f"
    "\u05d0-\u05ea\u0620-\u064a\u0671-\u06d3\u0900-\u0963\u0966-\u0dff\u1e00-\u1fbc"
)

_UNSPACED = "\u3041-\u3096\u309d-\u30ff\u3400-\u9fff\uac00-\ud7a3"
_STOP = r"(?:[,;:?)]|\.(?![ \u00a0]?\.))"
_PLAIN = re.compile(rf"(?:[{_IN_WORDS}]+(?:[ ][{_IN_WORDS}]+)*|[{_UNSPACED}]+)(?![\u0300-\u036f\u3099\u309a]){_STOP}?")
_CHANGE = re.compile(
    rf"""
    (?P<break>(?<=[^\W\d_])[-\u2010\u2011\u00ad](?:[ \t\r]{{0,8}}\n[ \t>]{{0,16}}|[ ])(?=[^\W\d_]))
  | (?P<sup><sup>[^<>]{{0,40}}</sup>)
  | (?P<entity>&(?!nbsp;)(?:[a-zA-Z]{{2,8}}|\#\d{{1,7}}|\#x[0-9a-fA-F]{{1,6}});)
  | (?P<ellipsis>\.{{3,}}+|(?<=\s)\.\.(?!\w)|{ELLIPSIS}|\.(?:[ \u00a0]\.){{2,}})
  | (?P<product>(?<=\d)(?:[ ]\*[ ]|\*)(?=\d))
  | (?P<sign>(?:(?<![^\s(\[=<>≤≥~±,;:/$€£¥]))[-\u2013\u2212\ufe63\uff0d](?=[.,]?\d|[$€£¥]\d))
  | (?P<dash>[{_DASHES}]|-{{2,3}})
  | (?P<escape>\\(?=[\\`*_{{}}\[\]()\#+.!>~$-]))
  | (?P<form>[\u017f\ufb00-\ufb06\uff01-\uff5e\uffe0-\uffe6]|[^\W\d_][\u0300-\u036f\u3099\u309a]++|[\u1100-\u11ff]++)
  | (?P<gap>(?:[{_IGNORED}]|{_QUOTE_PREFIX}|{_UNDERLINE}|&nbsp;|{_VERSE_LINE}|{_REFERENCE}|{_TAG}|{_LINK})+)
    """,
    re.VERBOSE,
)
_REFERENCES = re.compile(_REFERENCE)
_SIGN_MARKS = "-\u2013\u2212"
_HAS_SPACE = re.compile(r"\s|&nbsp;")
_HAS_DOUBLE = re.compile(f"[{_DOUBLE_MARKS}]")
_HAS_SINGLE = re.compile(f"[{_SINGLE_MARKS}]")
_WORD_BEFORE = re.compile(r"[^\W_]{1,60}$")
_WORD_AFTER = re.compile(r"[^\W_]{1,60}")


@dataclass(frozen=True, slots=True)
class Normalised:
    """A normalised text. `breaks` are its places of change: parallel offsets into the normalised and original text.

    Break k says that normalised offset `at[k]` stands at original offset `origin[k]`; up to the next break both run on
    together, except in the replaced stretch itself, which ends at `origin_end[k]` before normalised `at_end[k]`.
    """

    text: str
    at: tuple[int, ...]
    at_end: tuple[int, ...]
    origin: tuple[int, ...]
    origin_end: tuple[int, ...]
    start: int

    def original(self, first: int, last: int) -> tuple[int, int]:
        """The original half-open span of normalised [first, last), the last character's change included."""
        return self._origin(first, opening=True), self._origin(last, opening=False)

    def normal(self, offset: int) -> int:
        """The normalised offset of an original offset (inside a replaced stretch: its normalised start)."""
        k = bisect_right(self.origin, offset) - 1
        if k < 0:
            return offset - self.start
        if offset < self.origin_end[k]:
            return self.at[k]
        return self.at_end[k] + offset - self.origin_end[k]

    def _origin(self, offset: int, *, opening: bool) -> int:
        k = bisect_right(self.at, offset if opening else offset - 1) - 1
        if k < 0:
            return self.start + offset
        if offset < self.at_end[k]:
            return self.origin[k] if opening else self.origin_end[k]
        return self.origin_end[k] + offset - self.at_end[k]


def normalise(text: str, start: int = 0, end: int | None = None, *, beside: str = "") -> Normalised:
    """Normalise text[start:end]; offsets of the maps are offsets of `text`.

    Where a print leaves a choice (a hyphen at a line end; a bracketed number, reference or content), the reading that
    the text `beside` it has is taken: hyphen dropped, kept, or left with its space; numbers dropped unless it has some.
    """
    end = len(text) if end is None else end
    pieces: list[str] = []
    at: list[int] = []
    at_end: list[int] = []
    origin: list[int] = []
    origin_end: list[int] = []
    done, length = start, 0
    for match in _changes(text, start, end):
        replacement = _replacement(match, start, end, beside)
        first, last = match.span()
        if replacement == match[0]:
            continue
        pieces.append(text[done:first])
        pieces.append(replacement)
        length += first - done
        at.append(length)
        length += len(replacement)
        at_end.append(length)
        origin.append(first)
        origin_end.append(last)
        done = last
    pieces.append(text[done:end])
    return Normalised("".join(pieces), tuple(at), tuple(at_end), tuple(origin), tuple(origin_end), start)


def ascii_letters(text: str) -> bytes:
    """The ASCII letters of a text and nothing else."""
    return text.encode("ascii", "ignore").translate(None, _NO_LETTERS)


def keeps_letters(text: str) -> bool:
    """Whether normalising a text leaves its `ascii_letters` as they are, wherever one starts and ends.

    Tags, link targets and entities hold letters that go; ligatures and composed characters hide some that come.
    """
    if "<" in text or "&" in text or _LINK_TARGET.search(text):
        return False
    return text.isascii() or not _HIDES_LETTERS.search(text)


_NO_LETTERS = bytes(point for point in range(128) if not chr(point).isalpha())
_LINK_TARGET = re.compile(r"\](?=\()")  # one sign is found several times sooner than two
_HIDES_LETTERS = re.compile("[\u017f\ufb00-\ufb06\uff21-\uff3a\uff41-\uff5a\u0300-\u036f]")


def _changes(text: str, start: int, end: int) -> Iterator[re.Match[str]]:
    """Places that may need a change, in order; runs of plain words are passed over whole."""
    plain, change = _PLAIN.match, _CHANGE.match
    while start < end:
        if words := plain(text, start, end):
            start = words.end()
        if found := change(text, start, end):
            yield found
            start = found.end()
        elif not words:
            start += 1


def _replacement(match: re.Match[str], start: int, end: int, beside: str) -> str:
    kind, found = match.lastgroup, match[0]
    if kind == "gap":
        return _gap(match, start, end, beside)
    if kind == "break":
        return _at_line_end(match, start, end, beside)
    if kind == "sup":
        return ""
    if kind == "entity":
        plain = html.unescape(found)
        if plain == found:  # no entity has this name
            return found
        return " " if plain.isspace() else normalise(plain).text
    if kind == "form":
        return unicodedata.normalize("NFKC" if len(found) == 1 else "NFC", found)
    return _CONSTANT[kind or ""]


_CONSTANT = {"ellipsis": ELLIPSIS, "product": "*", "sign": MINUS, "dash": "-", "escape": ""}


def _gap(match: re.Match[str], start: int, end: int, beside: str) -> str:
    """What a run of white space, marks and reference numbers comes to: a space, an apostrophe or nothing.

    A space stays between words, before a bracket or signed figure, after a bracket, and between figures of a list.
    """
    text, (first, last) = match.string, match.span()
    before = text[first - 1] if first > start else ""
    after = text[last] if last < end else ""
    run = match[0]
    if "[" in run and beside and _REFERENCES.search(beside):
        return _with_references(run, before, after)
    if not before or not after:
        return ""
    if not _HAS_SPACE.search(run):
        if not (_wordlike(before) and _wordlike(after)):
            return ""
        if _HAS_SINGLE.search(run):
            return "'"
        return " " if _HAS_DOUBLE.search(run) and not _ideograph(before) else ""
    if _ideograph(before) and _ideograph(after):
        return ""
    if _wordlike(after) or after == "[" or (after in _SIGN_MARKS and text[last + 1 : last + 2].isdigit()):
        listed = after.isdigit() and before in ".,:;" and first - 2 >= start and text[first - 2].isdigit()
        return " " if _wordlike(before) or before == "]" or listed else ""
    return ""


def _with_references(run: str, before: str, after: str) -> str:
    """The reference numbers of a run as the text has them, single spaces around them."""
    numbers = " ".join("".join(number.split()) for number in _REFERENCES.findall(run)).replace("–", "-")
    lead = " " if before and run[:1].isspace() else ""
    tail = " " if after and run[-1:].isspace() else ""
    return f"{lead}{numbers}{tail}"


def _at_line_end(match: re.Match[str], start: int, end: int, beside: str) -> str:
    before = _WORD_BEFORE.search(match.string, max(start, match.start() - 60), match.start())
    after = _WORD_AFTER.match(match.string, match.end(), min(end, match.end() + 60))
    left, right = (before[0] if before else ""), (after[0] if after else "")
    if f"{left}-{right}" in beside:
        return "-"
    if f"{left}- {right}" in beside:
        return "- "
    return "" if "\n" in match[0] or f"{left}{right}" in beside else "-"


def _wordlike(character: str) -> bool:
    return character.isalnum() or character == "_" or "\u0300" <= character <= "\u036f"


def _ideograph(character: str) -> bool:
    return "\u3040" <= character <= "\u9fff" or "\uf900" <= character <= "\ufaff" or character >= "\U00020000"
