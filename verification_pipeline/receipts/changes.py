"""What differs between two nights, item by item, each with one cause.

Receipts are compared, not tables: what a receipt does not say did not change. Which cause a change has is judged in
`causes`.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import orjson
import polars as pl

from verification_pipeline.receipts.causes import UNEXPLAINED, Moved, between
from verification_pipeline.tables import frame

__all__ = ["UNEXPLAINED", "Change", "compare"]

Row = Mapping[str, Any]


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
    source_key: str | None = None
    source_id: str | None = None


def compare(
    before: pl.DataFrame,
    after: pl.DataFrame,
    causes: Mapping[str, Iterable[str]],
    *,
    run_id: str,
    day: dt.date | None = None,
    recheck: bool = False,
) -> pl.DataFrame:
    """Rows of table `changes` between the last receipts of completed nights and those of now.

    Both frames have one receipt a document (columns document_key, digest, state, receipt) and cover the same scope:
    a document only in `before` was removed, one only in `after` was added. `causes` names, for each document, the
    components that moved; `recheck` says that everything was asked for again. Each document whose digest changed has
    a `document` row; only those are parsed.
    """
    columns = ["document_key", "digest", "state", "receipt"]
    both = before.select(columns).join(
        after.select(columns), on="document_key", how="full", coalesce=True, suffix="_now"
    )
    differing = both.filter(pl.col("digest").ne_missing(pl.col("digest_now"))).sort("document_key")
    rows: list[Change] = []
    for row in differing.iter_rows(named=True):
        key = row["document_key"]
        if row["digest"] is None:
            rows.append(Change(run_id, key, "document", None, f"added: {row['state_now']}", "document added"))
        elif row["digest_now"] is None:
            rows.append(_removed(run_id, key, row))
        else:
            old, new = orjson.loads(row["receipt"]), orjson.loads(row["receipt_now"])
            moved = between(old, new, causes.get(key, ()), day=day, recheck=recheck)
            rows += _changed(run_id, key, old, new, moved)
    return frame("changes", rows)


def _removed(run_id: str, key: str, row: Row) -> Change:
    gone = orjson.loads(row["receipt"])
    named = f"{row['state']}: {gone['corpus']}/{gone['document_id']}"  # no other table knows its name any more
    return Change(run_id, key, "document", named, "removed", "document removed")


def _changed(run_id: str, key: str, old: Row, new: Row, moved: Moved) -> Iterator[Change]:
    yield Change(run_id, key, "document", old["digest"], new["digest"], moved.of_document())
    items = [change for kind in _ITEMS for change in _items(run_id, key, old, new, moved, kind)]
    if old["state"] != new["state"]:
        yield Change(run_id, key, "state", old["state"], new["state"], _of_state(old, new, items, moved))
    yield from items
    voices = [_voices(receipt) for receipt in (old, new)]
    if voices[0] != voices[1]:
        yield Change(run_id, key, "independence", voices[0], voices[1], moved.of_voices())


def _items(run_id: str, key: str, old: Row, new: Row, moved: Moved, kind: _Kind) -> Iterator[Change]:
    """Rows of one kind that came, went or read differently."""
    identity = kind.named[0]
    before, after = ({row[identity]: row for row in kind.rows(receipt)} for receipt in (old, new))
    for one in sorted(before.keys() | after.keys()):
        was, now = before.get(one), after.get(one)
        said = [None if row is None else kind.says(row) for row in (was, now)]
        if said[0] != said[1]:
            cause = kind.cause(moved, was, now)
            named = {name: (was or now or {})[name] for name in kind.named}
            yield Change(run_id, key, kind.what, said[0], said[1], cause, **named)


def _of_state(old: Row, new: Row, items: list[Change], moved: Moved) -> str:
    """The cause of the first row by which a check began to fail, or ceased to; else the document's."""
    outcomes = [{check["name"]: check["outcome"] == "failed" for check in one["checks"]} for one in (old, new)]
    for name, what in _JUDGED.items():
        if outcomes[0].get(name) != outcomes[1].get(name) and "waiver" not in moved.names:
            for change in items:
                if change.what == what:
                    return change.cause
    return moved.of_document()


_JUDGED = {"cite-check-resolved": "pair", "quote-integrity": "quote", "retracted-citations": "work"}


def _source(row: Row) -> str:
    return str(row["text_sha256"] if row["status"] == "ok" else row["status"])


def _pair(row: Row) -> str:
    if row["outcome"] == "checked":
        return f"{row['verdict']} (contradicted)" if row["contradicted"] else str(row["verdict"])
    return f"{row['outcome']}: {row['reason']}" if row["reason"] else str(row["outcome"])


def _quote(row: Row) -> str:
    return str(row["status"])


def _work(row: Row) -> str:
    flags = f" ({', '.join(row['flags'])})" if row["flags"] else ""
    stale = ", an older answer" if row["stale"] else ""
    noted = ", acknowledged" if row["noted_in_document"] else ""
    return f"{row['status']}{flags}{stale}{noted}"


def _voices(receipt: Row) -> str:
    part = receipt["independence"]
    return f"{part['effective_sources']} voices in {part['sources']} sources"


@dataclass(frozen=True, slots=True)
class _Kind:
    """A kind of row that is compared: what names one (its identity first), where its rows are, what it says, why."""

    what: str
    named: tuple[str, ...]
    rows: Callable[[Row], Iterable[Row]]
    says: Callable[[Row], str]
    cause: Callable[[Moved, Row | None, Row | None], str]


_ITEMS = (
    _Kind("source", ("source_key", "source_id"), lambda receipt: receipt["sources"], _source, Moved.of_source),
    _Kind("pair", ("pair_id",), lambda receipt: receipt["cite_check"]["rows"], _pair, Moved.of_pair),
    _Kind("quote", ("quote_id",), lambda receipt: receipt["quote_integrity"]["rows"], _quote, Moved.of_quote),
    _Kind("work", ("work_id",), lambda receipt: receipt["retraction_sweep"]["rows"], _work, Moved.of_work),
)
