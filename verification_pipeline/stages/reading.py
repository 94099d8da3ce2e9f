"""The reading of documents: one pass over each changed document and its sources, for every deterministic tier.

Extraction, triage, quotes, uncited numbers, cited works and scaffold findings are made together because they read
the same texts: each source is tokenised once. (Measured: indexing runs at 110 MB/s a core, faster than a stored
index of the same text can be read back, so indexes live only as long as their document is being read.)
"""

from __future__ import annotations

import traceback
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from verification_pipeline import citations, tables, triage
from verification_pipeline.config import Settings
from verification_pipeline.dois.mentions import find_mentions
from verification_pipeline.errors import PipelineError
from verification_pipeline.independence import Overlaps, all_shingles, cluster_document, sketch
from verification_pipeline.keys import hash_of, shard_of
from verification_pipeline.patience import at_most
from verification_pipeline.quotes import check_quotes
from verification_pipeline.receipts.code import find_unattributed_code
from verification_pipeline.receipts.scaffold import find_leaks
from verification_pipeline.records import Citations, Evidence, Source
from verification_pipeline.shards import Scope, Work, engine
from verification_pipeline.stages import loading
from verification_pipeline.stages.elsewhere import PhrasesRow
from verification_pipeline.stages.voices import OverlapRow, SketchRow
from verification_pipeline.store import Store
from verification_pipeline.text.index import U64
from verification_pipeline.text.stack import stacked

TABLES = (
    "references",
    "markers",
    "pairs",
    "document_sources",
    "census",
    "triage",
    "quotes",
    "uncited_numbers",
    "doi_mentions",
    "findings_in_text",
    "sketches",
    "phrases",
    "overlaps",
    "clusters",
    "failures",
)
_SECTIONS = ("citations", "triage", "strong", "quotes", "independence", "text_checks", "acknowledgement")
_CODE = (
    "citations",
    "text",
    "triage",
    "quotes",
    "independence",
    "dois/mentions",
    "dois/normalise",
    "dois/acknowledgement",
    "receipts/code",
    "receipts/scaffold",
    "stages/reading",
)
_DOCUMENTS_A_FRAME = 200


@dataclass(frozen=True, slots=True)
class _LinkRow:
    """A row of `document_sources`."""

    document_key: str
    source_key: str
    source_shard: int
    owned: bool


class UnaccountedMarkersError(ValueError):
    """A document in which fewer markers were read than an independent count finds: none of it is taken for read."""


@dataclass(frozen=True, slots=True)
class _CensusRow:
    """A row of `census`."""

    document_key: str
    marker_like: int
    marker_rows: int


@dataclass(frozen=True, slots=True)
class FailureRow:
    """A row of `failures`."""

    document_key: str
    stage: str
    reason: str


@dataclass(frozen=True, slots=True)
class Reading:
    """The stage, as `shards.run_stage` runs it."""

    name: str = "reading"
    tables: tuple[str, ...] = TABLES

    def survey(self, store: Store, scope: Scope, shard: int) -> list[Work]:
        """Components: the document's text and metadata, its own sources (and all shared ones), code, settings."""
        documents = loading.documents_in_scope(store, scope, shard)
        own = loading.source_hashes(store, shard)
        shared = {corpus: loading.shared_sources(store, corpus).fingerprint for corpus in documents["corpus"].unique()}
        configuration = {corpus: settings.fingerprint(*_SECTIONS) for corpus, settings in scope.settings.items()}
        code = engine(*_CODE)
        failed = set(store.read("failures", shard)["document_key"])
        return [
            Work(
                key,
                {
                    "document": hash_of(sha or status, str(url), str(language)),
                    "source": hash_of(own.get(key, ""), shared[corpus]),
                    "engine": code,
                    "configuration": configuration[corpus],
                },
                unfinished=key in failed,
            )
            for key, corpus, sha, status, url, language in documents.select(
                "document_key", "corpus", "text_sha256", "status", "url", "language"
            ).iter_rows()
        ]

    def compute(self, store: Store, scope: Scope, shard: int, keys: list[str]) -> dict[str, pl.DataFrame]:
        """Read the named documents."""
        frames: dict[str, list[pl.DataFrame]] = {name: [tables.empty(name)] for name in TABLES}
        rows: dict[str, list[Any]] = {name: [] for name in TABLES}
        reader = loading.TextReader(store)
        shared = {corpus: loading.shared_sources(store, corpus) for corpus in scope.settings}
        for number, owned in enumerate(loading.documents_with_sources(store, shard, keys, reader), 1):
            common = shared[owned.document.corpus]
            for name, made in _read_or_say_why(store, scope, shard, owned, common, reader).items():
                rows[name] += made
            if number % _DOCUMENTS_A_FRAME == 0:
                _flush(rows, frames)
        _flush(rows, frames)
        return {name: pl.concat(parts) for name, parts in frames.items()}


