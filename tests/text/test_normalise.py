from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verification_pipeline.text.normalise import ascii_letters, keeps_letters, normalise

SAME = [
    ("white space", "the ferry runs all night", "the  ferry\n runs\u00a0all \t night"),
    ("line-break hyphen dropped", "the pipeline leaked", "the pipe-\nline leaked"),
    ("line-break hyphen of a page that lost its line ends", "the pipeline leaked", "the pipe- line leaked"),
    ("soft hyphen and zero width", "the pipeline leaked", "the pipe\u00adline leak\u200bed"),
    ("ligature", "the final effect", "the ﬁnal eﬀect"),
    ("long s", "the sea was still", "the ſea was ſtill"),
    ("full width", "WTO (2020)", "ＷＴＯ（２０２０）"),
    ("composed", "café", "cafe\u0301"),
    ("composed hangul", "한국어", "\u1112\u1161\u11ab\u1100\u116e\u11a8\u110b\u1165"),
    ("composed kana", "が", "か\u3099"),
    ("quotation glyphs", "he said “no” twice", 'he said "no" twice'),
    ("apostrophe", "don't", "don’t"),
    ("dashes", "a word - another 5-10", "a word — another 5–10"),
    ("sign", "at -5 degrees", "at −5 degrees"),
    ("emphasis", "priority means urgency, not rank", "`priority` means *urgency*, not __rank__"),
    ("link", "see the text now", "see [the text](https://example.org/a_(b)) now"),
    ("tags and entities", "bold A & B", "<b>bold</b> A&nbsp;&amp; B"),
    ("reference numbers", "it was missing because of rain", "it was missing[12] because [3, 4] of rain[^5]"),
    ("superscript references", "was missing because", "was missing¹² because"),
    ("space before punctuation", "50% (about half), he said", "50 % ( about half ) , he said"),
    ("block quote prefix", "one two three", "one two\n> three"),
    ("spaced ideographs", "中文测试", "中 文测\n试"),
]

DIFFERENT = [
    ("currency", "$5 million", "€5 million"),
    ("sign", "fell to −5", "fell to 5"),
    ("decimal point", "1.5", "15"),
    ("list and decimal comma", "1, 5", "1,5"),
    ("per cent", "50 %", "50"),
    ("digits", "412", "421"),
    ("unit", "10 m²", "10 m"),
    ("power", "10²", "10"),
    ("product", "5*3", "53"),
    ("word form", "universal", "university"),
    ("compound", "long-term", "long term"),
    ("punctuation", "eats, shoots", "eats shoots"),
    ("content in brackets", "1.4 [1.1, 1.8]", "1.4"),
    ("identifier", "snake_case", "snakecase"),
    ("comparison signs are no tag", "p < 0.05 and n > 30", "p 30"),
    ("prime", "5′ long", "5 long"),
]


@pytest.mark.parametrize(("kind", "left", "right"), SAME, ids=[kind for kind, *_ in SAME])
def test_prints_of_the_same_words_look_alike(kind: str, left: str, right: str) -> None:
    left_text = normalise(left).text
    assert normalise(right, beside=left_text).text == left_text


@pytest.mark.parametrize(("kind", "left", "right"), DIFFERENT, ids=[kind for kind, *_ in DIFFERENT])
def test_what_carries_meaning_stays(kind: str, left: str, right: str) -> None:
    left_text = normalise(left).text
    assert normalise(right, beside=left_text).text != left_text


def test_a_choice_of_the_print_is_taken_as_the_other_text_has_it() -> None:
    assert normalise("a long-\nterm plan", beside="a long-term plan").text == "a long-term plan"
    assert normalise("long- and short-term", beside="long- and short-term").text == "long- and short-term"
    assert normalise("odds 14 [11, 18] rose", beside="[12]").text == "odds 14 [11,18] rose"
    assert normalise("odds 14 [11, 18] rose", beside="odds 14 rose").text == "odds 14 rose"


def test_offsets_lead_back_to_the_words() -> None:
    text = "He wrote: the pipe-\nline was *missing*[12] because — well — ﬁre."
    normal = normalise(text)
    first = normal.text.index("pipeline")
    assert text[slice(*normal.original(first, first + len("pipeline")))] == "pipe-\nline"
    first = normal.text.index("missing")
    assert text[slice(*normal.original(first, first + len("missing")))] == "missing"
    assert normal.normal(text.index("because")) == normal.text.index("because")


@given(st.text(alphabet=st.sampled_from(list("aé\u0301ﬁſ中 文\n-–—“”\"'’*_`[](1,.5)…\\<b>&amp;²\u00ad>")), max_size=60))
def test_maps_are_monotonic_and_cover_the_text(text: str) -> None:
    normal = normalise(text)
    previous = 0
    for i in range(len(normal.text)):
        start, end = normal.original(i, i + 1)
        assert 0 <= start <= end <= len(text)
        assert start >= previous
        previous = start
    offsets = [normal.normal(i) for i in range(len(text) + 1)]
    assert offsets == sorted(offsets)
    assert all(0 <= offset <= len(normal.text) for offset in offsets)


@pytest.mark.parametrize("text", [text for _, left, right in SAME + DIFFERENT for text in (left, right)])
def test_a_normalised_text_is_normal(text: str) -> None:
    once = normalise(text, beside="[1]").text
    assert normalise(once, beside="[1]").text == once


@given(st.text(max_size=80), st.integers(0, 40), st.integers(0, 40))
def test_a_part_is_mapped_into_the_whole(text: str, start: int, length: int) -> None:
    start = min(start, len(text))
    end = min(len(text), start + length)
    normal = normalise(text, start, end)
    for i in range(len(normal.text)):
        first, last = normal.original(i, i + 1)
        assert start <= first <= last <= end


@pytest.mark.parametrize("text", ["&nosuch;", "a&Zz;b", "&#9999999;", "&ampamp;"])
def test_what_only_looks_like_an_entity_comes_to_an_end(text: str) -> None:
    once = normalise(text).text
    assert normalise(once).text == once


@given(
    st.text(alphabet=st.sampled_from(list("aBz\u0301éﬁſ中Ｗ 1\n-–—“\"'’*_`[](^,.5)…\\<b>&amp;²\u00ad/")), max_size=60),
    st.integers(0, 60),
    st.integers(0, 60),
)
def test_letters_are_kept_where_it_says_so(text: str, start: int, end: int) -> None:
    start, end = min(start, len(text)), min(end, len(text))
    if keeps_letters(text[start:end]):
        assert ascii_letters(normalise(text, start, end).text) == ascii_letters(text[start:end])


@pytest.mark.parametrize(
    "hostile",
    ["[", "*", "_a", "](", ". ", "[1,", "<a ", "a- ", "a\u0301", "![", "&", "\\", "\n>", "“", "²", "[1", "<sup>"],
)
def test_long_runs_take_linear_time(hostile: str) -> None:
    started = time.process_time()
    normalise(hostile * 60_000)
    assert time.process_time() - started < 2
