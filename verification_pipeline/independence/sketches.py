"""Sketches: a small record per text from which the overlap of any two texts of an archive can be estimated.

Belongs here: sampling of shingles and the join that finds texts which share many. Does not belong here: which words
count (`shingles`), exact comparison and clusters (`clusters`).

A sketch keeps the shingle hashes below a fixed share of the hash range (FracMinHash: Irber et al. 2022, bioRxiv
10.1101/2022.01.11.475838), at least and at most a set number of the smallest. Unlike MinHash it estimates containment
as well as resemblance: a release inside an article of ten times its length shares all its samples.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property, partial
from io import BytesIO
from tempfile import TemporaryFile
from typing import IO, NamedTuple, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from verification_pipeline.config import Independence
from verification_pipeline.independence.shingles import all_shingles, distinct
from verification_pipeline.independence.wire import agency_in_text
from verification_pipeline.records import Evidence
from verification_pipeline.text.index import U64
from verification_pipeline.text.stack import Stack

I64 = NDArray[np.int64]
S = TypeVar("S")
T = TypeVar("T")

_RANGE = 1 << 63  # shingle hashes are stored without their lowest bit, so that they fit a signed column
_PART = 1 << 21  # hashes joined at a time, about, to bound memory
_AT_ONCE = 2  # such parts
_BLOCK = 1 << 20  # shared hashes whose pairs are estimated at a time, about
_LIKELY = 3  # pairs that share a hash, on average, about


@dataclass(frozen=True, slots=True, eq=False)
class Sketch:
    """What an archive remembers of a source's text for clustering: a row of `sketches`.

    `hashes` are sampled shingle hashes, ascending and complete below `limit`; `n_shingles` counts the shingles of the
    whole text; `agency` is the wire agency that its dateline or credit names.
    """

    source_key: str
    text_sha256: str
    n_shingles: int
    limit: int
    hashes: I64
    agency: str | None


def sketch(evidence: Evidence, settings: Independence, shingles: U64 | None = None) -> Sketch:
    """The sketch of a source's text: about 100 hashes for 1,500 words, never more than `settings.sketch_most`.

    `shingles` are `all_shingles` of the text, where they are at hand.
    """
    if shingles is None:
        shingles = all_shingles(Stack.of([evidence.body]), settings)[0]
    found = shingles >> np.uint64(1)
    limit = _RANGE // settings.sketch_rate
    kept = distinct(found[found < limit])
    if len(kept) > settings.sketch_most:
        limit = int(kept[settings.sketch_most])
        kept = kept[: settings.sketch_most]
    elif len(kept) < settings.sketch_least:
        every = distinct(found)
        kept = every[: settings.sketch_least]
        limit = int(every[len(kept)]) if len(kept) < len(every) else _RANGE - 1
    agency = agency_in_text(evidence.body, settings)
    key, sha256 = evidence.source.source_key, evidence.body.sha256
    return Sketch(key, sha256, len(found), limit, kept.astype(np.int64), agency)


@dataclass(frozen=True, slots=True, eq=False)
class SketchColumns:
    """Sketches side by side: the hashes of sketch k are `hashes[offsets[k]:offsets[k + 1]]`."""

    hashes: I64
    offsets: I64
    limits: I64
    n_shingles: I64

    @classmethod
    def of(cls, sketches: Sequence[Sketch]) -> SketchColumns:
        """Columns of some sketches, in their order."""
        sizes = np.array([0, *(len(one.hashes) for one in sketches)], np.int64)
        return cls(
            np.concatenate([one.hashes for one in sketches]) if sketches else np.empty(0, np.int64),
            np.cumsum(sizes),
            np.array([one.limit for one in sketches], np.int64),
            np.array([one.n_shingles for one in sketches], np.int64),
        )

    @classmethod
    def of_table(cls, rows: pl.DataFrame) -> SketchColumns:
        """Columns of rows of table `sketches`, in their order."""
        sizes = rows["hashes"].list.len().to_numpy()
        return cls(
            rows["hashes"].explode(empty_as_null=False).to_numpy(),
            np.concatenate((np.zeros(1, np.int64), np.cumsum(sizes, dtype=np.int64))),
            rows["limit"].to_numpy(),
            rows["n_shingles"].to_numpy(),
        )

    def __len__(self) -> int:
        return len(self.limits)

    def below(self, k: int, limit: int) -> int:
        """Hashes of sketch k below a limit."""
        start, end = int(self.offsets[k]), int(self.offsets[k + 1])
        return int(np.searchsorted(self.hashes[start:end], limit))


class Candidate(NamedTuple):
    """Two sketches by position that may overlap; `estimate` is the share of the smaller that the other holds."""

    estimate: float
    first: int
    second: int


def candidates(columns: SketchColumns, hosts: I64, settings: Independence) -> list[Candidate]:
    """Pairs whose estimated overlap reaches `settings.candidate_share`, highest first.

    `hosts` numbers each sketch's site (-1: unknown). Text that belongs to the page and not to its author proposes
    nothing: what stands in many texts of which it is a small part, and, between two pages of a site, what several of
    its pages have, if the rest of both is long enough to compare.

    Every shared hash is followed to at most `settings.followed` neighbours (to two where more texts than that share
    it), neighbours being texts with a like smallest hash: copies of one text stay linked however many they are, and a
    phrase that stands everywhere costs little.
    """
    sizes = np.diff(columns.offsets)
    usable = np.flatnonzero((columns.n_shingles >= settings.min_shingles) & (sizes > 0))
    if len(usable) < 2:
        return []
    ranked = usable[np.argsort(columns.hashes[columns.offsets[usable]], kind="stable")]
    room = BytesIO if len(columns.hashes) < _PART else TemporaryFile
    with room() as every, room() as sited:
        join = _Join(columns, hosts[ranked], ranked, settings, every, sited)
        join.measure()
        found = [_estimated(columns, ranked, join, pairs, settings) for pairs in join.pairs()]
    estimates, first, second = (np.concatenate(part) for part in zip(*found, strict=True))
    order = np.lexsort((second, first, -estimates))
    rows = zip(estimates[order].tolist(), first[order].tolist(), second[order].tolist(), strict=True)
    return [Candidate(*row) for row in rows]


class _Pairs(NamedTuple):
    """Pairs of sketches, and how many hashes each pair shares, in all and of its one site's own."""

    left: I64
    right: I64
    shared: I64
    shared_by_site: I64


