"""An independent count of marker-like tokens: the other side of the sum that nothing vanishes.

It shares no code with the extractor on purpose, and knows only the plainest forms. A run is wrong
if it counts more in the prose than the extractor has marker rows.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

_TICKS = re.compile(r"`+")
_INSIDE = r"(?:[^() \t\n]|\((?:[^() \t\n]|\([^() \t\n]{0,2000}\)){0,2000}\)){0,2000}"
_TITLE = r"(?:\s+(?:\"[^\"\n]*\"|'[^'\n]*'))?"
_DESTINATION = rf"\(\s*(?:<[^<>\n]*>|{_INSIDE}){_TITLE}\s*\)"
_IMAGE = re.compile(rf"!\[(?:[^\[\]]|\[[^\[\]]{{0,400}}\]){{0,400}}\](?:{_DESTINATION})?|!\[\[[^\]\n]{0, 300}\]\]")
_LINKED_WORDS = re.compile(rf"\[\[(?!\d{{1,4}}\])[^\[\]\n]*\]\]{_DESTINATION}")
_LINK = re.compile(rf"\]{_DESTINATION}")
_ADDRESS = re.compile(r"<?https?://[^\s>]*>?")
_TAG = re.compile(r"<!--.{0,2000}?-->|<[/!?a-zA-Z][^<>]{0,2000}>", re.DOTALL)
_MARKER = re.compile(r"\[\[[^\[\]|#\n]{1,300}\]\]|\[\^?\d{1,3}(?:[,;] ?\d{1,3})*\]|【\d{1,3}】")


def count_marker_like(text: str, prose: Iterable[tuple[int, int]]) -> int:
    """How many tokens of the prose (half-open code-point ranges) look like citations, outside code and addresses."""
    return sum(len(_MARKER.findall(_bare(text[start:end]))) for start, end in prose)


def _bare(text: str) -> str:
    """The text without code, tags, images and addresses; of a link its words stay in their brackets."""
    if "`" in text:
        text = _without_code(text)
    if "<" in text:
        text = _TAG.sub("x", text)
    if "![" in text:
        text = _IMAGE.sub("x", text)
    if "](" in text:
        text = _LINK.sub("]", _LINKED_WORDS.sub("x", text))
    return _ADDRESS.sub("x", text) if "://" in text else text


def _without_code(text: str) -> str:
    """The text with an x for every run of backticks and what follows up to the next run of the same length.

    However far apart the two stand: the extractor knows no limit either, and the sum must not hang on one.
    """
    runs = [match.span() for match in _TICKS.finditer(text)]
    closing: dict[int, int] = {}
    last: dict[int, int] = {}
    for number, (start, end) in reversed(list(enumerate(runs))):
        if end - start in last:
            closing[number] = last[end - start]
        last[end - start] = number
    kept, read, number = [], 0, 0
    while number < len(runs):
        until = closing.get(number)
        if until is not None:
            kept += [text[read : runs[number][0]], "x"]
            read = runs[until][1]
            number = until
        number += 1
    return "".join(kept) + text[read:]
