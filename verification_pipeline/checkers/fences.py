"""Fences: how text from documents and sources is put before a model without being able to speak to it.

A fence opens and closes with a line that carries a code, an HMAC of the store's secret and the fenced text's hash: no
source can know it, yet it is the same every night, so prompt caches and stored answers stay valid. Inside, whatever
could be read as a delimiter, a tag or a chat template's control token is neutralised, and what no reader sees is left
out. Nothing that a document or a source wrote stands outside a fence: neither ids, titles nor addresses.

Rules: seed claim-check-api ("What is trusted is the caller, not the documents").
"""

from __future__ import annotations

import hashlib
import hmac
import re
from dataclasses import dataclass

_BREAK = re.compile(r"[\r\v\f\x1c-\x1e\x85\u2028\u2029]")
_INVISIBLE = re.compile(
    "[\x00-\x08\x0e-\x1b\x1f\x7f-\x84\x86-\x9f"  # controls
    "\u00ad\u061c\u070f\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff0-\ufffb"  # formats, bidi
    "\u115f\u1160\u17b4\u17b5\u3164\uffa0\u2800"  # letters and signs without ink
    "\ufe00-\ufe0f\U000e0000-\U000e0fff"  # variation selectors, tags: alphabets that smuggle text
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\ud800-\udfff\ue000-\uf8ff\U000f0000-\U0010ffff]+"  # surrogates, private use
)
_LESS, _GREATER = "<\uff1c\ufe64\u2039", ">\uff1e\ufe65\u203a"
_DELIMITER = re.compile(
    rf"[{_LESS}](?:\s*+[{_LESS}]|(?=[/|\uff5c!?]|[^\W\d_]))(?:\s*+[{_LESS}])*"
    rf"|[{_GREATER}](?:\s*+[{_GREATER}])+|(?<=[|\uff5c])[{_GREATER}]"
    "|[\u226a\u22d8\u27ea\u226b\u22d9\u27eb]"
)
_PLAIN = str.maketrans(
    {
        **dict.fromkeys(f"{_LESS}\u226a\u22d8\u27ea", "\u2039"),
        **dict.fromkeys(f"{_GREATER}\u226b\u22d9\u27eb", "\u203a"),
    }
)
_TEMPLATE = re.compile(r"\[(?=/?[ ]?(?:INST|SYS|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_\w{1,12}|THINK|IMG)[ ]?\])", re.I)


@dataclass(frozen=True, slots=True)
class Visible:
    """The visible part of a text, and where each of its code points stood: `kept` are (shown, original, length) runs.

    `neutral` replaces code points one for one, so offsets of the neutral text are offsets of this one.
    """

    text: str
    kept: tuple[tuple[int, int, int], ...]

    def original(self, start: int, end: int) -> tuple[int, int]:
        """The half-open span of the original that [start, end) of the visible text came from."""
        return self._at(start), self._at(end - 1) + 1

    def _at(self, offset: int) -> int:
        for shown, original, length in self.kept:
            if shown <= offset < shown + length:
                return original + offset - shown
        raise IndexError(offset)


def code(secret: str, text: str) -> str:
    """Twelve hex digits for a text (or its hash) that only the holder of the store's secret can foresee."""
    return hmac.new(bytes.fromhex(secret), text.encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()[:12]


def fenced(kind: str, mark: str, body: str) -> str:
    """`body` between lines that carry `mark`; nothing inside can close them."""
    return f"<<{kind} {mark}>>\n{neutral(body)}\n<<end {kind} {mark}>>"


def neutral(text: str) -> str:
    """The text without what no reader sees, and with no character that opens a delimiter, a tag or a control token.

    Every replacement is one code point for one, so the shown text can be followed back (`visible_map`). Idempotent.
    """
    text = visible(text)
    if "[" in text:
        text = _TEMPLATE.sub("(", text)
    if any(chr(point) in text for point in _PLAIN):
        text = _DELIMITER.sub(lambda match: match[0].translate(_PLAIN), text)
    return text


def visible(text: str) -> str:
    """The text without what no reader sees: controls, invisible formats, private use, lone surrogates."""
    return _BREAK.sub("\n", _INVISIBLE.sub("", text))


def visible_map(text: str) -> Visible:
    """`visible(text)` with its way back."""
    kept: list[tuple[int, int, int]] = []
    shown = done = 0
    for match in _INVISIBLE.finditer(text):
        if match.start() > done:
            kept.append((shown, done, match.start() - done))
            shown += match.start() - done
        done = match.end()
    if len(text) > done:
        kept.append((shown, done, len(text) - done))
    return Visible(visible(text), tuple(kept))


def one_line(text: str, limit: int = 200) -> str:
    """A title, id or address as one short line, for use inside a fence."""
    return " ".join(text[: 4 * limit].split())[:limit]
