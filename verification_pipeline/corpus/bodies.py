"""Bytes into text: encodings, front matter, HTML and PDF bodies. Knows no documents and no tables.

Offsets of every later stage count code points of the text made here, so that text is what gets stored: decoded,
byte-order mark dropped, newlines LF, front matter kept, HTML and PDF as their extractor gives them.
"""

from __future__ import annotations

import re
from typing import Any

import yaml
from charset_normalizer import from_bytes

_NEWLINES = re.compile(r"\r\n?")
_SURROGATES = re.compile("[\ud800-\udfff]")
_FRONT_MATTER = re.compile(r"---[ \t]*\n(.*?)(?<=\n)(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)
_FIRST_HEADING = re.compile(r"^ {0,3}#[ \t]+(.+?)[ \t]*#*[ \t]*$", re.MULTILINE)
_FRONT_MATTER_CHARS = 64_000
_BOMS = (
    (b"\xef\xbb\xbf", "utf-8-sig"),
    (b"\xff\xfe\x00\x00", "utf-32"),
    (b"\x00\x00\xfe\xff", "utf-32"),
    (b"\xff\xfe", "utf-16"),
    (b"\xfe\xff", "utf-16"),
)
_SHORTEST_ARTICLE = 200


class UnreadableBody(ValueError):
    """The bytes are no text in any encoding, or their extractor gave up; the message is the reason."""


def tidy(text: str) -> str:
    """The stored form of a text: no byte-order mark, LF newlines, lone surrogates replaced (UTF-8 has none)."""
    text = text.removeprefix("\ufeff")
    if "\r" in text:
        text = _NEWLINES.sub("\n", text)
    return text if text.isascii() else _SURROGATES.sub("\ufffd", text)


def decode(raw: bytes) -> tuple[str, str | None]:
    """Text of `raw`, and the encoding when it had to be guessed. UnreadableBody for binary content."""
    for mark, encoding in _BOMS:
        if raw.startswith(mark):
            try:
                return tidy(raw.decode(encoding)), None
            except UnicodeDecodeError as error:
                raise UnreadableBody(f"starts like {encoding} but is not: {error.reason}") from None
    if b"\0" in raw:
        raise UnreadableBody("holds NUL bytes: binary, or text without its byte-order mark")
    try:
        return tidy(raw.decode("utf-8")), None
    except UnicodeDecodeError as error:
        best = from_bytes(raw).best()
        if best is None:
            raise UnreadableBody(f"no known encoding fits (UTF-8 fails at byte {error.start})") from None
        return tidy(str(best)), best.encoding


def front_matter(text: str) -> tuple[dict[str, Any], int, str | None]:
    """YAML front matter: its mapping, the offset of the body, and what is wrong with it (the body stays readable)."""
    if not text.startswith("---"):
        return {}, 0, None
    match = _FRONT_MATTER.match(text, 0, _FRONT_MATTER_CHARS)
    if not match:
        return {}, 0, None
    try:
        fields = yaml.safe_load(match[1])
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        where = getattr(error, "problem", None) or str(error)
        return {}, match.end(), f"front matter is not valid YAML: {where}"
    if fields is None:
        return {}, match.end(), None
    if not isinstance(fields, dict):
        return {}, 0, None
    return {str(key): value for key, value in fields.items()}, match.end(), None


def first_heading(text: str, start: int) -> str | None:
    """The first level-one ATX heading after `start`."""
    match = _FIRST_HEADING.search(text, start)
    return match[1] if match else None


def document_from_html(html: str) -> str:
    """A whole HTML document as Markdown: nothing is taken for boilerplate, so that no citation is lost."""
    from html_to_markdown import ConversionError, ConversionOptions, convert

    try:
        result = convert(html, ConversionOptions(sup_symbol="<sup>"))
    except (ConversionError, ValueError) as error:
        raise UnreadableBody(f"HTML cannot be converted: {error}") from error
    return tidy(result.content or "")


def source_from_html(html: str) -> str:
    """The article of an HTML page as text; the whole page where no article is found."""
    import trafilatura

    try:
        article = trafilatura.extract(html, favor_recall=True, include_comments=False, deduplicate=False)
    except (ValueError, RecursionError):
        article = None
    if article and len(article) >= _SHORTEST_ARTICLE:
        return tidy(article)
    whole = document_from_html(html)
    _, start, _ = front_matter(whole)
    return whole[start:].strip()


def text_from_pdf(raw: bytes) -> str:
    """The text layer of a PDF, pages divided by form feeds."""
    import pypdfium2

    try:
        pages = pypdfium2.PdfDocument(raw)
        return tidy("\f".join(page.get_textpage().get_text_bounded() for page in pages)).replace("\0", "")
    except pypdfium2.PdfiumError as error:
        raise UnreadableBody(f"PDF cannot be read: {error}") from error
