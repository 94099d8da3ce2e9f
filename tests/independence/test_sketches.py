"""Sketches: what they estimate, against exact sets and against MinHash."""

from __future__ import annotations

import random

import numpy as np
import pytest
from datasketch import MinHash
from hypothesis import given
from hypothesis import strategies as st

from tests.independence.drive import PROSE, source, text_of
from verification_pipeline import tables
from verification_pipeline.config import Independence
from verification_pipeline.independence import all_shingles, sketch
from verification_pipeline.independence.clusters import overlap
from verification_pipeline.independence.shingles import shingles
from verification_pipeline.independence.sketches import SketchColumns, candidates
from verification_pipeline.stages.voices import SketchRow
from verification_pipeline.text.index import IndexedText
from verification_pipeline.text.stack import Stack, stacked

SETTINGS = Independence()


def _edited(text: str, share: float, seed: int) -> str:
    rng = random.Random(seed)
    return " ".join(rng.choice(PROSE) if rng.random() < share else word for word in text.split(" "))


def _estimate(left: str, right: str) -> float:
    columns = SketchColumns.of([sketch(source("1", left), SETTINGS), sketch(source("2", right), SETTINGS)])
    found = candidates(columns, np.array([-1, -1]), SETTINGS)
    return found[0].estimate if found else 0.0


_STRETCHES = st.sampled_from(
    [
        *(
            "Home News\n",
            "News Sport Weather Markets Opinion Culture\n",
            "We use cookies ",
            "We use ",
            "cookies to serve. ",
        ),
        *(
            "the old mill burned.",
            " It stood by the river",
            "\n",
            " https://example.org/a-b ",
            "ALL IN CAPITALS ",
            "ß “no” ",
        ),
    ]
)


@given(st.lists(st.lists(_STRETCHES, max_size=8).map("".join), min_size=1, max_size=6))
def test_a_text_in_a_stack_has_the_shingles_that_it_has_alone(texts: list[str]) -> None:
    bodies = [IndexedText(str(k), text) for k, text in enumerate(texts)]
    together = {
        name: made
        for stack in stacked(bodies)
        for name, made in zip(stack.names, all_shingles(stack, SETTINGS), strict=True)
    }
    for body in bodies:
        (alone,) = all_shingles(Stack.of([IndexedText("", body.text)]), SETTINGS)
        assert together[body.sha256].tolist() == alone.tolist()


@pytest.mark.parametrize("share", [0.0, 0.03, 0.08])
def test_the_estimate_is_close_to_the_exact_overlap(share: float) -> None:
    text = text_of(1, 3_000)
    other = _edited(text, share, 5)
    exact = overlap(shingles(source("1", text).body, SETTINGS), shingles(source("2", other).body, SETTINGS))
    assert _estimate(text, other) == pytest.approx(exact, abs=0.12)


@pytest.mark.parametrize("share", [0.0, 0.03, 0.08])
def test_the_exact_overlap_agrees_with_minhash(share: float) -> None:
    """Resemblance computed from the overlap, against datasketch's estimate over the same shingles."""
    left = shingles(source("1", text_of(1, 2_000)).body, SETTINGS)
    right = shingles(source("2", _edited(text_of(1, 2_000), share, 5)).body, SETTINGS)
    common = overlap(left, right) * min(len(left), len(right))
    resemblance = common / (len(left) + len(right) - common)
    hashed = [MinHash(num_perm=512, hashfunc=int) for _ in range(2)]
    for made, values in zip(hashed, (left, right), strict=True):
        made.update_batch([value >> 32 for value in values.tolist()])
    assert hashed[0].jaccard(hashed[1]) == pytest.approx(resemblance, abs=0.08)


def test_a_short_text_inside_a_long_one_is_proposed() -> None:
    release = text_of(1, 150)
    assert _estimate(release, f"{text_of(2, 900)} {release} {text_of(3, 900)}") > 0.5


def test_a_sketch_is_small_sorted_and_storable() -> None:
    made = sketch(source("1", text_of(1, 20_000)), SETTINGS)
    assert len(made.hashes) <= SETTINGS.sketch_most
    assert np.all(np.diff(made.hashes) > 0)
    assert made.hashes[-1] < made.limit
    table = tables.frame("sketches", [SketchRow.of(made, None)])
    tables.check("sketches", table, "test")
    stored = SketchColumns.of_table(table)
    assert np.array_equal(stored.hashes, made.hashes)


@given(st.text(max_size=300))
def test_any_text_has_a_sketch(text: str) -> None:
    made = sketch(source("1", text), SETTINGS)
    assert len(made.hashes) <= made.n_shingles


def test_sketches_side_by_side_keep_their_order() -> None:
    made = [sketch(source(str(k), text_of(k, size)), SETTINGS) for k, size in enumerate((0, 1_000, 3, 50))]
    columns = SketchColumns.of(made)
    for k, one in enumerate(made):
        assert np.array_equal(columns.hashes[columns.offsets[k] : columns.offsets[k + 1]], one.hashes)


def test_many_pairs_are_joined_part_by_part_as_in_one(monkeypatch: pytest.MonkeyPatch) -> None:
    made = [sketch(source(str(k), text_of(k % 20, 400)), SETTINGS) for k in range(60)]
    made += [sketch(source(f"short {k}", text_of(k, size)), SETTINGS) for k, size in enumerate((0, 9, 1_500))]
    columns = SketchColumns.of(made)
    hosts = np.arange(len(made)) % 7 - 1
    whole = candidates(columns, hosts, SETTINGS)
    monkeypatch.setattr("verification_pipeline.independence.sketches._PART", 100)
    assert candidates(columns, hosts, SETTINGS) == whole
    assert {(c.first % 20, c.second % 20) for c in whole if c.second < 60} == {(k, k) for k in range(20)}
