"""Content-derived identifiers: every key and join of every table. No counters, no library hashes.

Hashes are BLAKE2b, 16 bytes, lower-case hex: the same on every machine and in every version. Parts are
length-prefixed, so that ("ab", "c") and ("a", "bc") never meet.
"""

from __future__ import annotations

import unicodedata
from hashlib import blake2b, sha256


def hash_of(*parts: str) -> str:
    """32 hex digits over the parts, in order."""
    framed = bytearray()
    for part in parts:
        raw = part.encode("utf-8", "surrogatepass")
        framed += len(raw).to_bytes(8, "big")
        framed += raw
    return blake2b(framed, digest_size=16).hexdigest()


def hash_of_bytes(raw: bytes) -> str:
    """32 hex digits over bytes as they are."""
    return blake2b(raw, digest_size=16).hexdigest()


def text_sha256(text: str) -> str:
    """SHA-256 of a text's UTF-8 form, hex: the name under which the text is stored."""
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def document_key(corpus: str, document_id: str) -> str:
    """Key of a document."""
    return hash_of("document", corpus, document_id)


def source_key(corpus: str, document_id: str | None, source_id: str) -> str:
    """Key of a source; `document_id` is None for a source shared by its whole corpus."""
    return hash_of("source", corpus, document_id or "", source_id)


def pair_id(document: str, claim: str, target: str, occurrence: int) -> str:
    """Key of a (claim, target) pair: survives edits elsewhere in the document and drift of the source."""
    return hash_of("pair", document, normalised(claim), target, str(occurrence))


def quote_id(document: str, quote: str, occurrence: int) -> str:
    """Key of a quoted span of a document."""
    return hash_of("quote", document, normalised(quote), str(occurrence))


def cluster_id(document: str | None, root: str) -> str:
    """Key of a cluster of sources in one document (or in the whole archive: None)."""
    return hash_of("cluster", document or "", root)


def normalised(text: str) -> str:
    """NFKC, case-folded, white space removed: the form in which claims and quotes are identified."""
    return "".join(unicodedata.normalize("NFKC", text).casefold().split())


def shard_of(key: str, shards: int) -> int:
    """The shard of a document or shared source, from its key alone."""
    return int(key[:8], 16) % shards


def unit_interval(seed: int, key: str) -> float:
    """A number in [0, 1) fixed by seed and key: what seeded sampling compares with a probability."""
    return int(hash_of("sample", str(seed), key)[:13], 16) / 16**13
