"""The voices of the whole archive: sketches of shared sources, and clusters over all sources.

Clusters inside one document are made when it is read (`reading`). Here every source's stored sketch is compared with
every other's; texts are opened only where sketches overlap and where nobody compared the two before. Nothing is done
while no source has moved.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from tempfile import gettempdir

import numpy as np
import polars as pl
from numpy.typing import NDArray

from verification_pipeline import tables
from verification_pipeline.config import Settings
from verification_pipeline.errors import StoreError
from verification_pipeline.independence import Member, Overlaps, Sketch, cluster_archive, measuring, sketch
from verification_pipeline.keys import hash_of, shard_of
from verification_pipeline.night import Night
from verification_pipeline.shards import engine, read_fingerprints, write_fingerprints
from verification_pipeline.stages import loading
from verification_pipeline.store import Store
from verification_pipeline.text.index import IndexedText

NAME = "voices"
_ARCHIVE = "*"
_CODE = ("independence", "text", "stages/voices")
_JOBS_A_WORKER = 2

_Place = tuple[int, str]
"""Shard and hash of a text."""


@dataclass(frozen=True, slots=True, eq=False)
class SketchRow:
    """A row of `sketches`."""

    source_key: str
    document_key: str | None
    text_sha256: str
    n_shingles: int
    limit: int
    hashes: NDArray[np.int64]
    agency: str | None

    @classmethod
    def of(cls, made: Sketch, document_key: str | None) -> SketchRow:
        """The row of a sketch."""
        return cls(
            made.source_key, document_key, made.text_sha256, made.n_shingles, made.limit, made.hashes, made.agency
        )


@dataclass(frozen=True, slots=True)
class OverlapRow:
    """A row of `overlaps`."""

    document_key: str | None
    first_text_sha256: str
    second_text_sha256: str
    share: float
    rules: str

    @classmethod
    def all_of(cls, overlaps: Overlaps, document_key: str | None, settings: Settings) -> list[OverlapRow]:
        """Rows of the overlaps that a clustering rests on."""
        rules = rules_of(settings)
        return [cls(document_key, *names, share, rules) for names, share in overlaps.asked.items()]


def rules_of(settings: Settings) -> str:
    """Hash of the settings by which texts are compared."""
    return settings.fingerprint("independence")


def cluster_all(night: Night) -> int:
    """Bring the clusters of the whole archive up to date; returns their number of rows."""
    store, shards = night.store, range(night.store.shards)
    rules = {"engine": engine(*_CODE), "configuration": rules_of(night.settings)}
    components = {"source": hash_of(*night.pool.map(partial(_state, store), shards)), **rules}
    stored = read_fingerprints(store, NAME, 0).get(_ARCHIVE, {})
    if stored == components:
        return store.read("clusters").height
    unchanged = all(stored.get(name) == value for name, value in rules.items())
    _bring_shared_sketches(night, keep=unchanged)
    overlaps = Overlaps(_known_overlaps(store, rules["configuration"], of_the_archive=unchanged))
    try:
        rows = cluster_archive(
            chain.from_iterable(night.pool.map(partial(_members, store, night.settings), shards)),
            _sketches(store),
            partial(_measure, night),
            night.settings.independence,
            overlaps,
        )
    except OSError as error:
        raise StoreError(
            f"the archive's sources cannot be compared: {error} (temporary files lie in {gettempdir()})"
        ) from error
    store.write("overlaps", _of_the_archive(overlaps, night))
    store.write("clusters", tables.frame("clusters", rows))
    write_fingerprints(store, NAME, 0, {_ARCHIVE: components})
    night.progress(NAME, 1, 1)
    return len(rows)


def _state(store: Store, shard: int) -> str:
    """Hash of what clusters are made from in a shard: sources, and which texts are sketched."""
    sources = store.read("sources", shard, columns=["source_key", "document_key", "metadata_hash", "text_sha256"])
    sketched = store.read("sketches", shard, columns=["source_key", "text_sha256"])
    parts = (
        table.sort("source_key").select(pl.concat_str(pl.all(), separator=" ", ignore_nulls=True)).to_series()
        for table in (sources, sketched)
    )
    return hash_of(*(hash_of(*part) for part in parts))


def _bring_shared_sketches(night: Night, *, keep: bool) -> None:
    """Sketches of the sources that no document owns; those of a document are made when it is read."""
    store, shards = night.store, range(night.store.shards)
    before = store.read("sketches") if keep else tables.empty("sketches")
    known = before.select("source_key", "text_sha256")
    found = night.pool.map(partial(_sketch_shared, store, night.settings, known), shards)
    present, fresh = zip(*found, strict=True)
    kept = before.join(pl.concat(present), on=known.columns, how="semi")
    table = pl.concat([kept, *fresh])
    if table.height or before.height:
        store.write("sketches", table)


def _sketch_shared(
    store: Store, settings: Settings, known: pl.DataFrame, shard: int
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Source and text of the usable shared sources of a shard, and sketches of those that are not `known`."""
    mine = store.read("sources", shard).filter(pl.col("document_key").is_null() & (pl.col("status") == "ok"))
    reader = loading.TextReader(store)
    rows = [
        SketchRow.of(sketch(evidence, settings.independence), None)
        for source in loading.sources_of(mine.join(known, on=known.columns, how="anti"))
        for evidence in loading.evidence_of([(source, shard)], reader).values()
    ]
    return mine.select(known.columns), tables.frame("sketches", rows)


