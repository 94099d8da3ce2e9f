from __future__ import annotations

import math
import random
from statistics import NormalDist

import polars as pl
import pytest

from tests.support.archive import Archive, run_info, storage_archive
from verification_pipeline import keys, metrics, tables
from verification_pipeline.config import Settings
from verification_pipeline.receipts import assemble

Z = NormalDist().inv_cdf(0.975)


def figures(archive: Archive) -> dict[tuple[str, str], tuple[float | None, float | None, float | None, int]]:
    inputs = archive.inputs()
    receipts = assemble(inputs, run_info(), Settings(), tables.empty("receipts"))
    made = metrics.compute("run-1", metrics.tally(inputs, receipts))
    tables.check("metrics", made, "test")
    return {(corpus, name): tuple(rest) for _, corpus, name, *rest in made.iter_rows()}


def test_every_figure_of_a_small_archive():
    seen = figures(storage_archive())
    assert seen["notes", "documents"] == (3, 3, 3, 3)
    assert seen["notes", "documents_passed_share"] == (1 / 3, 1 / 3, 1 / 3, 3)
    assert seen["notes", "documents_not_verified_share"][0] == 1 / 3
    assert seen["notes", "pairs"][3] == 8
    shares = [seen["*", f"pairs_{o}_share"][0] for o in ("auto_passed", "checked", "not_checked", "dangling")]
    assert shares == [2 / 8, 3 / 8, 2 / 8, 1 / 8]
    assert seen["notes", "not_checked_share:no-text"][0] == 1 / 8
    assert seen["notes", "quotes_altered_share"] == (1, 1, 1, 1)
    assert seen["notes", "works"][0] == 3
    assert seen["notes", "works_retracted_share"] == (1 / 2, 1 / 2, 1 / 2, 2)
    assert seen["notes", "works_unknown_share"][0] == 1 / 3
    assert seen["notes", "retracted_unacknowledged"][0] == 1
    assert seen["notes", "effective_sources_share"] == (5 / 6, 5 / 6, 5 / 6, 6)
    # Two auto-passed, two strong (one unsupported), and one of two drawn at 0.5, supported: it stands for both.
    assert seen["notes", "supported_share"][0] == pytest.approx((2 + 0 + 2) / 6)
    assert seen["notes", "unsupported_share"][0] == pytest.approx(1 / 6)
    value, low, high, size = seen["notes", "unsupported_share_bounds"]
    assert (value, size) == (None, 7)
    assert low == pytest.approx(1 / 7)
    assert high > 2 / 7  # the pair without text may be unsupported too, and the draw left one unread


def test_every_figure_is_documented():
    verdicts = {f"{verdict.replace('-', '_')}_share" for verdict in metrics.VERDICTS}
    documented = {name.split(":")[0] for name in metrics.NAMES}
    for _, name in figures(storage_archive()):
        base = name.removesuffix("_bounds")
        assert base in verdicts or name.split(":")[0] in documented


def test_a_census_has_no_interval_and_an_empty_denominator_no_value():
    seen = figures(Archive())
    assert seen["*", "supported_share"] == (None, None, None, 0)
    assert seen["*", "documents_passed_share"] == (None, None, None, 0)


def test_shards_add_up():
    archive = storage_archive()
    inputs = archive.inputs()
    receipts = assemble(inputs, run_info(), Settings(), tables.empty("receipts"))
    whole = metrics.tally(inputs, receipts)
    assert metrics.add([whole, whole]).select("n").sum().item() == 2 * whole["n"].sum()
    assert metrics.add([whole]).equals(whole)


def test_wilson_matches_the_published_example():
    # Newcombe (Statistics in Medicine 17, 1998), table I: 81 of 263 gives 0.2553 to 0.3662; 0 of 20 gives 0 to 0.1611.
    low, high = metrics.wilson(81 / 263, 263, Z)
    assert (round(low, 4), round(high, 4)) == (0.2553, 0.3662)
    low, high = metrics.wilson(0, 20, Z)
    assert (low, round(high, 4)) == (0, 0.1611)
    assert metrics.wilson(0.3, math.inf, Z) == (0.3, 0.3)


@pytest.mark.parametrize(("rate", "probability"), [(0.02, 0.2), (0.3, 0.2), (0.3, 0.6), (0.9, 0.5)])
def test_intervals_cover_the_truth_about_as_often_as_they_say(rate: float, probability: float):
    """A population with a strong census stratum and a sampled rest: coverage over 600 draws, seeded by hash."""
    chance = random.Random(7)
    strong = [chance.random() < 0.4 for _ in range(60)]
    rest = [chance.random() < rate for _ in range(300)]
    truth = (sum(strong) + sum(rest)) / 360
    covered = 0
    for seed in range(600):
        drawn = [hit for i, hit in enumerate(rest) if keys.unit_interval(seed, str(i)) < probability]
        parts = [(60.0, sum(strong), 60, 1.0), (300.0, sum(drawn), len(drawn), len(drawn) / 300)]
        _, low, high = metrics.combined(parts, Z)
        covered += low <= truth <= high
    assert 0.93 <= covered / 600 <= 0.995


def test_a_stratum_of_which_nothing_was_drawn_is_bounded_not_guessed():
    tallies = pl.DataFrame(
        [
            ("c", "pairs", "strong", 1.0, "supported", 10),
            ("c", "pairs", "rest", 0.0, "unread:not-selected", 30),
        ],
        schema=metrics.TALLY_SCHEMA,
        orient="row",
    )
    rows = {name: rest for _, _, name, *rest in metrics.compute("r", tallies).filter(corpus="c").iter_rows()}
    assert rows["supported_share"] == [1.0, 1.0, 1.0, 10]
    assert rows["supported_share_bounds"] == [None, 0.25, 1.0, 40]
