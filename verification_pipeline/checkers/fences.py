"""Fences: how text from documents and sources is put before a model without being able to speak to it.

The delimiter carries a nonce, an HMAC of the store's secret and the fenced text's hash: no source can know it, yet it
is the same every night, so prompt caches and stored answers stay valid. Whatever looks like a delimiter inside a
fenced text or a one-line field is neutralised. Rules: seed claim-check-api ("What is trusted is the caller").
"""

from __future__ import annotations

import hashlib
import hmac
import re
import unicodedata

_DELIMITER_LIKE = re.compile(r"<{2,}|>{2,}|\[{3,}|\]{3,}|={4,}")
_LINE_BREAKS = re.compile(r"[\r\n\v\f\x1c-\x1e\x85\u2028\u2029]+")


def nonce(secret: str, text_sha256: str) -> str:
    """Twelve hex digits that only the holder of the store's secret can foresee."""
    return hmac.new(bytes.fromhex(secret), text_sha256.encode(), hashlib.sha256).hexdigest()[:12]


def fenced(kind: str, mark: str, body: str) -> str:
    """`body` between delimiters that carry `mark`; nothing inside can close them."""
    return f"<<{kind} {mark}>>\n{neutral(body)}\n<<end {kind} {mark}>>"


def neutral(text: str) -> str:
    """The text with every run of delimiter characters broken up and control and invisible format characters out."""
    kept = "".join(c for c in text if c in "\n\t" or unicodedata.category(c) not in ("Cc", "Cf", "Co", "Cs"))
    return _DELIMITER_LIKE.sub(lambda match: " ".join(match[0]), kept)


def one_line(text: str, limit: int = 200) -> str:
    """A title, id or address for use outside a fence: one short neutral line."""
    return neutral(_LINE_BREAKS.sub(" ", text)).strip()[:limit]