def _known_overlaps(store: Store, rules: str, *, of_the_archive: bool) -> dict[tuple[str, str], float]:
    """Overlaps by these rules that documents, and if wanted the last clustering of the archive, rest on."""
    places = [*range(store.shards), *([None] if of_the_archive else [])]
    parts = (store.read("overlaps", place).filter(pl.col("rules") == rules) for place in places)
    return {(first, second): share for part in parts for _, first, second, share, _ in part.iter_rows()}


def _of_the_archive(overlaps: Overlaps, night: Night) -> pl.DataFrame:
    """The overlaps that this clustering asked for, without those that a document's own clustering keeps."""
    asked = tables.frame("overlaps", OverlapRow.all_of(overlaps, None, night.settings))
    names = ["first_text_sha256", "second_text_sha256", "rules"]
    return asked.join(night.store.read_all("overlaps", names), on=names, how="anti")


def _sketches(store: Store, columns: list[str] | None = None) -> pl.DataFrame:
    """The sketches of all sources, shared and owned."""
    return pl.concat([store.read("sketches", columns=columns), store.read_all("sketches", columns)])


def _members(store: Store, settings: Settings, shard: int) -> list[Member]:
    """The sources of a shard."""
    return [Member.of(source, settings.independence) for source in loading.sources_of(store.read("sources", shard))]


def _measure(night: Night, pairs: Sequence[tuple[str, str]]) -> list[float]:
    """Overlaps of the texts of pairs of sources, in their order, from worker processes."""
    store = night.store
    named = _sketches(store, ["source_key", "document_key", "text_sha256"])
    asked = pl.Series(list({key for pair in pairs for key in pair}), dtype=pl.String)
    places = {
        key: (shard_of(owner or key, store.shards), sha)
        for key, owner, sha in named.filter(pl.col("source_key").is_in(asked.implode())).iter_rows()
    }
    placed = [(places[left], places[right]) for left, right in pairs]
    some = -(-len(placed) // (_JOBS_A_WORKER * night.pool.count))
    jobs = [placed[first : first + some] for first in range(0, len(placed), some)]
    return [share for shares in night.pool.map(partial(_overlaps, store, night.settings), jobs) for share in shares]


def _overlaps(store: Store, settings: Settings, pairs: Sequence[tuple[_Place, _Place]]) -> list[float]:
    """Overlaps of pairs of texts, in their order; they are read in the order in which the first ones are stored."""
    reader = loading.TextReader(store, {sha for pair in pairs for _, sha in pair})

    def fetch(place: _Place) -> IndexedText:
        shard, sha = place
        text = reader.of(shard).get(sha)
        assert text is not None, f"text {sha} was sketched, so it is stored"
        return IndexedText(sha, text)

    def stored(k: int) -> tuple[int, tuple[int, int, int]]:
        shard, sha = pairs[k][0]
        return shard, reader.of(shard).place(sha)

    order = sorted(range(len(pairs)), key=stored)
    shares = dict(zip(order, measuring(fetch, settings.independence)(pairs[k] for k in order), strict=True))
    return [shares[k] for k in range(len(pairs))]
