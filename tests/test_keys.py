from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from verification_pipeline import keys


def test_hashes_are_fixed_for_ever():
    assert keys.hash_of("a", "b") == "4fc56058b4df0ca122be9a2e429541d6"
    assert keys.document_key("corpus", "doc") == keys.hash_of("document", "corpus", "doc")


@given(st.lists(st.text(), min_size=1, max_size=4), st.lists(st.text(), min_size=1, max_size=4))
def test_parts_never_run_together(one, other):
    assert (keys.hash_of(*one) == keys.hash_of(*other)) == (one == other)


def test_ids_are_taken_as_they_are():
    assert keys.document_key("c", "007") != keys.document_key("c", "7")
    assert keys.source_key("c", None, "s") == keys.source_key("c", "", "s")


def test_normal_form_ignores_width_case_and_white_space():
    assert keys.normalised("Ｔｈｅ  Mill\nopened") == keys.normalised("the mill opened")


@given(st.integers(), st.text())
def test_the_sample_draw_is_a_share(seed, key):
    assert 0 <= keys.unit_interval(seed, key) < 1
    assert keys.unit_interval(seed, key) == keys.unit_interval(seed, key)


def test_the_sample_draw_is_even():
    draws = [keys.unit_interval(1, str(number)) for number in range(4_000)]
    assert 0.47 < sum(draws) / len(draws) < 0.53
