"""Texts in a stack have the words, places and runs that they have alone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verification_pipeline.text import stack
from verification_pipeline.text.index import IndexedText, WordIndex
from verification_pipeline.text.stack import Stack, stacked

_TEXTS = st.lists(st.one_of(st.text(st.sampled_from("ab .\n"), max_size=30), st.text(max_size=9)), max_size=6)


def _named(texts: list[str]) -> list[IndexedText]:
    return [IndexedText(str(k), text) for k, text in enumerate(texts)]


@given(_TEXTS)
def test_a_text_has_the_index_that_it_has_alone(texts: list[str]) -> None:
    bodies = _named(texts)
    names = [name for one in stacked(bodies) for name in one.names]
    assert sorted(names) == sorted(body.sha256 for body in bodies)
    for body in bodies:
        alone = WordIndex.build(body.text)
        assert body.index.starts.tolist() == alone.starts.tolist()
        assert body.index.ends.tolist() == alone.ends.tolist()
        assert body.index.words.tolist() == alone.words.tolist()
        for size in (1, 2, 3, 6):
            assert body.index.runs(size).tolist() == alone.runs(size).tolist()
            assert body.index.grams(size).tolist() == alone.grams(size).tolist()


@given(_TEXTS.filter(bool), st.integers(1, 4))
def test_runs_across_two_texts_are_told(texts: list[str], size: int) -> None:
    bodies = _named(texts)
    whole = Stack.of(bodies)
    across = set(whole.across(size).tolist())
    inside = [run for k, run in enumerate(whole.index.runs(size).tolist()) if k not in across]
    assert inside == [run for body in bodies for run in body.index.runs(size).tolist()]


def test_a_single_text_is_not_read_a_second_time() -> None:
    [body] = _named(["Bees came to the plots."])
    index = body.index
    assert Stack.of([body]).index is index
    assert body.index is index


def test_a_stack_is_no_larger_than_it_may_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stack, "_MOST_CHARS", 10)
    bodies = _named(["one two", "three", "ä", "a", "a text over the limit", "ö"])
    assert [one.names for one in stacked([*bodies, bodies[0]])] == [("0",), ("1", "3"), ("4",), ("0",), ("2", "5")]
