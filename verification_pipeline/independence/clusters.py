"""Clusters of sources that are one voice: by address or work, by shared text, by shared agency copy.

Belongs here: edges, components, root and kind. Does not belong here: canonical addresses (`text.addresses`), what of a
text counts (`shingles`), estimates (`sketches`).

Sketches only propose: every edge of shared text is the exact overlap of two texts, the share of the smaller text's
shingles that the larger has. One number covers a copy (both ways high) and a release inside an article (one way).
Candidates are taken from the highest estimate down and two sources that are already one voice are not compared again,
so the edges kept form a maximum spanning forest: a cluster of a thousand copies costs a thousand comparisons, and its
weakest link is the best chain's weakest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache
from typing import Literal
from urllib.parse import urlsplit

import numpy as np
import polars as pl

from verification_pipeline import keys
from verification_pipeline.config import Independence
from verification_pipeline.independence.shingles import distinct, shingles
from verification_pipeline.independence.sketches import Candidate, Sketch, SketchColumns, candidates
from verification_pipeline.independence.wire import agency_of_source
from verification_pipeline.records import Evidence, Source
from verification_pipeline.text.addresses import canonical_url, work_of
from verification_pipeline.text.index import U64, IndexedText

Kind = Literal["wire", "url", "body"]
Fetch = Callable[[str], IndexedText]

_STRENGTH: tuple[Kind, ...] = ("body", "url", "wire")


@dataclass(frozen=True, slots=True)
class ClusterRow:
    """A source of a cluster: a row of `clusters`."""

    cluster_id: str
    document_key: str | None
    kind: Kind
    root: str
    source_key: str
    similarity: float
    weakest_link: float


@dataclass(frozen=True, slots=True)
class Edge:
    """Two sources (by position) that are one voice, why, and how much of the smaller text they share."""

    first: int
    second: int
    kind: Kind
    similarity: float


@dataclass(frozen=True, slots=True)
class Overlaps:
    """Exact overlaps of texts by their two names, the smaller first: `known` ones are not measured again.

    `asked` gathers those that a clustering rests on.
    """

    known: Mapping[tuple[str, str], float] = field(default_factory=dict)
    asked: dict[tuple[str, str], float] = field(default_factory=dict)

    def of(self, left: str, right: str, measure: Callable[[], float]) -> float:
        """The overlap of two texts."""
        names = (left, right) if left <= right else (right, left)
        share = self.known.get(names)
        if share is None:
            share = self.asked.get(names)
        self.asked[names] = measure() if share is None else share
        return self.asked[names]


def cluster_document(
    document_key: str,
    sources: Sequence[Source],
    own: Mapping[str, Evidence],
    sketches: Mapping[str, Sketch],
    settings: Independence,
    overlaps: Overlaps | None = None,
    shingled: Mapping[str, U64] | None = None,
) -> list[ClusterRow]:
    """Clusters among one document's own sources; `own` and `sketches` by source key, for those with usable text.

    `shingled` are `all_shingles` of those texts, where they are at hand.
    """
    sketched = [sketches[key] for key in sorted(sketches)]
    agencies = {one.source_key: one.agency for one in sketched}
    members = [_member(source, agencies.get(source.source_key), settings) for source in sources]
    names = [(one.source_key, one.text_sha256) for one in sketched]
    compared = _Compared(_own_shingles(own, shingled or {}, settings), settings, overlaps or Overlaps())
    return _clusters(document_key, members, names, SketchColumns.of(sketched), compared)


def cluster_archive(
    sources: Iterable[Source],
    sketches: pl.DataFrame,
    fetch: Fetch,
    settings: Independence,
    overlaps: Overlaps | None = None,
) -> list[ClusterRow]:
    """Clusters of the whole archive, from rows of table `sketches`; `fetch` gives the text of a source to compare.

    Texts are fetched only for pairs whose sketches overlap and whose overlap is not known, never for a source that
    shares nothing.
    """
    sketches = sketches.sort("source_key")
    columns = SketchColumns.of_table(sketches)
    sketches = sketches.drop("hashes")  # the greater part of an archive's sketches, held once
    agencies = dict(sketches.select("source_key", "agency").drop_nulls().iter_rows())
    members = [_member(source, agencies.get(source.source_key), settings) for source in sources]
    names = sketches.select("source_key", "text_sha256").rows()
    compared = _Compared(lambda key: shingles(fetch(key), settings), settings, overlaps or Overlaps())
    return _clusters(None, members, names, columns, compared)


def effective_sources(n_sources: int, rows: Iterable[ClusterRow]) -> int:
    """Independent voices among `n_sources` sources, each cluster counted once."""
    rows = list(rows)
    return n_sources - len(rows) + len({row.cluster_id for row in rows})


@dataclass(frozen=True, slots=True)
class _Member:
    """What clustering needs of a source."""

    key: str
    identities: tuple[str, ...]
    """Names under which it is the same page or work as another."""
    host: str
    """Site of its address; empty when unknown."""
    agency: str | None
    age: tuple[str, str, str]
    """Sorts the root first: published, fetched, key."""


def _member(source: Source, credited: str | None, settings: Independence) -> _Member:
    named = [source.canonical_url or (canonical_url(source.url) if source.url else None)]
    named += [work_of(address) for address in (source.url, source.canonical_url) if address]
    named.append(work_of(f"doi:{source.doi}") or work_of(source.doi) if source.doi else None)
    named.append(f"pmid:{source.pmid}" if source.pmid else None)
    agency = credited or agency_of_source(source, settings)
    age = (_moment(source.published_at), _moment(source.fetched_at), source.source_key)
    identities = tuple(dict.fromkeys(name for name in named if name))
    return _Member(source.source_key, identities, urlsplit(named[0] or "").hostname or "", agency, age)


def _moment(stated: str | None) -> str:
    """A date or time as text that sorts by time; unknown ones last."""
    if not stated:
        return _UNKNOWN
    padded = stated.strip() + _DATE_PADDING[len(stated.strip()) :] if len(stated.strip()) in (4, 7) else stated.strip()
    try:
        moment = datetime.fromisoformat(padded)
    except ValueError:
        return _UNKNOWN
    return (moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)).isoformat()


_UNKNOWN = "~"  # after every digit
_DATE_PADDING = "0000-01-01"


def _own_shingles(
    own: Mapping[str, Evidence], shingled: Mapping[str, U64], settings: Independence
) -> Callable[[str], U64]:
    return lambda key: distinct(shingled[key]) if key in shingled else shingles(own[key].body, settings)


def _clusters(
    document_key: str | None,
    members: Sequence[_Member],
    sketched: Sequence[tuple[str, str]],
    columns: SketchColumns,
    compared: _Compared,
) -> list[ClusterRow]:
    """Rows of the clusters in a scope; `sketched` names the source and the text of each sketch."""
    place = {member.key: k for k, member in enumerate(members)}
    places = [place.get(key, -1) for key, _ in sketched]
    sites: dict[str, int] = {}
    hosts = [sites.setdefault(members[k].host, len(sites)) if k >= 0 and members[k].host else -1 for k in places]
    forest = _Forest(len(members))
    edges = [edge for edge in _same_page_or_work(members) if forest.join(edge.first, edge.second)]
    proposed = candidates(columns, np.array(hosts, np.int64), compared.settings)
    edges += _of_one_text(proposed, places, sketched, members, forest, compared)
    return _rows(document_key, members, edges, forest)


def _same_page_or_work(members: Sequence[_Member]) -> Iterable[Edge]:
    first_with: dict[str, int] = {}
    for k, member in enumerate(members):
        for name in member.identities:
            other = first_with.setdefault(name, k)
            if other != k:
                yield Edge(other, k, "url", 1.0)


class _Compared:
    """Exact overlaps of the texts of two sources, measured where they are not known."""

    def __init__(self, shingled: Callable[[str], U64], settings: Independence, overlaps: Overlaps) -> None:
        self.settings = settings
        self._overlaps = overlaps
        self._shingles = lru_cache(settings.cached_texts)(shingled)

    def share(self, left: tuple[str, str], right: tuple[str, str]) -> float:
        """Share of the smaller text that the larger has, each named by source and text; 0 when one is too short."""
        return self._overlaps.of(left[1], right[1], lambda: self._measured(left[0], right[0]))

    def _measured(self, left: str, right: str) -> float:
        one, other = self._shingles(left), self._shingles(right)
        return overlap(one, other) if min(len(one), len(other)) >= self.settings.min_shingles else 0.0


def _of_one_text(
    proposed: Iterable[Candidate],
    places: Sequence[int],
    sketched: Sequence[tuple[str, str]],
    members: Sequence[_Member],
    forest: _Forest,
    compared: _Compared,
) -> Iterable[Edge]:
    """The candidates whose texts really overlap, each compared only while its sources are not yet one voice."""
    settings = compared.settings
    for candidate in proposed:
        a, b = places[candidate.first], places[candidate.second]
        if a < 0 or b < 0 or forest.root(a) == forest.root(b):
            continue
        share = compared.share(sketched[candidate.first], sketched[candidate.second])
        agencies = {members[a].agency, members[b].agency}
        same_agency = len(agencies) == 1 and None not in agencies
        if share >= (settings.wire_share if same_agency else settings.body_share):
            forest.join(a, b)
            yield Edge(min(a, b), max(a, b), "wire" if agencies != {None} else "body", share)


def overlap(left: U64, right: U64) -> float:
    """Share of the smaller set that the larger has; both sorted and distinct. 0 when one is empty."""
    small, large = (left, right) if len(left) <= len(right) else (right, left)
    if not len(small):
        return 0.0
    at = np.searchsorted(large, small)
    return float(np.count_nonzero(large[np.minimum(at, len(large) - 1)] == small)) / len(small)


class _Forest:
    """Union-find over 0..n-1."""

    def __init__(self, n: int) -> None:
        self._parent = list(range(n))

    def root(self, k: int) -> int:
        parent = self._parent
        while parent[k] != k:
            parent[k] = parent[parent[k]]
            k = parent[k]
        return k

    def join(self, a: int, b: int) -> bool:
        """Make a and b one; False when they were."""
        a, b = self.root(a), self.root(b)
        self._parent[max(a, b)] = min(a, b)
        return a != b


def _rows(
    document_key: str | None, members: Sequence[_Member], edges: Sequence[Edge], forest: _Forest
) -> list[ClusterRow]:
    """One row a source that has an edge, by cluster and source key."""
    groups: dict[int, set[int]] = {}
    best: dict[int, float] = {}
    kinds: dict[int, Kind] = {}
    weakest: dict[int, float] = {}
    for edge in edges:
        group = forest.root(edge.first)
        groups.setdefault(group, set()).update((edge.first, edge.second))
        kinds[group] = max(kinds.get(group, edge.kind), edge.kind, key=_STRENGTH.index)
        weakest[group] = min(weakest.get(group, 1.0), edge.similarity)
        for k in (edge.first, edge.second):
            best[k] = max(best.get(k, 0.0), edge.similarity)
    rows = []
    for group, inside in groups.items():
        root = min((members[k] for k in inside), key=lambda member: member.age).key
        identity = keys.cluster_id(document_key, root)
        rows += [
            ClusterRow(identity, document_key, kinds[group], root, members[k].key, best[k], weakest[group])
            for k in inside
        ]
    return sorted(rows, key=lambda row: (row.cluster_id, row.source_key))
