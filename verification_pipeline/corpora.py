"""Where the corpora of a store were last found: OUT/corpora.json, from a corpus's name to its path on this machine.

For those who look at a store without being told its corpora. A night never reads it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from verification_pipeline.errors import StoreError
from verification_pipeline.store import Store, write_bytes

FILE = "corpora.json"


def remember(store: Store, paths: Mapping[str, Path]) -> None:
    """Keep the places of the corpora of a night; those of other corpora stay."""
    known = places(store)
    told = known | {name: path.absolute() for name, path in paths.items()}
    if told != known:
        body = json.dumps({name: str(path) for name, path in sorted(told.items())}, ensure_ascii=False, indent=1)
        write_bytes(store.root / FILE, body.encode("utf-8", "surrogatepass") + b"\n")  # a path may hold any bytes


def places(store: Store) -> dict[str, Path]:
    """Corpus → where it was last found; empty before the first night. StoreError: a damaged file."""
    path = store.root / FILE
    if not path.is_file():
        return {}
    try:
        return {str(name): Path(place) for name, place in json.loads(path.read_bytes()).items()}
    except (OSError, ValueError, AttributeError, TypeError) as error:
        raise StoreError(f"{path} is damaged: remove it; the next night writes it again") from error
