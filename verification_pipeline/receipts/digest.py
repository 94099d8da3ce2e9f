"""The canonical JSON of a receipt and the digest over what is result and not circumstance.

Two runs that find the same have the same digest, whatever the night, the workers or the price. What a run adds
(`OUTSIDE`) is in the receipt and outside the digest.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import blake2b
from typing import Any

import orjson

from verification_pipeline.keys import hash_of

OUTSIDE = frozenset({"id", "digest", "created_at", "run_id", "billing", "engine", "provenance"})
"""Top-level fields that say when, by whom and at what price; `provenance` holds request keys and observation days."""


def canonical(value: Any) -> bytes:
    """Canonical JSON: sorted keys, UTF-8, no spaces."""
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)


def digest_of(receipt: Mapping[str, Any]) -> str:
    """BLAKE2b (32 bytes, hex) of the canonical JSON of a receipt's results."""
    results = {name: value for name, value in receipt.items() if name not in OUTSIDE}
    return blake2b(canonical(results), digest_size=32).hexdigest()


def receipt_id(document_key: str, digest: str) -> str:
    """Key of a receipt: the document and what was found."""
    return hash_of("receipt", document_key, digest)
