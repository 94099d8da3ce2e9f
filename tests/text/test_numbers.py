from __future__ import annotations

from decimal import Decimal
from itertools import pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from verification_pipeline.text.numbers import Number, folded_words, parse


def only(text: str, language: str | None = None) -> Number:
    (number,) = parse(text, language)
    return number


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("1,000", "1000"),
        ("1 000", "1,000"),
        ("1\u202f000", "1000"),
        ("1.000", "1000"),
        ("1'000", "1,000"),
        ("12,34,567", "1,234,567"),
        ("0.50", "0.5"),
        (".5", "0.5"),
        ("42 %", "42 percent"),
        ("42%", "forty-two percent"),
        ("42", "**forty-two** of them"),
        ("3", "~three"),
        ("42 per cent", "42-percent"),
        ("٤٢٪", "42%"),
        ("４２％", "42 %"),
        ("1.2M", "1.2 million"),
        ("1.2 million", "1,200,000"),
        ("3k", "3,000"),
        ("$5 million", "$5,000,000"),
        ("US$5m", "$5 million"),
        ("5 million dollars", "$5m"),
        ("€3bn", "3 billion euros"),
        ("816 000 t", "816,000 tonnes"),
        ("1,000 MW", "1 GW"),
        ("42 km", "42,000 m"),
        ("90 minutes", "1.5 hours"),
        ("twelve", "12"),
        ("one hundred and five", "105"),
        ("two million", "2,000,000"),
        ("a dozen", "12"),
        ("10x", "10 times"),
        ("3×10^5", "300,000"),
        ("10⁶", "1 million"),
        ("1.2亿元", "120,000,000 yuan"),
        ("5 Mio. Euro", "€5 million"),
        ("−5.2 °C", "-5.2 °C"),
        ("2nd", "2nd"),
        ("1990s", "1990's"),
    ],
)
def test_one_quantity(left: str, right: str) -> None:
    assert only(left).same_quantity(only(right)), (only(left), only(right))
    assert only(right).same_quantity(only(left))


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("42", "1427"),
        ("7", "3"),
        ("5.2", "-5.2"),
        ("5 MW", "5 GW"),
        ("5 MW", "5 mW"),
        ("50%", "50"),
        ("50%", "50 percentage points"),
        ("$5", "€5"),
        ("50 million", "5.2 million"),
        ("1.5", "1.50.1"),
        ("1,234", "1.234"),
        ("2nd", "2"),
        ("1990s", "1990"),
        ("12 of 40", "12 of 400"),
        ("5 kg", "5 km"),
    ],
)
def test_different_quantities(left: str, right: str) -> None:
    assert not any(a.same_quantity(b) for a in parse(left)[-1:] for b in parse(right)[-1:])


def test_locale_of_the_language() -> None:
    assert only("1.234,5", "de").value == only("1,234.5", "en").value == Decimal("1234.5")
    assert only("3,5", "de").value == Decimal("3.5")
    assert only("1.000", "de").value == 1000
    assert only("1.000", "en").value == 1
    assert only("1,234", "de").value == Decimal("1.234")


@pytest.mark.parametrize(
    ("text", "ends"),
    [
        ("between five and six boats", [(5, "low"), (6, "high")]),
        ("5 to 6 boats", [(5, "low"), (6, "high")]),
        ("18–25 percent", [(18, "low"), (25, "high")]),
        ("$5–7 million", [(5_000_000, "low"), (7_000_000, "high")]),
        ("2012–13", [(2012, "low"), (2013, "high")]),
        ("from 1999 to 2014", [(1999, "low"), (2014, "high")]),
        ("twelve and thirteen men", [(12, ""), (13, "")]),
    ],
)
def test_ranges(text: str, ends: list[tuple[int, str]]) -> None:
    assert [(int(number.value), number.part) for number in parse(text)] == ends


def test_a_range_is_its_ends_and_no_single_number() -> None:
    low, high = parse("18 to 25 percent")
    assert low.unit == high.unit == "%"
    assert not any(only("25 percent").same_quantity(end) for end in (low, high))
    assert not any(only("21.5 percent").same_quantity(end) for end in (low, high))


@pytest.mark.parametrize(
    "text",
    [
        "COVID-19 and H1N1 and GPT-4 and B12",
        "a 5G phone, a 3D print and Fig. 3b",
        "see https://example.org/2024/12?x=3 and www.example.org/7",
        "doi:10.1234/abc.567 and 10.5555/12345678 and arXiv:1505.06067",
        "one of them, hundreds of them",
    ],
)
def test_names_and_addresses_hold_no_numbers(text: str) -> None:
    assert parse(text) == ()


def test_kinds() -> None:
    kinds = {
        number.text: number.kind for number in parse("In 2024. At 6:07 on 2024-05-01 a 2nd ratio of 1/3, mid-2020.")
    }
    assert kinds == {
        "2024": "year",
        "6:07": "time",
        "2024-05-01": "date",
        "2nd": "ordinal",
        "1/3": "ratio",
        "2020": "year",
    }


def test_lists_and_full_stops() -> None:
    assert [number.text for number in parse("1,2,3 and 2024.")] == ["1", "2", "3", "2024"]


@example("0$.0")
@given(st.text(alphabet=st.sampled_from("0123456789.,-–%$€ kMmgtoandfivetwenty−/:'\n "), max_size=80))
@settings(deadline=None)
def test_places_are_exact_and_disjoint(text: str) -> None:
    numbers = parse(text)
    assert all(text[number.start : number.end] == number.text != "" for number in numbers)
    assert all(left.end <= right.start for left, right in pairwise(numbers))


@given(st.text(max_size=120))
@settings(deadline=None)
def test_any_text(text: str) -> None:
    for number in parse(text):
        assert text[number.start : number.end] == number.text


@given(st.integers(1, 10**9))
def test_grouping_does_not_matter(value: int) -> None:
    assert only(f"{value:,} boats").same_quantity(only(f"{value} boats"))
    assert only(f"{value:,} boats".replace(",", " ")).same_quantity(only(f"{value} boats"))


_MARKS = "-–—.,;:!?()[]{}\"'“”‘’„«»/*_~+=<>|#&@^`\\…·•"


@given(st.text(st.one_of(st.sampled_from("aZé中\ud800 \n" + _MARKS), st.characters()), max_size=40))
def test_folded_words_are_apart_at_marks_and_white_space(text: str) -> None:
    apart = text.lower().translate(str.maketrans(dict.fromkeys(_MARKS, " ")))
    assert folded_words(text) == tuple(apart.split())


@pytest.mark.parametrize("text", ["one", "a million reasons", "one of a hundred and", "the Billion", "one and one"])
def test_a_scale_or_one_alone_is_no_number(text: str) -> None:
    assert parse(text) == ()
