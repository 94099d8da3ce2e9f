"""Documents, sources and texts of one shard out of the store, as the records that the domain works on."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import date
from functools import lru_cache

import polars as pl

from verification_pipeline.citations import SourceCatalogue
from verification_pipeline.corpus.bodies import front_matter
from verification_pipeline.errors import StoreError
from verification_pipeline.keys import hash_of
from verification_pipeline.records import Document, Evidence, Pair, Source
from verification_pipeline.shards import Scope, Work, read_fingerprints
from verification_pipeline.store import Store, Texts
from verification_pipeline.text.index import IndexedText

_SOURCE_FIELDS = [field.name for field in fields(Source)]


class TextReader:
    """Texts by shard and hash (all, or the `wanted` ones), each shard's files opened when first needed."""

    def __init__(self, store: Store, wanted: Collection[str] | None = None) -> None:
        self._store = store
        self._wanted = wanted
        self._shards: dict[int, Texts] = {}

    def of(self, shard: int) -> Texts:
        """The texts of one shard."""
        if shard not in self._shards:
            self._shards[shard] = self._store.texts(shard, self._wanted)
        return self._shards[shard]


def text_lookup(store: Store, first: int) -> Callable[[str], str | None]:
    """Texts by hash, looked for in shard `first` and then, for shared sources, in the others."""
    reader = TextReader(store)
    shards = [first, *(shard for shard in range(store.shards) if shard != first)]

    def text_of(sha: str) -> str | None:
        return next((text for shard in shards if (text := reader.of(shard).get(sha)) is not None), None)

    return text_of


def documents_in_scope(store: Store, scope: Scope, shard: int) -> pl.DataFrame:
    """Rows of `documents` of a shard that a run works on."""
    table = store.read("documents", shard)
    chosen = [scope.holds(*row) for row in table.select("corpus", "document_id").iter_rows()]
    return table.filter(pl.Series(chosen, dtype=pl.Boolean))


def document_of(row: Mapping[str, object], text: str) -> Document:
    """A row of `documents` and its text as a record."""
    return Document(
        document_key=str(row["document_key"]),
        corpus=str(row["corpus"]),
        document_id=str(row["document_id"]),
        text=text,
        text_sha256=str(row["text_sha256"]),
        title=row["title"],  # type: ignore[arg-type]
        date=None if row["date"] is None else str(row["date"]),
        url=row["url"],  # type: ignore[arg-type]
        language=row["language"],  # type: ignore[arg-type]
        body_start=front_matter(text)[1],
    )


def sources_of(table: pl.DataFrame) -> list[Source]:
    """Rows of `sources` as records."""
    return [
        Source(**{**row, "aliases": tuple(row["aliases"] or ())}) for row in table[_SOURCE_FIELDS].iter_rows(named=True)
    ]


def grouped(table: pl.DataFrame, key: str = "document_key") -> dict[str, pl.DataFrame]:
    """A table cut by a key column, rows in stored order."""
    return {str(name[0]): part for name, part in table.partition_by(key, as_dict=True).items()}


@dataclass(frozen=True, slots=True)
class SharedSources:
    """The shared sources of one corpus: prepared for binding, and where each lies."""

    catalogue: SourceCatalogue
    by_key: Mapping[str, Source]
    fingerprint: str


def shared_sources(store: Store, corpus: str) -> SharedSources:
    """Sources without a document_id of a corpus, from every shard."""
    stamp = tuple(_stamp(store, shard) for shard in range(store.shards))
    return _shared_sources(store, corpus, stamp)


def _stamp(store: Store, shard: int) -> int:
    path = store.path("sources", shard)
    return path.stat().st_mtime_ns if path.exists() else 0


@lru_cache(maxsize=8)
def _shared_sources(store: Store, corpus: str, _stamp: tuple[int, ...]) -> SharedSources:
    parts = [
        store.read("sources", shard).filter((pl.col("corpus") == corpus) & pl.col("document_key").is_null())
        for shard in range(store.shards)
    ]
    table = pl.concat(parts).sort("source_key")
    records = sources_of(table)
    return SharedSources(
        SourceCatalogue.build(records),
        {source.source_key: source for source in records},
        hash_of(*table["source_key"], *table["metadata_hash"]),
    )


def evidence_of(
    sources: Sequence[tuple[Source, int]], reader: TextReader, texts: dict[str, IndexedText] | None = None
) -> dict[str, Evidence]:
    """source_key → evidence of the usable sources among (source, shard); one index a text, also if it is shared."""
    held = {} if texts is None else texts
    found: dict[str, Evidence] = {}
    for source, shard in sources:
        if source.status != "ok" or source.text_sha256 is None:
            continue
        body = held.get(source.text_sha256)
        if body is None:
            text = reader.of(shard).get(source.text_sha256)
            if text is None:
                continue
            body = held[source.text_sha256] = IndexedText(source.text_sha256, text)
        found[source.source_key] = Evidence(source, body)
    return found


@dataclass(frozen=True, slots=True)
class Owned:
    """A readable document with the sources that name it as their owner."""

    document: Document
    sources: tuple[Source, ...]


