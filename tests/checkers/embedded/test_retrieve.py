from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.checkers.embedded.support import LEXICON, claim, lexicon, source
from verification_pipeline.checkers.embedded import retrieve
from verification_pipeline.checkers.embedded.retrieve import MOST_SENTENCES, PASSAGE, best_run

PAGE = (
    "The mill opened in spring. It ground barley for 12 farms. Later the river froze.\n\nA school stood near the mill."
)


def find(said, page, words=LEXICON):
    return retrieve.find(said, page, words)


def test_the_window_is_the_sentence_that_holds_the_claim():
    page = source(PAGE)
    first, last = find(claim("The mill ground barley for twelve farms"), page).window
    assert "ground barley" in page.text[page.starts[first] : page.ends[last]]


def test_a_claim_over_two_sentences_gets_both():
    page = source(PAGE)
    first, last = find(claim("Barley was ground for 12 farms until the river froze"), page).window
    window = page.text[page.starts[first] : page.ends[last]]
    assert "barley" in window
    assert "froze" in window


def test_the_passage_is_where_the_words_stand_together():
    page = source("Barley fed the horses that the new mill had bought.\n\nHorses rested. The mill ground barley twice.")
    first, last = find(claim("The mill ground barley for horses"), page).passage
    assert "ground barley" in page.text[page.starts[first] : page.ends[last]]


def test_words_stand_together_in_the_order_of_the_claim_within_one_sentence():
    page = source("Mills grind barley. Barley they grind. The mills\ngrind.")
    found = find(claim("mills grind barley"), page)
    assert dict(zip(found.candidates.tolist(), found.together.tolist(), strict=True)) == {0: 1, 1: 0, 2: 0, 3: 0}


def test_another_form_of_a_word_counts_a_little_less():
    page = source("They infected two ponds.")
    held = find(claim("infection ponds"), page).in_page
    assert held.tolist() == [np.float32(0.9), 1.0]


def test_a_synonym_counts_less_than_a_form_of_the_word():
    words = lexicon(synonyms="dogs/hounds")
    held = find(claim("dogs ran", words), source("The hounds ran."), words).in_page
    assert held.tolist() == [np.float32(0.7), 1.0]


def test_nothing_in_common_is_a_share_of_nothing():
    found = find(claim("Zebras migrate"), source("Oil rose in Asia."))
    assert found.share == 0
    assert found.in_page.tolist() == [0, 0]


def test_the_best_run_reaches_only_as_far_as_its_length():
    held = np.array([[1, 0, 0], [0, 0, 1]], np.float32)
    weights = np.array([0.5, 0.5], np.float32)
    assert best_run(held, np.array([0, 1, 2]), weights, 2)[0] == 0.5
    assert best_run(held, np.array([0, 1, 2]), weights, 3) == (1.0, 0, 2)


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=300), st.text(min_size=1, max_size=80))
def test_any_text_gives_windows_inside_it(text, words):
    page, said = source(text), claim(words)
    if not len(said):
        return
    found = find(said, page)
    for first, last in (found.window, found.passage):
        assert 0 <= first <= last < page.count
        assert last - first < PASSAGE
        assert 0 <= page.starts[first] <= page.ends[last] <= len(text)
    assert len(found.evidence) <= MOST_SENTENCES
    assert found.held.shape == (len(said), len(found.candidates))
