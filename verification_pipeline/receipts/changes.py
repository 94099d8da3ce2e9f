"""What differs between two nights, item by item, each with one cause.

Receipts are compared, not tables: what a receipt does not say did not change. A cause is the first component that
moved and can touch the item (an edited document changes pairs, a register does not), in the order of `ORDER`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import orjson
import polars as pl

from verification_pipeline.tables import frame

ORDER = (
    "document",
    "source",
    "engine",
    "checker",
    "model",
    "prompt",
    "configuration",
    "sampling",
    "register",
    "policy",
    "waiver",
)
"""Components in the order in which they explain a change (architecture: Fingerprint)."""
UNEXPLAINED = "unexplained"

_NOTED = ", acknowledged"
_SAME = {"sources": "source", "registers": "register", "waivers": "waiver"}
_READING = frozenset({"document", "source", "engine", "configuration"})
_TOUCHES = {
    "pair": _READING | {"checker", "model", "prompt", "sampling"},
    "quote": _READING,
    "work": _READING | {"register"},
    "status": frozenset({"engine", "configuration", "register"}),
    "independence": _READING,
}


@dataclass(frozen=True, slots=True)
class Change:
    """A row of `changes`."""

    run_id: str
    document_key: str
    what: str
    before: str | None
    after: str | None
    cause: str
    pair_id: str | None = None
    quote_id: str | None = None
    work_id: str | None = None


def compare(
    before: pl.DataFrame, after: pl.DataFrame, causes: Mapping[str, Iterable[str]], *, run_id: str
) -> pl.DataFrame:
    """Rows of table `changes` between the last receipts of completed nights and those of now.

    Both frames have one receipt a document (columns document_key, digest, state, receipt) and cover the same scope:
    a document only in `before` was removed, one only in `after` was added. `causes` names, for each document, the
    components that moved. Each document whose digest changed has a `document` row; only those are parsed.
    """
    columns = ["document_key", "digest", "state", "receipt"]
    both = before.select(columns).join(
        after.select(columns), on="document_key", how="full", coalesce=True, suffix="_now"
    )
    moved = both.filter(pl.col("digest").ne_missing(pl.col("digest_now"))).sort("document_key")
    rows: list[Change] = []
    for row in moved.iter_rows(named=True):
        key = row["document_key"]
        rows.extend(_document(run_id, key, row, _ordered(causes.get(key, ()))))
    return frame("changes", rows)


def _document(run_id: str, key: str, row: Mapping[str, Any], moved: list[str]) -> Iterator[Change]:
    if row["digest"] is None:
        yield Change(run_id, key, "document", None, f"added: {row['state_now']}", "document")
        return
    if row["digest_now"] is None:
        gone = orjson.loads(row["receipt"])
        named = f"{row['state']}: {gone['corpus']}/{gone['document_id']}"  # no other table knows its name any more
        yield Change(run_id, key, "document", named, "removed", "document")
        return
    overall = moved[0] if moved else UNEXPLAINED
    yield Change(run_id, key, "document", row["digest"], row["digest_now"], overall)
    if row["state"] != row["state_now"]:
        yield Change(run_id, key, "state", row["state"], row["state_now"], overall)
    old, new = orjson.loads(row["receipt"]), orjson.loads(row["receipt_now"])
    for what, field, items in _ITEMS:
        for identity, was, now in _differing(items(old), items(new)):
            touched = "status" if what == "work" and _is_status_only(was, now) else what
            yield Change(run_id, key, what, was, now, _cause(touched, moved), **{field: identity})
    voices = [_voices(receipt) for receipt in (old, new)]
    if voices[0] != voices[1]:
        yield Change(run_id, key, "independence", voices[0], voices[1], _cause("independence", moved))


def _cause(what: str, moved: list[str]) -> str:
    for component in moved:
        if component in _TOUCHES[what]:
            return component
    return moved[0] if moved else UNEXPLAINED


def _ordered(components: Iterable[str]) -> list[str]:
    """Components in the one order, under their one name; names outside the order come last."""
    names = {_SAME.get(component, component) for component in components}
    return sorted(names, key=lambda name: (ORDER.index(name) if name in ORDER else len(ORDER), name))


def _differing(old: Mapping[str, str], new: Mapping[str, str]) -> Iterator[tuple[str, str | None, str | None]]:
    for identity in sorted(old.keys() | new.keys()):
        if old.get(identity) != new.get(identity):
            yield identity, old.get(identity), new.get(identity)


def _pairs(receipt: Mapping[str, Any]) -> dict[str, str]:
    return {row["pair_id"]: _pair(row) for row in receipt["cite_check"]["rows"]}


def _pair(row: Mapping[str, Any]) -> str:
    if row["outcome"] == "checked":
        return f"{row['verdict']} (contradicted)" if row["contradicted"] else str(row["verdict"])
    return f"{row['outcome']}: {row['reason']}" if row["reason"] else str(row["outcome"])


def _quotes(receipt: Mapping[str, Any]) -> dict[str, str]:
    return {row["quote_id"]: row["status"] for row in receipt["quote_integrity"]["rows"]}


def _works(receipt: Mapping[str, Any]) -> dict[str, str]:
    return {row["work_id"]: _work(row) for row in receipt["retraction_sweep"]["rows"]}


def _work(row: Mapping[str, Any]) -> str:
    flags = f" ({', '.join(row['flags'])})" if row["flags"] else ""
    noted = _NOTED if row["noted_in_document"] else ""
    return f"{row['status']}{flags}{noted}"


def _is_status_only(was: str | None, now: str | None) -> bool:
    """Whether a work cited in both nights has another status (and is not only acknowledged now)."""
    return was is not None and now is not None and was.removesuffix(_NOTED) != now.removesuffix(_NOTED)


def _voices(receipt: Mapping[str, Any]) -> str:
    part = receipt["independence"]
    return f"{part['effective_sources']} voices in {part['sources']} sources"


_ITEMS: tuple[tuple[str, str, Callable[[Mapping[str, Any]], dict[str, str]]], ...] = (
    ("pair", "pair_id", _pairs),
    ("quote", "quote_id", _quotes),
    ("work", "work_id", _works),
)
