from __future__ import annotations

import unicodedata

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from verification_pipeline.text.index import WordIndex


def words(text):
    index = WordIndex.build(text)
    return [text[start:end] for start, end in zip(index.starts, index.ends, strict=True)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        (" \n", []),
        ("The mill, 1811.", ["The", "mill", "1811"]),
        ("well-known 1,000", ["well", "known", "1", "000"]),
        ("Größe über", ["Größe", "über"]),
        ("潮位 5 m", ["潮", "位", "5", "m"]),
        ("A日本B", ["A", "日", "本", "B"]),
        ("e\u0301tude", ["e\u0301tude"]),
        ("a\U0001f600b", ["a", "b"]),
    ],
)
def test_words(text, expected):
    assert words(text) == expected


@given(st.text())
def test_words_are_the_runs_of_word_characters(text):
    index = WordIndex.build(text)
    inside = np.zeros(len(text), dtype=bool)
    for start, end in zip(index.starts, index.ends, strict=True):
        assert 0 <= start < end <= len(text)
        assert not inside[start:end].any()
        inside[start:end] = True
    for character, covered in zip(text, inside, strict=True):
        if character.isascii():
            assert covered == character.isalnum()
        elif covered:
            assert unicodedata.category(character)[0] in "LNM"


@given(st.text(), st.text(), st.text())
def test_a_word_has_the_same_hash_wherever_it_stands(before, word, after):
    alone = WordIndex.build(word)
    text = f"{before} {word} {after}"
    first, last = WordIndex.build(text).word_range(len(before) + 1, len(before) + 1 + len(word))
    assert WordIndex.build(text).words[first:last].tolist() == alone.words.tolist()


def test_case_width_and_long_s_fold():
    assert WordIndex.build("MILL ſtill ９").words.tolist() == WordIndex.build("mill still 9").words.tolist()


def test_hashes_are_fixed_for_ever():
    assert WordIndex.build("mill").words.tolist() == [11736378211197585255]
    index = WordIndex.build("the old mill by the river")
    assert [int(index.runs(size)[0]) for size in (2, 3, 5)] == [
        15670517781132956368,
        15442386171781784791,
        1074846066924545652,
    ]
    assert int(index.grams(5)[0]) == 17018326123921682767


def test_grams_depend_on_order_and_need_enough_words():
    index = WordIndex.build("a b c a b")
    assert len(index.grams(2)) == 4
    assert index.grams(2)[0] == index.grams(2)[3]
    assert index.grams(2)[0] != WordIndex.build("b a").grams(2)[0]
    assert len(index.grams(6)) == 0