class _Sorted(NamedTuple):
    """Hashes in order with the ranks of their sketches, and the sizes of the runs of equal hashes."""

    hashes: I64
    ranks: NDArray[np.int32]
    sizes: I64


class _Codes:
    """Codes of pairs (rank * count + rank), ascending in each of some stretches, to be read a block at a time.

    Those of a whole archive take several times the memory of its sketches: they lie in a temporary file.
    """

    def __init__(self, bounds: I64, file: IO[bytes]) -> None:
        self._bounds, self._file = bounds, file
        self._stretches: list[tuple[int, I64]] = []
        """Where each one begins in the file, and where its blocks begin in it."""

    def add(self, codes: I64) -> None:
        """Add a stretch."""
        self._stretches.append((self._file.seek(0, os.SEEK_END), codes.searchsorted(self._bounds)))
        self._file.write(codes.data)

    def blocks(self) -> Iterator[I64]:
        """The codes between one bound and the next, those of each stretch in order."""
        for k in range(len(self._bounds) - 1):
            parts = [
                self._read(place + 8 * int(cuts[k]), int(cuts[k + 1] - cuts[k])) for place, cuts in self._stretches
            ]
            yield np.concatenate(parts)

    def _read(self, place: int, count: int) -> I64:
        self._file.seek(place)
        return np.frombuffer(self._file.read(8 * count), np.int64)


