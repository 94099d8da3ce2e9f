"""Clusters of sources that are one voice: by address or work, by shared text, by shared agency copy.

Belongs here: edges, components, root and kind. Does not belong here: canonical addresses (`text.addresses`), what of a
text counts (`shingles`), estimates (`sketches`).

Sketches only propose: every edge of shared text is the exact overlap of two texts, the share of the smaller text's
shingles that the larger has. One number covers a copy (both ways high) and a release inside an article (one way).
Candidates are taken from the highest estimate down and two sources that are already one voice are not compared again,
so the edges kept form a maximum spanning forest: a cluster of a thousand copies costs a thousand comparisons, and its
weakest link is the best chain's weakest. Texts are compared many pairs at a time, so that worker processes can do it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache
from typing import Literal, NamedTuple, TypeVar
from urllib.parse import urlsplit

import numpy as np
import polars as pl
from numpy.typing import NDArray

from verification_pipeline import keys
from verification_pipeline.config import Independence
from verification_pipeline.independence.shingles import distinct, shingles
from verification_pipeline.independence.sketches import Candidate, Sketch, SketchColumns, candidates
from verification_pipeline.independence.wire import agency_of_source
from verification_pipeline.records import Evidence, Source
from verification_pipeline.text.addresses import canonical_url, work_of
from verification_pipeline.text.index import U64, IndexedText

Kind = Literal["wire", "url", "body"]
Name = TypeVar("Name")
Measure = Callable[[Sequence[tuple[str, str]]], Iterable[float]]
"""Exact overlaps of the texts of pairs of sources (keys), in their order; 0 where a text is too short."""

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
    """Exact overlaps of texts by their two hashes, the smaller first: `known` ones are not measured again.

    `asked` gathers those that a clustering rests on.
    """

    known: Mapping[tuple[str, str], float] = field(default_factory=dict)
    asked: dict[tuple[str, str], float] = field(default_factory=dict)

    def of(self, texts: tuple[str, str]) -> float | None:
        """The overlap of two texts; None while it is to be measured."""
        share = self.known.get(texts)
        if share is None:
            return self.asked.get(texts)
        self.asked[texts] = share
        return share


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
    credited = {one.source_key: one.agency for one in sketched if one.agency}
    members = _Members.of((Member.of(source, settings) for source in sources), credited)
    names = [(one.source_key, one.text_sha256) for one in sketched]
    measure = _measuring(_own_shingles(own, shingled or {}, settings), settings)
    compared = _Compared(names.__getitem__, overlaps or Overlaps(), measure, settings)
    return _clusters(document_key, members, sorted(sketches), SketchColumns.of(sketched), compared)


def cluster_archive(
    sources: Iterable[Member],
    sketches: pl.DataFrame,
    measure: Measure,
    settings: Independence,
    overlaps: Overlaps | None = None,
) -> list[ClusterRow]:
    """Clusters of the whole archive, from rows of table `sketches`; `measure` compares texts (see `measuring`).

    It is asked only for pairs whose sketches overlap and whose overlap is not known, never for a source that shares
    nothing.
    """
    sketches = sketches.sort("source_key")
    columns = SketchColumns.of_table(sketches)
    sketches = sketches.drop("hashes")  # the greater part of an archive's sketches, held once
    credited = dict(sketches.select("source_key", "agency").drop_nulls().iter_rows())
    members = _Members.of(sources, credited)
    names = sketches.select("source_key", "text_sha256")
    compared = _Compared(names.row, overlaps or Overlaps(), measure, settings)
    return _clusters(None, members, names["source_key"], columns, compared)


def measuring(
    fetch: Callable[[Name], IndexedText], settings: Independence
) -> Callable[[Iterable[tuple[Name, Name]]], Iterator[float]]:
    """A function that compares texts, which `fetch` gives by whatever names them."""
    return _measuring(lambda name: shingles(fetch(name), settings), settings)


def _measuring(
    shingled: Callable[[Name], U64], settings: Independence
) -> Callable[[Iterable[tuple[Name, Name]]], Iterator[float]]:
    shingles_of = lru_cache(settings.cached_texts)(shingled)

    def measure(pairs: Iterable[tuple[Name, Name]]) -> Iterator[float]:
        for left, right in pairs:
            one, other = shingles_of(left), shingles_of(right)
            yield overlap(one, other) if min(len(one), len(other)) >= settings.min_shingles else 0.0

    return measure


def effective_sources(n_sources: int, rows: Iterable[ClusterRow]) -> int:
    """Independent voices among `n_sources` sources, each cluster counted once."""
    rows = list(rows)
    return n_sources - len(rows) + len({row.cluster_id for row in rows})


class Member(NamedTuple):
    """A source as clustering sees it, its text apart."""

    source_key: str
    host: str | None
    agency: str | None
    """The agency whose own site or feed it is."""
    published_at: str | None
    fetched_at: str | None
    names: tuple[str, ...]
    """It is the same page or work as another source that has one of these."""

    @classmethod
    def of(cls, source: Source, settings: Independence) -> Member:
        """What a row of `sources` says."""
        address = source.canonical_url or (canonical_url(source.url) if source.url else None)
        return cls(
            source.source_key,
            urlsplit(address or "").hostname,
            agency_of_source(source, settings),
            source.published_at,
            source.fetched_at,
            tuple(_identities(source, address)),
        )


@dataclass(frozen=True, slots=True)
class _Members:
    """The sources of a scope, side by side: an archive has a million."""

    keys: list[str] = field(default_factory=list)
    hosts: list[int] = field(default_factory=list)
    """Number of the site of each address; -1 when unknown."""
    agencies: list[str | None] = field(default_factory=list)
    stated: list[tuple[str | None, str | None]] = field(default_factory=list)
    """When each was published and fetched, as its row says."""
    same: list[tuple[int, int]] = field(default_factory=list)
    """Sources that are the same page or work as the first one with the same name."""

    @classmethod
    def of(cls, sources: Iterable[Member], credited: Mapping[str, str]) -> _Members:
        """Of sources in their order; `credited` are the agencies that texts name, by source key."""
        members = cls()
        sites: dict[str, int] = {}
        first_with: dict[str, int] = {}
        for k, source in enumerate(sources):
            members.keys.append(source.source_key)
            members.hosts.append(sites.setdefault(source.host, len(sites)) if source.host else -1)
            members.agencies.append(credited.get(source.source_key) or source.agency)
            members.stated.append((source.published_at, source.fetched_at))
            firsts = (first_with.setdefault(name, k) for name in source.names)
            members.same.extend((first, k) for first in firsts if first != k)
        return members

    def age(self, k: int) -> tuple[str, str, str]:
        """Sorts the root first: published, fetched, key."""
        published, fetched = self.stated[k]
        return _moment(published), _moment(fetched), self.keys[k]


def _identities(source: Source, address: str | None) -> Iterable[str]:
    """Names under which a source is the same page or work as another, each once."""
    named = [address]
    named += [work_of(one) for one in (source.url, source.canonical_url) if one]
    named.append(work_of(f"doi:{source.doi}") or work_of(source.doi) if source.doi else None)
    named.append(f"pmid:{source.pmid}" if source.pmid else None)
    return dict.fromkeys(name for name in named if name)


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
    members: _Members,
    sketched: Iterable[str],
    columns: SketchColumns,
    compared: _Compared,
) -> list[ClusterRow]:
    """Rows of the clusters in a scope; `sketched` are the sources of the sketches."""
    place = {key: k for k, key in enumerate(members.keys)}
    places = np.fromiter((place.get(key, -1) for key in sketched), np.int64, len(columns))
    hosts = np.array([*members.hosts, -1], np.int64)[places]
    del place
    pages = _Forest(range(len(members.keys)))
    same = [Edge(first, second, "url", 1.0) for first, second in members.same if pages.join(first, second)]
    edges, forest = _of_one_text(candidates(columns, hosts, compared.settings), places, members, pages, compared)
    return _rows(document_key, members, [*same, *edges], forest)


@dataclass(frozen=True, slots=True)
class _Compared:
    """The overlaps of the texts of a scope's sketches: those that are known, and how others are measured."""

    name_of: Callable[[int], tuple[str, str]]
    """Source and text of a sketch."""
    overlaps: Overlaps
    measure: Measure
    settings: Independence

    def names(self, candidate: Candidate) -> tuple[tuple[str, str], tuple[str, str]]:
        """Sources and texts of a candidate, the texts in order."""
        left, right = self.name_of(candidate.first), self.name_of(candidate.second)
        return (left[0], right[0]), (min(left[1], right[1]), max(left[1], right[1]))

    def learn(self, unknown: Mapping[tuple[str, str], tuple[str, str]]) -> None:
        """Measure the overlaps of texts, each pair by two sources that have them."""
        self.overlaps.asked.update(zip(unknown, self.measure(list(unknown.values())), strict=True))