def documents_with_sources(store: Store, shard: int, keys: Sequence[str], reader: TextReader) -> Iterator[Owned]:
    """The named readable documents, one at a time, in the order in which their sources' texts are stored."""
    mine = pl.col("document_key").is_in(pl.Series(keys, dtype=pl.String).implode())
    documents = store.read("documents", shard).filter(mine & (pl.col("status") == "ok"))
    owned = grouped(store.read("sources", shard).filter(mine))
    texts = reader.of(shard)
    order: list[tuple[tuple[int, int, int], str, dict[str, object]]] = []
    for row in documents.iter_rows(named=True):
        stored = owned[row["document_key"]]["text_sha256"] if row["document_key"] in owned else ()
        place = min((texts.place(sha) for sha in stored if sha), default=texts.place(row["text_sha256"]))
        order.append((place, row["document_key"], row))
    for _, key, row in sorted(order, key=lambda item: item[:2]):
        text = texts.get(str(row["text_sha256"]))
        if text is None:
            raise StoreError(
                f"texts of shard {shard} lack {row['text_sha256']}: the store is damaged; run with a new --out"
            )
        yield Owned(document_of(row, text), tuple(sources_of(owned[key])) if key in owned else ())


def own_sources(store: Store, shard: int, keys: Sequence[str]) -> dict[str, tuple[tuple[Source, int], ...]]:
    """document_key → the sources that the document rests on, each with its shard, as `document_sources` lists them."""
    mine = pl.col("document_key").is_in(pl.Series(keys, dtype=pl.String).implode())
    owned = {s.source_key: s for s in sources_of(store.read("sources", shard).filter(mine))}
    corpora = dict(store.read("documents", shard, columns=["document_key", "corpus"]).filter(mine).iter_rows())
    found: dict[str, list[tuple[Source, int]]] = {}
    links = store.read("document_sources", shard).filter(mine)
    for key, source_key, source_shard, is_owned in links.iter_rows():
        source = owned.get(source_key) if is_owned else shared_sources(store, corpora[key]).by_key.get(source_key)
        if source is not None:
            found.setdefault(key, []).append((source, source_shard))
    return {key: tuple(sources) for key, sources in found.items()}


def pairs_of(table: pl.DataFrame) -> list[Pair]:
    """Rows of `pairs` as records."""
    return [_pair(row) for row in table.iter_rows(named=True)]


def _pair(row: dict[str, object]) -> Pair:
    spans = tuple((span["start"], span["end"]) for span in row["claim_spans"])  # type: ignore[attr-defined]
    lists: dict[str, object] = {name: tuple(row[name]) for name in ("strong_markers", "numbers")}  # type: ignore[arg-type]
    return Pair(**{**row, "claim_spans": spans, **lists})  # type: ignore[arg-type]


def of_documents(table: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    """The rows of a table that belong to the named documents."""
    return table.filter(pl.col("document_key").is_in(pl.Series(keys, dtype=pl.String).implode()))


def corpora_of(store: Store, shard: int) -> dict[str, str]:
    """document_key → corpus."""
    return dict(store.read("documents", shard, columns=["document_key", "corpus"]).iter_rows())


def source_hashes(store: Store, shard: int) -> dict[str, str]:
    """document_key → hash over the metadata and texts of every source it rests on, owned or shared."""
    columns = ["source_key", "document_key", "metadata_hash", "text_sha256"]
    owned = store.read("sources", shard, columns=columns).filter(pl.col("document_key").is_not_null())
    links = store.read("document_sources", shard).filter(~pl.col("owned")).select("document_key", "source_key")
    if links.height:
        shared = pl.concat([store.read("sources", at, columns=columns) for at in range(store.shards)])
        links = links.join(shared.drop("document_key"), on="source_key", how="left").select(owned.columns)
        owned = pl.concat([owned, links])
    joined = (
        owned.sort("document_key", "source_key")
        .group_by("document_key", maintain_order=True)
        .agg(pl.concat_str("source_key", "metadata_hash", "text_sha256", separator=" ", ignore_nulls=True))
    )
    return {key: hash_of(*parts) for key, parts in joined.iter_rows()}


def read_works(store: Store, scope: Scope, shard: int) -> list[Work]:
    """What later stages build on: the documents in scope that were read, with the components of their reading."""
    read = read_fingerprints(store, "reading", shard)
    keys = documents_in_scope(store, scope, shard)["document_key"]
    return [Work(key, read[key]) for key in keys if key in read]


def statuses_on(store: Store, day: date) -> pl.DataFrame:
    """Rows of `doi_statuses` that hold on a day: at most one a work."""
    lasting = pl.col("valid_to").is_null() | (pl.col("valid_to") > day)
    return store.read("doi_statuses").filter((pl.col("valid_from") <= day) & lasting)


def linked_sources(store: Store, shard: int, links: pl.DataFrame) -> pl.DataFrame:
    """Rows of `sources` that documents rest on, from whichever shard they lie in."""
    shards = sorted(set(links["source_shard"]) | {shard})
    return pl.concat([store.read("sources", at).join(links, on="source_key", how="semi") for at in shards])
