"""The voices of the whole archive: sketches of shared sources, and clusters over all sources.

Clusters inside one document are made when it is read (`reading`). Here every source's stored sketch is compared with
every other's; texts are opened only where sketches overlap. Nothing is done while no source has moved.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from verification_pipeline import tables
from verification_pipeline.config import Settings
from verification_pipeline.independence import Sketch, cluster_archive, sketch
from verification_pipeline.keys import hash_of
from verification_pipeline.night import Night
from verification_pipeline.shards import engine, read_fingerprints, write_fingerprints
from verification_pipeline.stages import loading
from verification_pipeline.store import Store
from verification_pipeline.text.index import IndexedText

NAME = "voices"
_ARCHIVE = "*"
_CODE = ("independence", "text", "stages/voices")


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


def cluster_all(night: Night) -> int:
    """Bring the clusters of the whole archive up to date; returns their number of rows."""
    store = night.store
    components = _components(store, night.settings)
    stored = read_fingerprints(store, NAME, 0)
    if stored.get(_ARCHIVE) == components:
        return store.read("clusters").height
    shards = range(store.shards)
    shared = list(night.pool.map(_sketch_shared, [store] * len(shards), [night.settings] * len(shards), shards))
    store.write("sketches", pl.concat([tables.empty("sketches"), *shared]))
    rows = cluster_archive(
        (source for shard in shards for source in loading.sources_of(store.read("sources", shard))),
        pl.concat([store.read("sketches"), store.read_all("sketches")]),
        _Fetcher(store).fetch,
        night.settings.independence,
    )
    store.write("clusters", tables.frame("clusters", rows))
    write_fingerprints(store, NAME, 0, {_ARCHIVE: components})
    night.progress(NAME, 1, 1)
    return len(rows)


def _components(store: Store, settings: Settings) -> dict[str, str]:
    sources = store.read_all("sources", ["source_key", "metadata_hash", "text_sha256"]).sort("source_key")
    joined = sources.select(pl.concat_str(pl.all(), separator=" ", ignore_nulls=True)).to_series()
    return {
        "source": hash_of(*joined),
        "engine": engine(*_CODE),
        "configuration": settings.fingerprint("independence"),
    }


def _sketch_shared(store: Store, settings: Settings, shard: int) -> pl.DataFrame:
    """Sketches of the shared sources that lie in a shard."""
    reader = loading.TextReader(store)
    mine = loading.sources_of(store.read("sources", shard).filter(pl.col("document_key").is_null()))
    rows = [
        SketchRow.of(sketch(evidence, settings.independence), None)
        for source in mine
        for evidence in loading.evidence_of([(source, shard)], reader).values()
    ]
    return tables.frame("sketches", rows)


class _Fetcher:
    """Texts of sources by key, from whichever shard they lie in."""

    def __init__(self, store: Store) -> None:
        self._reader = loading.TextReader(store)
        self._places: dict[str, tuple[int, str]] = {}
        for shard in range(store.shards):
            for key, sha in store.read("sources", shard, columns=["source_key", "text_sha256"]).iter_rows():
                self._places[key] = (shard, sha)

    def fetch(self, key: str) -> IndexedText:
        """The text of a source that has a sketch."""
        shard, sha = self._places[key]
        text = self._reader.of(shard).get(sha)
        assert text is not None, f"source {key} was sketched, so its text is stored"
        return IndexedText(sha, text)