class _Join:
    """The shared hashes of all pairs of sketches, one range of the hash space after the other.

    Sketches are named by rank: their place in the order of their smallest hashes.
    """

    def __init__(
        self,
        columns: SketchColumns,
        hosts: I64,
        ranked: I64,
        settings: Independence,
        every: IO[bytes],
        sited: IO[bytes],
    ) -> None:
        self._columns, self.hosts, self._ranked, self._settings = columns, hosts, ranked, settings
        self.sizes: I64 = np.diff(columns.offsets)[ranked]
        self._parts = 1 + len(columns.hashes) // _PART
        self._sites = int(hosts.max()) + 1
        self.page = np.zeros(len(ranked), np.int64)
        """Hashes of each sketch that belong to the page around the text."""
        self.site = np.zeros(len(ranked), np.int64)
        """Further hashes that several pages of the sketch's site have."""
        blocks = 1 + _LIKELY * len(columns.hashes) // _BLOCK
        bounds = np.linspace(0, len(ranked), blocks + 1).astype(np.int64) * len(ranked)
        self._every, self._sited = _Codes(bounds, every), _Codes(bounds, sited)
        """Of the pairs that share a hash, once a hash."""

    @property
    def count(self) -> int:
        """Number of sketches."""
        return len(self._ranked)

    def measure(self) -> None:
        """Fill the figures, in two passes over the hashes: first how common they are, then who shares them."""
        whole = [self._sorted(*part) for part in self._ranges()] if self._parts == 1 else []  # one range: sorted once
        common = np.zeros(self.count, np.int64)
        for found in self._over_hashes(self._common, whole):
            common += found
        for page, site, every, sited in self._over_hashes(partial(self._shared, common / self.sizes), whole):
            self.page += page
            self.site += site
            self._every.add(every)
            self._sited.add(sited)

    def _over_hashes(self, function: Callable[[_Sorted], T], whole: Sequence[_Sorted]) -> Iterator[T]:
        """What a function gives for each range of the hashes, in order; `whole` are all of them, if they are few."""
        if whole:
            return map(function, whole)
        return _side_by_side(lambda part: function(self._sorted(*part)), self._ranges())

    def pairs(self) -> Iterator[_Pairs]:
        """The pairs that share hashes, a block of left sides at a time."""
        for every, sited in zip(self._every.blocks(), self._sited.blocks(), strict=True):
            codes, shared = _counted(every)
            by_site, counts = _counted(sited)
            shared_by_site = np.zeros(len(codes), np.int64)
            shared_by_site[np.searchsorted(codes, by_site)] = counts
            yield _Pairs(codes // self.count, codes % self.count, shared, shared_by_site)

    @cached_property
    def _counts(self) -> NDArray[np.unsignedinteger]:
        """Hashes of each sketch (row, by rank) in each range (column)."""
        if self._parts == 1:
            return self.sizes.astype(np.uint64)[:, None]
        hashes, offsets = self._columns.hashes, self._columns.offsets
        step = int(hashes.max()) // self._parts + 1
        narrow = np.min_scalar_type(int(np.diff(offsets).max()))
        counts: NDArray[np.unsignedinteger] = np.empty((len(self._columns), self._parts), narrow)
        some = max(1, _PART * len(counts) // len(hashes))
        for first in range(0, len(counts), some):
            inside = offsets[first : first + some + 1]
            rows = np.repeat(np.arange(len(inside) - 1), np.diff(inside))
            cells = rows * self._parts + hashes[inside[0] : inside[-1]] // step
            cell_counts = np.bincount(cells, minlength=(len(inside) - 1) * self._parts)
            counts[first : first + some] = cell_counts.reshape(-1, self._parts)
        return counts[self._ranked]

    def _ranges(self) -> Iterator[tuple[I64, I64]]:
        """Of each range of the hashes: where it begins in every sketch (by rank), and how many it has of it."""
        reached = self._columns.offsets[self._ranked]
        for part in range(self._parts):
            taken = self._counts[:, part].astype(np.int64)
            yield reached, taken
            reached = reached + taken

    def _sorted(self, reached: I64, taken: I64) -> _Sorted:
        ends = np.cumsum(taken)
        hashes = self._columns.hashes[np.repeat(reached - ends + taken, taken) + np.arange(ends[-1])]
        order = np.argsort(hashes, kind="stable")
        hashes = hashes[order]
        ranks = np.repeat(np.arange(self.count, dtype=np.int32), taken)[order]
        return _Sorted(hashes, ranks, _runs(hashes)[1])

    def _common(self, part: _Sorted) -> I64:
        """Hashes of each sketch that are common."""
        common = np.repeat(part.sizes, part.sizes) >= self._settings.common_texts
        return np.bincount(part.ranks[common], minlength=self.count)

    def _shared(self, share: NDArray[np.float64], part: _Sorted) -> tuple[I64, I64, I64, I64]:
        """Of a range: each sketch's hashes that belong to its page, and to its site; codes of the pairs in each run,
        all and those of one site's own text. `share` is that of the common hashes in each sketch."""
        hashes, ranks, sizes = part
        settings, group = self._settings, np.repeat(np.arange(len(sizes)), sizes)
        mean_share = np.bincount(group, weights=share[ranks], minlength=len(sizes)) / np.maximum(1, sizes)
        page = ((sizes >= settings.common_texts) & (mean_share < settings.common_share))[group]
        site = self._of_site(hashes, ranks) & ~page
        reach = np.where(sizes > settings.followed, 2, settings.followed)[group]
        places = np.flatnonzero((sizes[group] > 1) & ~page)
        every, sited = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
        for lag in range(1, settings.followed + 1):
            places = places[(places < len(group) - lag) & (reach[places] >= lag)]
            places = places[group[places] == group[places + lag]]
            if not len(places):
                break
            left, right = ranks[places].astype(np.int64), ranks[places + lag]
            codes = left * self.count + right
            every.append(codes)
            sited.append(codes[site[places] & (self.hosts[left] == self.hosts[right])])
        of_page, of_site = (np.bincount(ranks[chosen], minlength=self.count) for chosen in (page, site))
        codes_of_all, codes_of_site = np.concatenate(every), np.concatenate(sited)
        codes_of_all.sort()
        codes_of_site.sort()
        return of_page, of_site, codes_of_all, codes_of_site

    def _of_site(self, hashes: I64, ranks: NDArray[np.int32]) -> NDArray[np.bool_]:
        """For each hash whether at least `settings.site_pages` pages of its owner's site have it."""
        hosts = self.hosts[ranks]
        new = np.concatenate(([True], hashes[1:] != hashes[:-1]))[: len(hashes)]
        owned = np.cumsum(new) * (self._sites + 1) + hosts
        order = np.argsort(owned)
        _, counts = _runs(owned[order])
        marked = np.zeros(len(hashes), dtype=bool)
        marked[order] = np.repeat(counts >= self._settings.site_pages, counts)
        return marked & (hosts >= 0)


def _side_by_side(function: Callable[[S], T], items: Iterable[S]) -> Iterator[T]:
    """The results in order, made by threads: what numpy does with large arrays it does without the interpreter."""
    with ThreadPoolExecutor(_AT_ONCE) as threads:
        begun: deque[Future[T]] = deque()
        for item in items:
            begun.append(threads.submit(function, item))
            if len(begun) > _AT_ONCE:
                yield begun.popleft().result()
        while begun:
            yield begun.popleft().result()


def _counted(codes: I64) -> tuple[I64, I64]:
    """Distinct codes, ascending, and how often each stands; the codes come as some stretches that are in order."""
    codes.sort(kind="stable")  # merges what is in order already
    starts, counts = _runs(codes)
    return codes[starts], counts


def _runs(values: I64) -> tuple[I64, I64]:
    """Where runs of equal values start, and their lengths."""
    starts = np.flatnonzero(np.concatenate(([True], values[1:] != values[:-1]))[: len(values)])
    return starts, np.diff(starts, append=len(values))


def _estimated(
    columns: SketchColumns, ranked: I64, join: _Join, pairs: _Pairs, settings: Independence
) -> tuple[NDArray[np.float64], I64, I64]:
    """Estimate and sketches of the pairs whose samples below the lower of their limits agree enough."""
    left, right, shared, shared_by_site = pairs
    sizes, hosts, limits = join.sizes, join.hosts, columns.limits[ranked]
    own = sizes - join.page
    smaller = np.minimum(own[left], own[right])
    for k in np.flatnonzero(limits[left] != limits[right]).tolist():
        limit = int(min(limits[left[k]], limits[right[k]]))
        below = (columns.below(int(ranked[rank[k]]), limit) for rank in (left, right))
        smaller[k] = min(smaller[k], *below)
    estimates = shared / np.maximum(1, smaller)
    rest = np.minimum(own[left] - join.site[left], own[right] - join.site[right])
    apart = (hosts[left] == hosts[right]) & (hosts[left] >= 0)
    apart &= rest >= np.maximum(_LEAST_REST, settings.site_rest * np.minimum(own[left], own[right]))
    estimates[apart] = ((shared - shared_by_site) / np.maximum(1, rest))[apart]
    estimates = np.minimum(1.0, estimates)
    partial = apart | (
        _PAGE_SHARE * np.minimum(join.page[left], join.page[right]) >= np.minimum(sizes[left], sizes[right])
    )
    kept = np.flatnonzero(estimates >= np.where(partial, settings.rest_share, settings.candidate_share))
    left, right = ranked[left[kept]], ranked[right[kept]]
    return estimates[kept], np.minimum(left, right), np.maximum(left, right)


_PAGE_SHARE = 5  # one sample in so many is enough of the page to judge a pair by the rest
_LEAST_REST = 4  # samples below which the rest of a page says nothing
