from __future__ import annotations

import itertools

from tests.builders import evidence, item
from verification_pipeline.checkers.retrieval import WordRetriever, best_windows

LONG = "The bell rang at noon and the market closed at four. " * 400 + "In 1931 the tower was repaired."


def test_evidence_at_the_very_end_of_a_long_body_is_found():
    body = evidence("1", LONG)
    best = best_windows("The tower was repaired in 1931.", body, 45, 1)[0]
    assert "In 1931 the tower was repaired." in best.span.text
    assert LONG[best.span.start : best.span.end] == best.span.text
    assert best.score > 0.95


def test_windows_are_disjoint_and_best_first():
    body = evidence("1", "The weir is low. " + "Nothing else happened here. " * 40 + "The weir was rebuilt low.")
    found = best_windows("The weir was rebuilt.", body, 12, 3)
    assert [p.score for p in found] == sorted((p.score for p in found), reverse=True)
    spans = sorted((p.span.start, p.span.end) for p in found)
    assert all(one[1] <= other[0] for one, other in itertools.pairwise(spans))


def test_nothing_to_look_for_finds_nothing():
    assert best_windows("…", evidence("1", "Text."), 45, 1) == []
    assert best_windows("Words", evidence("1", ""), 45, 1) == []
    assert best_windows("absent", evidence("1", "Text."), 45, 1) == []


def test_other_sources_of_the_document_are_searched_and_the_cited_one_is_not():
    cited, holder = evidence("1", "A map of plots."), evidence("2", "Bees visited twelve plots in May.")
    found = WordRetriever().elsewhere(item("Bees visited twelve plots.", cited, holder), 2)
    assert [passage.span.source_key for passage in found] == [holder.source.source_key]
