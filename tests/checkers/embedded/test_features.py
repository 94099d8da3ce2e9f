from __future__ import annotations

import math

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.checkers.embedded.support import claim, lexicon, measured, source
from verification_pipeline.checkers.embedded.features import features

PAGE = "Anders beat Birgit in the final. Later Cecilia met the press in Oslo."


def test_a_copy_is_held_whole():
    found = features(measured("Anders beat Birgit in the final.", PAGE))
    assert found["window_share"] == 1
    assert found["near_kept"] == 1
    assert found["order"] == 1


def test_swapped_roles_keep_the_words_but_not_their_sides():
    same = features(measured("Anders beat Birgit in the final.", PAGE))
    swapped = features(measured("Birgit beat Anders in the final.", PAGE))
    assert swapped["window_share"] == same["window_share"]
    assert swapped["names_sided_min"] < same["names_sided_min"]
    assert swapped["order"] < same["order"]
    assert swapped["names_close_min"] < same["names_close_min"]
    assert swapped["together_window"] < same["together_window"]


def test_names_in_the_other_order_are_reversed():
    assert features(measured("In the end Anders beat Birgit.", PAGE))["names_reversed"] == 0
    assert features(measured("In the end Birgit beat Anders.", PAGE))["names_reversed"] == 1


def test_what_does_not_apply_reads_as_nothing_missing():
    found = features(measured("the mill was closed", "the mill was closed"))
    assert (found["figures_missing"], found["figures_share"], found["names_company_min"]) == (0, 1, 1)


def test_a_synonym_is_held_but_is_no_form_of_the_word():
    words = lexicon(synonyms="car/automobile")
    found = features(measured("the car stopped", "the automobile stopped", words))
    assert found["window_words"] == 1
    assert found["window_lost_word"] > 0


@settings(max_examples=80, deadline=None)
@given(st.text(min_size=1, max_size=120), st.text(min_size=1, max_size=400))
def test_every_figure_of_any_text_is_a_finite_number_in_a_fixed_order(said, page):
    if not len(claim(said)) or not len(source(page).index):
        return
    found = features(measured(said, page))
    assert list(found) == list(features(measured("A word.", "Another word.")))
    assert all(math.isfinite(value) for value in found.values())
