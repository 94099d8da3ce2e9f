"""Waivers of a night: read from the files that the corpora name, handed to the documents they touch, and audited.

What a waiver is and does is said in `receipts.waivers` and `receipts.gate`. A corpus takes the waivers of the one
file that its settings name, or of `waivers.toml` beside its `corpus.toml`; another corpus's file never touches it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date

import orjson
import polars as pl

from verification_pipeline.config import Settings, read_toml
from verification_pipeline.receipts.waivers import Waiver, parse
from verification_pipeline.store import Store

Waivers = Mapping[str, tuple[Waiver, ...]]
"""Corpus to the waivers of its file, also those that ran out."""

_ITEMS = (("pairs", "pair_id"), ("quotes", "quote_id"), ("doi_mentions", "work_id"))


@dataclass(frozen=True, slots=True)
class Audit:
    """How many waivers hold, and those that ran out or that nothing needs, in words."""

    in_force: int
    expired: tuple[str, ...]
    unused: tuple[str, ...]


def read_waivers(settings: Mapping[str, Settings]) -> Waivers:
    """The waivers of each corpus. UsageError names a file, or an entry, that cannot be read."""
    found: dict[str, tuple[Waiver, ...]] = {}
    for corpus, mine in sorted(settings.items()):
        path = mine.policy.waivers
        if path is not None:
            found[corpus] = parse(read_toml(path), str(path))
    return found


def touching(
    store: Store, shard: int, documents: pl.DataFrame, waivers: Waivers, day: date
) -> dict[str, tuple[Waiver, ...]]:
    """document_key → the waivers in force on `day` that can change its receipt; documents without one are left out."""
    held = [w for mine in waivers.values() for w in mine if day <= w.until]
    if not held:
        return {}
    owners = _owners(store, shard, {w.what for w in held if w.names_item})
    named = {corpus: _by_document(mine) for corpus, mine in waivers.items()}
    found = {}
    for key, corpus, document_id in documents.select("document_key", "corpus", "document_id").iter_rows():
        by_document = named.get(corpus, {})
        candidates = (*by_document.get(document_id, ()), *by_document.get(None, ()))
        chosen = tuple(
            w
            for w in candidates
            if w.applies(corpus, document_id, day) and (not w.names_item or key in owners.get(w.what, ()))
        )
        if chosen:
            found[key] = chosen
    return found


def audit(store: Store, waivers: Waivers, day: date) -> Audit:
    """Which waivers hold on `day`, which ran out, and which no current receipt needs."""
    entries = list(dict.fromkeys(w for mine in waivers.values() for w in mine))
    expired = [w for w in entries if day > w.until]
    holding = [w for w in entries if day <= w.until]
    used = set(_used(store, waivers, day)) if holding else set()
    unused = [w for w in holding if w not in used and (w.corpus is None or w.corpus in waivers)]
    return Audit(
        len(holding),
        tuple(f"{_named(w)}: ran out on {w.until}" for w in expired),
        tuple(f"{_named(w)}: waives nothing (until {w.until})" for w in unused),
    )


def _owners(store: Store, shard: int, items: set[str]) -> dict[str, set[str]]:
    """Id of a pair, quote or work → the documents of the shard that have it."""
    found: dict[str, set[str]] = defaultdict(set)
    for table, column in _ITEMS if items else ():
        rows = store.read(table, shard, columns=[column, "document_key"])
        for item, key in rows.filter(pl.col(column).is_in(list(items))).iter_rows():
            found[item].add(key)
    return found


def _by_document(waivers: Iterable[Waiver]) -> dict[str | None, list[Waiver]]:
    found: dict[str | None, list[Waiver]] = defaultdict(list)
    for waiver in waivers:
        found[waiver.document].append(waiver)
    return found


def _used(store: Store, waivers: Waivers, day: date) -> Iterator[Waiver]:
    """The waivers that current receipts show; only receipts of documents that one touches are read."""
    for shard in range(store.shards):
        documents = store.read("documents", shard, columns=["document_key", "corpus", "document_id"])
        touched = touching(store, shard, documents, waivers, day)
        path = store.path("receipts", shard)
        if not touched or not path.exists():
            continue
        mine = pl.col("document_key").is_in(pl.Series(list(touched), dtype=pl.String).implode())
        rows = pl.scan_parquet(path).filter(mine & pl.col("current")).select("document_key", "receipt").collect()
        for key, receipt in rows.iter_rows():
            shown = {_shown(one) for check in orjson.loads(receipt)["checks"] for one in check["waivers"]}
            yield from (w for w in touched[key] if (w.what, w.by, w.until.isoformat(), w.why) in shown)


def _shown(one: Mapping[str, str]) -> tuple[str, ...]:
    return one["what"], one["by"], one["until"], one["why"]


def _named(waiver: Waiver) -> str:
    places: Sequence[str | None] = (waiver.corpus, waiver.document)
    place = "/".join(part for part in places if part is not None)
    return f"waiver of {waiver.what}{f' for {place}' if place else ''} by {waiver.by}"
