"""Sketches: a small record per text from which the overlap of any two texts of an archive can be estimated.

Belongs here: sampling of shingles and the join that finds texts which share many. Does not belong here: which words
count (`shingles`), exact comparison and clusters (`clusters`).

A sketch keeps the shingle hashes below a fixed share of the hash range (FracMinHash: Irber et al. 2022, bioRxiv
10.1101/2022.01.11.475838), at least and at most a set number of the smallest. Unlike MinHash it estimates containment
as well as resemblance: a release inside an article of ten times its length shares all its samples.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from verification_pipeline.config import Independence
from verification_pipeline.independence.shingles import all_shingles, distinct
from verification_pipeline.independence.wire import agency_in_text
from verification_pipeline.records import Evidence

I64 = NDArray[np.int64]

_RANGE = 1 << 63  # shingle hashes are stored without their lowest bit, so that they fit a signed column
_PART = 1 << 22  # hashes joined at a time, about, to bound memory


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


def sketch(evidence: Evidence, settings: Independence) -> Sketch:
    """The sketch of a source's text: about 100 hashes for 1,500 words, never more than `settings.sketch_most`."""
    found = all_shingles(evidence.body, settings) >> np.uint64(1)
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
    rank = np.full(len(columns), -1, np.int64)
    ranked = usable[np.argsort(columns.hashes[columns.offsets[usable]], kind="stable")]
    rank[ranked] = np.arange(len(ranked))
    join = _Join(columns, hosts, rank, settings)
    join.measure()
    return _estimated(columns, hosts, ranked, join, settings)


class _Join:
    """The shared hashes of all pairs, one range of the hash space after the other."""

    def __init__(self, columns: SketchColumns, hosts: I64, rank: I64, settings: Independence) -> None:
        self._columns, self._hosts, self._rank, self._settings = columns, hosts, rank, settings
        self._count = int(rank.max()) + 1
        self._owners = np.repeat(np.arange(len(columns), dtype=np.int32), np.diff(columns.offsets))
        parts = 1 + len(columns.hashes) // _PART
        step = int(columns.hashes.max()) // parts + 1
        self._bounds = [step * k for k in range(parts + 1)]
        self.page = np.zeros(len(columns), np.int64)
        """Hashes of each sketch that belong to the page around the text."""
        self.site = np.zeros(len(columns), np.int64)
        """Further hashes that several pages of the sketch's site have."""
        self.pairs: I64 = np.empty(0, np.int64)
        """Codes of the pairs that share hashes: rank * count + rank, ascending."""
        self.shared: I64 = self.pairs
        self.shared_by_site: I64 = self.pairs

    @property
    def count(self) -> int:
        """Number of ranked sketches."""
        return self._count

    def measure(self) -> None:
        """Fill the figures, in two passes over the hashes: first how common they are, then who shares them."""
        whole = [next(self._groups())] if len(self._bounds) == 2 else []  # one range: sorted once
        common = np.zeros(len(self._columns), np.int64)
        for _, owners, sizes in whole or self._groups():
            common += np.bincount(owners[np.repeat(sizes, sizes) >= self._settings.common_texts], minlength=len(common))
        share = common / np.maximum(1, np.diff(self._columns.offsets))
        every: list[I64] = [self.pairs]
        sited: list[I64] = [self.pairs]
        for hashes, owners, sizes in whole or self._groups():
            for found, into in zip(self._codes(hashes, owners, sizes, share), (every, sited), strict=True):
                into.append(found)
        self.pairs, self.shared = np.unique(np.concatenate(every), return_counts=True)
        by_site, counts = np.unique(np.concatenate(sited), return_counts=True)
        self.shared_by_site = np.zeros(len(self.pairs), np.int64)
        self.shared_by_site[np.searchsorted(self.pairs, by_site)] = counts

    def _groups(self) -> Iterator[tuple[I64, NDArray[np.int32], I64]]:
        """Hashes in order with their owners by rank, and the sizes of the runs of equal hashes."""
        every = self._columns.hashes
        for low, high in pairwise(self._bounds):
            inside = np.flatnonzero((every >= low) & (every < high))
            inside = inside[self._rank[self._owners[inside]] >= 0]
            hashes, owners = every[inside], self._owners[inside]
            order = np.lexsort((self._rank[owners], hashes))
            hashes, owners = hashes[order], owners[order]
            starts = np.flatnonzero(np.concatenate(([True], hashes[1:] != hashes[:-1])))[: len(hashes)]
            yield hashes, owners, np.diff(np.append(starts, len(hashes)))

    def _codes(self, hashes: I64, owners: NDArray[np.int32], sizes: I64, share: NDArray[np.float64]) -> tuple[I64, I64]:
        """Codes of the pairs in each run, all and those of one site's own text; counts of what is left out."""
        settings, group = self._settings, np.repeat(np.arange(len(sizes)), sizes)
        mean_share = np.bincount(group, weights=share[owners], minlength=len(sizes)) / np.maximum(1, sizes)
        page = ((sizes >= settings.common_texts) & (mean_share < settings.common_share))[group]
        site = self._of_site(hashes, owners) & ~page
        self.page += np.bincount(owners[page], minlength=len(self.page))
        self.site += np.bincount(owners[site], minlength=len(self.site))
        reach = np.where(sizes > settings.followed, 2, settings.followed)[group]
        ranks, hosts = self._rank[owners], self._hosts[owners]
        places = np.flatnonzero((sizes[group] > 1) & ~page)
        every, sited = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
        for lag in range(1, settings.followed + 1):
            places = places[(places < len(group) - lag) & (reach[places] >= lag)]
            places = places[group[places] == group[places + lag]]
            if not len(places):
                break
            codes = ranks[places] * self._count + ranks[places + lag]
            every.append(codes)
            sited.append(codes[site[places] & (hosts[places] == hosts[places + lag])])
        return np.concatenate(every), np.concatenate(sited)

    def _of_site(self, hashes: I64, owners: NDArray[np.int32]) -> NDArray[np.bool_]:
        """For each hash whether at least `settings.site_pages` pages of its owner's site have it."""
        hosts = self._hosts[owners]
        order = np.lexsort((hosts, hashes))
        new = np.concatenate(([True], (np.diff(hashes[order]) != 0) | (np.diff(hosts[order]) != 0)))[: len(order)]
        run = np.cumsum(new) - 1
        often = np.bincount(run) >= self._settings.site_pages if len(run) else np.empty(0, bool)
        marked = np.zeros(len(hashes), dtype=bool)
        marked[order] = often[run] if len(run) else marked
        return marked & (hosts >= 0)