def _of_one_text(
    proposed: Sequence[Candidate],
    places: NDArray[np.int64],
    members: _Members,
    pages: _Forest,
    compared: _Compared,
) -> tuple[list[Edge], _Forest]:
    """The candidates whose texts really overlap, each compared only while its sources are not yet one voice.

    Goes through the candidates until nothing is unknown. What is unknown counts as an overlap until it is measured
    after the pass, all at once: so nothing is compared that a better candidate makes needless.
    """
    settings = compared.settings
    while True:
        forest, edges = _Forest(pages), list[Edge]()
        unknown: dict[tuple[str, str], tuple[str, str]] = {}
        for candidate in proposed:
            a, b = int(places[candidate.first]), int(places[candidate.second])
            if a < 0 or b < 0 or forest.root(a) == forest.root(b):
                continue
            sources, texts = compared.names(candidate)
            share = compared.overlaps.of(texts)
            if share is None:
                unknown[texts] = sources
                forest.join(a, b)
                continue
            agencies = {members.agencies[a], members.agencies[b]}
            same_agency = len(agencies) == 1 and None not in agencies
            if share >= (settings.wire_share if same_agency else settings.body_share):
                forest.join(a, b)
                edges.append(Edge(min(a, b), max(a, b), "wire" if agencies != {None} else "body", share))
        if not unknown:
            return edges, forest
        compared.learn(unknown)


def overlap(left: U64, right: U64) -> float:
    """Share of the smaller set that the larger has; both sorted and distinct. 0 when one is empty."""
    small, large = (left, right) if len(left) <= len(right) else (right, left)
    if not len(small):
        return 0.0
    at = np.searchsorted(large, small)
    return float(np.count_nonzero(large[np.minimum(at, len(large) - 1)] == small)) / len(small)


class _Forest:
    """Union-find over 0..n-1."""

    def __init__(self, parents: Iterable[int]) -> None:
        self._parent = list(parents)

    def __iter__(self) -> Iterator[int]:
        return iter(self._parent)

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


def _rows(document_key: str | None, members: _Members, edges: Sequence[Edge], forest: _Forest) -> list[ClusterRow]:
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
        root = members.keys[min(inside, key=members.age)]
        identity = keys.cluster_id(document_key, root)
        rows += [
            ClusterRow(identity, document_key, kinds[group], root, members.keys[k], best[k], weakest[group])
            for k in inside
        ]
    return sorted(rows, key=lambda row: (row.cluster_id, row.source_key))