def _flush(rows: dict[str, list[Any]], frames: dict[str, list[pl.DataFrame]]) -> None:
    for name, made in rows.items():
        if made:
            frames[name].append(tables.frame(name, made))
            rows[name] = []


def _read_or_say_why(
    store: Store,
    scope: Scope,
    shard: int,
    owned: loading.Owned,
    shared: loading.SharedSources,
    reader: loading.TextReader,
) -> Mapping[str, Iterable[Any]]:
    """The rows of one document; one on which the code fails, or takes too long, becomes a row of `failures` and the
    rest goes on."""
    try:
        with at_most(scope.settings[owned.document.corpus].limits.document_seconds):
            return _read(store, scope, shard, owned, shared, reader)
    except (PipelineError, MemoryError):
        raise
    except Exception as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        reason = f"{type(error).__name__}: {error} ({Path(place.filename).name}, line {place.lineno})"
        return {"failures": [FailureRow(owned.document.document_key, "reading", reason)]}


def _read(
    store: Store,
    scope: Scope,
    shard: int,
    owned: loading.Owned,
    shared: loading.SharedSources,
    reader: loading.TextReader,
) -> Mapping[str, Iterable[Any]]:
    """Every row that one document gives, by table."""
    document = owned.document
    settings = scope.settings[document.corpus]
    cited = citations.extract(document, owned.sources, shared.catalogue, settings)
    marker_like = citations.count_marker_like(document.text, cited.prose)
    if marker_like > len(cited.markers):
        raise UnaccountedMarkersError(f"{marker_like} tokens look like markers, {len(cited.markers)} were read")
    bound = [shared.by_key[key] for key in _bound_keys(cited) if key in shared.by_key]
    placed = [(source, shard) for source in owned.sources]
    placed += [(source, shard_of(source.source_key, store.shards)) for source in bound]
    own: Sequence[Source] = [source for source, _ in placed]
    evidence = loading.evidence_of(placed, reader)
    unreadable = frozenset(source.source_key for source in own) - evidence.keys()
    key = document.document_key
    shingles = _shingles(evidence.values(), settings)
    shingled = {name: shingles[one.body.sha256] for name, one in evidence.items()}
    sketches = {name: sketch(one, settings.independence, shingled[name]) for name, one in evidence.items()}
    mine = {source.source_key for source in owned.sources}
    overlaps = Overlaps()
    voices = cluster_document(key, own, evidence, sketches, settings.independence, overlaps, shingled)
    return {
        "references": cited.references,
        "markers": cited.markers,
        "pairs": cited.pairs,
        "document_sources": [
            _LinkRow(key, source.source_key, at, number < len(owned.sources))
            for number, (source, at) in enumerate(placed)
        ],
        "census": [_CensusRow(key, marker_like, len(cited.markers))],
        "triage": triage.triage(cited.pairs, evidence, settings, document.language),
        "quotes": check_quotes(document, cited, evidence, unreadable, settings.quotes),
        "uncited_numbers": triage.uncited_numbers(document, cited, evidence, settings),
        "doi_mentions": find_mentions(document, cited, own, evidence, settings),
        "findings_in_text": [
            *find_leaks(document),
            *find_unattributed_code(document, cited, evidence, settings.text_checks),
        ],
        "sketches": [SketchRow.of(one, key) for name, one in sketches.items() if name in mine],
        "phrases": [PhrasesRow.of(one, key) for name, one in evidence.items() if name in mine],
        "overlaps": OverlapRow.all_of(overlaps, key, settings),
        "clusters": voices,
    }


def _shingles(evidence: Iterable[Evidence], settings: Settings) -> dict[str, U64]:
    """The shingles of every text, by its hash; on the way the texts get their word indexes."""
    return {
        name: made
        for stack in stacked(one.body for one in evidence)
        for name, made in zip(stack.names, all_shingles(stack, settings.independence), strict=True)
    }


def _bound_keys(cited: Citations) -> Iterator[str]:
    """Keys of the sources that a document's markers and references are bound to, each once, sorted."""
    bound = {row.source_key for rows in (cited.markers, cited.references) for row in rows}
    yield from sorted(key for key in bound if key is not None)
