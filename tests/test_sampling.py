from __future__ import annotations

from dataclasses import replace

import pytest

from tests.builders import pair
from verification_pipeline.config import Sampling
from verification_pipeline.sampling import select

PAIRS = [pair(f"Claim number {number}.", strong=number % 4 == 0, index=number) for number in range(400)]


@pytest.mark.parametrize(("sample", "low", "high"), [("all", 1, 1), ("strong-markers", 0.14, 0.26), (0.6, 0.53, 0.67)])
def test_strong_pairs_always_and_the_stated_share_of_the_rest(sample, low, high):
    rows = select(PAIRS, Sampling(sample=sample))
    strong = [row for row in rows if row.stratum == "strong"]
    rest = [row for row in rows if row.stratum == "rest"]
    assert len(strong) == 100
    assert all(row.selected and row.probability == 1 for row in strong)
    assert low <= sum(row.selected for row in rest) / len(rest) <= high


def test_an_edit_elsewhere_never_reshuffles_the_rest():
    rules = Sampling(sample=0.5)
    before = {row.pair_id: row.selected for row in select(PAIRS, rules)}
    after = {row.pair_id: row.selected for row in select(PAIRS[7:], rules)}
    assert all(before[key] == selected for key, selected in after.items())


def test_batches_hold_one_source_together_and_25_pairs_at_most():
    mixed = [replace(one, source_key=f"s{number % 3}") for number, one in enumerate(PAIRS)]
    rows = select(mixed, Sampling())
    by_batch: dict[str, list[int]] = {}
    for row in rows:
        by_batch.setdefault(row.batch_id, []).append(row.position)
    assert all(sorted(positions) == list(range(len(positions))) for positions in by_batch.values())
    assert max(map(len, by_batch.values())) == 25
    assert sum(map(len, by_batch.values())) == 400


def test_unselected_pairs_are_in_no_batch():
    rows = select(PAIRS, Sampling(sample=0.0))
    assert {row.batch_id is None for row in rows if not row.selected} == {True}
    assert sum(row.selected for row in rows) == 100
