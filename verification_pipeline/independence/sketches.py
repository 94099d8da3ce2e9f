"""Sketches: a small record per text from which the overlap of any two texts of an archive can be estimated.

Belongs here: sampling of shingles and the join that finds texts which share many. Does not belong here: which words
count (`shingles`), exact comparison and clusters (`clusters`).

A sketch keeps the shingle hashes below a fixed share of the hash range (FracMinHash: Irber et al. 2022, bioRxiv
10.1101/2022.01.11.475838), at least and at most a set number of the smallest. Unlike MinHash it estimates containment
as well as resemblance: a release inside an article of ten times its length shares all its samples.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from verification_pipeline.config import Independence
from verification_pipeline.independence.shingles import shingles
from verification_pipeline.independence.wire import agency_in_text
from verification_pipeline.records import Evidence

I64 = NDArray[np.int64]

_RANGE = 1 << 63  # shingle hashes are stored without their lowest bit, so that they fit a signed column
_PART = 1 << 22  # hashes joined at a time, about, to bound memory


@dataclass(frozen=True, slots=True, eq=False)
class Sketch:
    """What an archive remembers of a source's text for clustering: a row of `sketches`.

    `hashes` are sampled shingle hashes, ascending and complete below `limit`; `n_shingles` counts the distinct shingles
    of the whole text; `agency` is the wire agency that its dateline or credit names.
    """

    source_key: str
    text_sha256: str
    n_shingles: int
    limit: int
    hashes: I64
    agency: str | None


def sketch(evidence: Evidence, settings: Independence) -> Sketch:
    """The sketch of a source's text: about 100 hashes for 1,500 words, never more than `settings.sketch_most`."""
    found = (shingles(evidence.body, settings) >> np.uint64(1)).astype(np.int64)
    limit = _RANGE // settings.sketch_rate
    below = int(np.searchsorted(found, limit))
    kept = min(len(found), max(settings.sketch_least, min(below, settings.sketch_most)))
    if kept == len(found):
        limit = _RANGE - 1
    elif kept != below:
        limit = int(found[kept])
    agency = agency_in_text(evidence.body.text, settings)
    return Sketch(evidence.source.source_key, evidence.body.sha256, len(found), limit, found[:kept], agency)


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


def candidates(columns: SketchColumns, settings: Independence) -> list[Candidate]:
    """Pairs whose estimated overlap reaches `settings.candidate_share`, highest first.

    Every shared hash is followed to at most `settings.followed` neighbours (to two where more texts than that share
    it), neighbours being texts with a like smallest hash: copies of one text stay linked however many they are, and a
    phrase that stands everywhere costs little.
    """
    usable = np.flatnonzero((columns.n_shingles >= settings.min_shingles) & (np.diff(columns.offsets) > 0))
    if len(usable) < 2:
        return []
    rank = np.empty(len(columns), np.int64)
    ranked = usable[np.argsort(columns.hashes[columns.offsets[usable]], kind="stable")]
    rank[ranked] = np.arange(len(ranked))
    pairs, shared = _shared(columns, usable, rank, settings.followed)
    return _estimated(columns, ranked, pairs, shared, settings.candidate_share)


def _shared(columns: SketchColumns, usable: I64, rank: I64, followed: int) -> tuple[I64, I64]:
    """Codes (rank * n + rank) of the pairs that share hashes, and how many they share."""
    owners = np.repeat(np.arange(len(columns)), np.diff(columns.offsets)).astype(np.int32)
    chosen = np.zeros(len(columns), dtype=bool)
    chosen[usable] = True
    parts = 1 + len(columns.hashes) // _PART
    part = np.minimum(columns.hashes // (int(columns.hashes.max()) // parts + 1), parts - 1)
    codes: list[I64] = []
    for k in range(parts):
        inside = np.flatnonzero((part == k) & chosen[owners]) if parts > 1 else np.flatnonzero(chosen[owners])
        codes.append(_codes(columns.hashes[inside], rank[owners[inside]], len(usable), followed))
    return np.unique(np.concatenate(codes), return_counts=True)


def _codes(hashes: I64, ranks: I64, count: int, followed: int) -> I64:
    order = np.lexsort((ranks, hashes))
    hashes, ranks = hashes[order], ranks[order]
    starts = (
        np.flatnonzero(np.concatenate(([True], hashes[1:] != hashes[:-1]))) if len(hashes) else np.empty(0, np.int64)
    )
    sizes = np.diff(np.append(starts, len(hashes)))
    reach = np.repeat(np.where(sizes > followed, 2, followed), sizes)
    group = np.repeat(np.arange(len(starts)), sizes)
    found = [np.empty(0, np.int64)]
    places = np.flatnonzero(np.repeat(sizes, sizes) > 1)
    for lag in range(1, followed + 1):
        places = places[(places < len(hashes) - lag) & (reach[places] >= lag)]
        places = places[group[places] == group[places + lag]]
        if not len(places):
            break
        found.append(ranks[places] * count + ranks[places + lag])
    return np.concatenate(found)


def _estimated(columns: SketchColumns, ranked: I64, pairs: I64, shared: I64, least: float) -> list[Candidate]:
    """The pairs whose samples below the lower of their limits agree enough."""
    left, right = ranked[pairs // len(ranked)], ranked[pairs % len(ranked)]
    sizes = np.diff(columns.offsets)
    smaller = np.minimum(sizes[left], sizes[right])
    for k in np.flatnonzero(columns.limits[left] != columns.limits[right]).tolist():
        a, b = int(left[k]), int(right[k])
        limit = int(min(columns.limits[a], columns.limits[b]))
        smaller[k] = min(columns.below(a, limit), columns.below(b, limit))
    estimates = np.minimum(1.0, shared / np.maximum(1, smaller))
    kept = np.flatnonzero(estimates >= least)
    first, second = np.minimum(left, right)[kept], np.maximum(left, right)[kept]
    order = np.lexsort((second, first, -estimates[kept]))
    rows = zip(estimates[kept][order].tolist(), first[order].tolist(), second[order].tolist(), strict=True)
    return [Candidate(*row) for row in rows]
