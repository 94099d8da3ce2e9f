from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from verification_pipeline.text.index import WordIndex
from verification_pipeline.text.phrases import CERTAIN_WORDS, RUN_WORDS, phrases

words = st.lists(st.sampled_from(["pier", "lock", "mill", "weir", "a", "the", "1963", "水"]), max_size=30)


def of(*parts):
    return phrases(WordIndex.build(" ".join(word for part in parts for word in part)))


@given(words, st.lists(st.sampled_from("abcdefgh"), min_size=CERTAIN_WORDS, max_size=20), words)
def test_a_stretch_keeps_its_phrases_wherever_it_stands(before, stretch, after):
    alone = of(stretch)
    assert len(alone)
    assert np.isin(alone, of(before, stretch, after)).all()


@given(words)
def test_phrases_are_distinct_ascending_and_there_as_soon_as_a_run_is(text):
    found = of(text)
    assert (np.diff(found.astype(np.int64)) > 0).all()
    assert bool(len(found)) == (len(text) >= RUN_WORDS)


def test_case_and_punctuation_do_not_count():
    plain, written = "the lower lock was closed for nine weeks", "The “lower” lock -- was CLOSED\nfor nine weeks."
    assert phrases(WordIndex.build(plain)).tolist() == phrases(WordIndex.build(written)).tolist()