def _estimated(columns: SketchColumns, hosts: I64, ranked: I64, join: _Join, settings: Independence) -> list[Candidate]:
    """The pairs whose samples below the lower of their limits agree enough."""
    left, right = ranked[join.pairs // join.count], ranked[join.pairs % join.count]
    sizes = np.diff(columns.offsets)
    own = sizes - join.page
    smaller = np.minimum(own[left], own[right])
    unequal = np.flatnonzero(columns.limits[left] != columns.limits[right])
    for k in unequal.tolist():
        a, b = int(left[k]), int(right[k])
        limit = int(min(columns.limits[a], columns.limits[b]))
        smaller[k] = min(smaller[k], columns.below(a, limit), columns.below(b, limit))
    estimates = join.shared / np.maximum(1, smaller)
    rest = np.minimum(own[left] - join.site[left], own[right] - join.site[right])
    apart = (hosts[left] == hosts[right]) & (hosts[left] >= 0)
    apart &= rest >= np.maximum(_LEAST_REST, settings.site_rest * np.minimum(own[left], own[right]))
    estimates[apart] = ((join.shared - join.shared_by_site) / np.maximum(1, rest))[apart]
    estimates = np.minimum(1.0, estimates)
    partial = apart | (
        _PAGE_SHARE * np.minimum(join.page[left], join.page[right]) >= np.minimum(sizes[left], sizes[right])
    )
    kept = np.flatnonzero(estimates >= np.where(partial, settings.rest_share, settings.candidate_share))
    first, second = np.minimum(left, right)[kept], np.maximum(left, right)[kept]
    order = np.lexsort((second, first, -estimates[kept]))
    rows = zip(estimates[kept][order].tolist(), first[order].tolist(), second[order].tolist(), strict=True)
    return [Candidate(*row) for row in rows]


_PAGE_SHARE = 5  # one sample in so many is enough of the page to judge a pair by the rest
_LEAST_REST = 4  # samples below which the rest of a page says nothing
