"""The look-up in the rest of the archive: unsupported pairs and unfound quotes that another document's source holds.

It never changes a status: an unchanged document stays unchanged whatever else the archive gains. Every source text is
scanned once for runs of words of any query; a hit counts only when the quote stands there verbatim, or the claim
passes triage against that source.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from verification_pipeline import tables, triage
from verification_pipeline.config import Settings
from verification_pipeline.keys import hash_of
from verification_pipeline.night import Night
from verification_pipeline.quotes.compare import Searchable, find
from verification_pipeline.quotes.quotation import Quotation
from verification_pipeline.records import Evidence, Pair
from verification_pipeline.shards import Scope, engine, read_fingerprints, write_fingerprints
from verification_pipeline.stages import loading
from verification_pipeline.store import Store
from verification_pipeline.tables import Span
from verification_pipeline.text.index import U64, WordIndex

NAME = "elsewhere"
_ARCHIVE = "*"
_CODE = ("triage", "text", "quotes", "stages/elsewhere")
_RUN_WORDS = 4
_MIN_SHARE = 0.34
_PAIR_COLUMNS = ("pair_id", "verdict", "checked")


@dataclass(frozen=True, slots=True)
class FoundRow:
    """A row of `found_elsewhere`."""

    pair_id: str | None
    quote_id: str | None
    document_key: str
    source_key: str
    span: Span
    score: float


@dataclass(frozen=True, slots=True)
class _Query:
    """Words looked for: a quote, or the claim of an unsupported pair."""

    document_key: str
    words: str
    quote_id: str | None = None
    pair: Pair | None = None


def find_elsewhere(night: Night) -> pl.DataFrame:
    """Rows of `found_elsewhere` for the whole store; nothing is scanned while neither queries nor sources moved."""
    store = night.store
    shards = range(store.shards)
    queries = [query for shard in shards for query in _queries(store, shard)]
    components = _components(store, queries)
    if read_fingerprints(store, NAME, 0).get(_ARCHIVE) == components:
        return store.read("found_elsewhere")
    found: list[FoundRow] = []
    if queries:
        grams, owners = _grams(queries)
        jobs = [[value] * len(shards) for value in (store, night.scope, queries, grams, owners)]
        for done, rows in enumerate(night.pool.map(_scan_shard, *jobs, shards), 1):
            found += rows
            night.progress("elsewhere", done, len(shards))
    table = tables.frame("found_elsewhere", _best(found))
    store.write("found_elsewhere", table)
    write_fingerprints(store, NAME, 0, {_ARCHIVE: components})
    return table


def _components(store: Store, queries: Sequence[_Query]) -> dict[str, str]:
    sources = store.read_all("sources", ["source_key", "status", "text_sha256"]).sort("source_key")
    joined = sources.select(pl.concat_str(pl.all(), separator=" ", ignore_nulls=True)).to_series()
    asked = sorted(
        hash_of(q.document_key, q.words, q.quote_id or "", q.pair.pair_id if q.pair else "") for q in queries
    )
    return {"document": hash_of(*asked), "source": hash_of(*joined), "engine": engine(*_CODE)}


def _queries(store: Store, shard: int) -> Iterator[_Query]:
    lost = store.read("quotes", shard, columns=["quote_id", "document_key", "quote", "status", "found_in_source_key"])
    lost = lost.filter((pl.col("status") == "not-found") & pl.col("found_in_source_key").is_null())
    for quote_id, key, quote in lost.select("quote_id", "document_key", "quote").iter_rows():
        yield _Query(key, quote, quote_id)
    verdicts = store.read("verdicts", shard, columns=_PAIR_COLUMNS)
    unsupported = verdicts.filter(pl.col("checked") & (pl.col("verdict") == "unsupported"))
    pairs = store.read("pairs", shard).join(unsupported.select("pair_id"), on="pair_id", how="semi")
    for pair in loading.pairs_of(pairs):
        yield _Query(pair.document_key, pair.claim, pair=pair)


def _grams(queries: Sequence[_Query]) -> tuple[U64, list[list[int]]]:
    """Every run of words of any query, sorted, and which queries hold it."""
    holders: dict[int, list[int]] = {}
    for number, query in enumerate(queries):
        for gram in np.unique(WordIndex.build(query.words).grams(_RUN_WORDS)).tolist():
            holders.setdefault(gram, []).append(number)
    ordered = sorted(holders)
    return np.array(ordered, dtype=np.uint64), [holders[gram] for gram in ordered]


def _scan_shard(
    store: Store, scope: Scope, queries: Sequence[_Query], grams: U64, owners: list[list[int]], shard: int
) -> list[FoundRow]:
    asking = sorted({query.document_key for query in queries})
    links = loading.of_documents(store.read_all("document_sources", ["document_key", "source_key"]), asking)
    own = {key: frozenset(part["source_key"]) for key, part in loading.grouped(links).items()}
    totals = np.bincount([number for held in owners for number in held], minlength=len(queries))
    least = np.maximum(1, totals * _MIN_SHARE)
    reader = loading.TextReader(store)
    settings = next(iter(scope.settings.values()))
    found: list[FoundRow] = []
    for source in loading.sources_of(store.read("sources", shard)):
        evidence = loading.evidence_of([(source, shard)], reader).get(source.source_key)
        hits = (
            [] if evidence is None else np.flatnonzero(np.isin(grams, evidence.body.index.grams(_RUN_WORDS))).tolist()
        )
        if evidence is None or not hits:
            continue
        counts = np.bincount([number for hit in hits for number in owners[hit]], minlength=len(queries))
        searchable = Searchable(evidence.body)
        for number in np.flatnonzero(counts >= least).tolist():
            query = queries[number]
            if source.source_key in own.get(query.document_key, ()):
                continue
            span = _supporting_span(query, evidence, searchable, settings)
            if span is not None:
                score = 1.0 if query.pair is None else float(counts[number] / totals[number])
                pair_id = query.pair.pair_id if query.pair else None
                found.append(FoundRow(pair_id, query.quote_id, query.document_key, source.source_key, span, score))
    return found


def _supporting_span(query: _Query, evidence: Evidence, searchable: Searchable, settings: Settings) -> Span | None:
    """Where a source holds the quote verbatim, or passes the claim without a reader; None where it does not."""
    key = evidence.source.source_key
    if query.pair is not None:
        rebound = replace(query.pair, source_key=key)
        row = triage.triage([rebound], {key: evidence}, settings)[0]
        return row.span if row.outcome == "auto-passed" else None
    match = find(Quotation.parse(query.words), searchable, settings.quotes, near=False)
    if match is None:
        return None
    text = evidence.body.text
    return Span(key, evidence.body.sha256, match.start, match.end, text[match.start : match.end])


def _best(found: list[FoundRow]) -> list[FoundRow]:
    """One row a query and text: of equal texts under several sources the first by key."""
    chosen: dict[str, FoundRow] = {}
    for row in sorted(found, key=lambda row: (-row.score, row.source_key)):
        name = hash_of(row.pair_id or row.quote_id or "", row.span.text_sha256)
        chosen.setdefault(name, row)
    return list(chosen.values())
