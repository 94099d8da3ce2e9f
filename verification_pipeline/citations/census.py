"""An independent count of marker-like tokens: the other side of the sum that nothing vanishes.

It shares no code with the extractor on purpose, and knows only the plainest forms. A run is wrong
if it counts more in the prose than the extractor has marker rows.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

_CODE = re.compile(r"(`+)(?!`).*?(?<!`)\1(?!`)", re.DOTALL)
_IMAGE = re.compile(r"!\[[^\]\n]*\](?:\([^)\n]*\))?|!\[\[[^\]\n]*\]\]")
_ADDRESS = re.compile(r"\]\([^)\s]*\)|<?https?://[^\s>]*>?")
_MARKER = re.compile(r"\[\[[^\[\]|#\n]+\]\]|\[\^?\d{1,3}(?:[,;] ?\d{1,3})*\]|【\d{1,3}】")


def count_marker_like(text: str, prose: Iterable[tuple[int, int]]) -> int:
    """How many tokens of the prose (half-open code-point ranges) look like citations, outside code and addresses."""
    return sum(
        len(_MARKER.findall(_ADDRESS.sub("]", _IMAGE.sub("", _CODE.sub("", text[start:end]))))) for start, end in prose
    )
