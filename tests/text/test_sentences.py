from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.clock import least_seconds
from verification_pipeline.text.sentences import split


def parts(text: str, language: str | None = None) -> list[str]:
    return [text[start:end] for start, end in split(text, language)]


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("The device draws approx. 12 W at idle. Lamp no. 7 failed first (see Fig. 3b).", 2),
        ("Alder et al. measured the tide gauge. The gauge drifted by 2 mm.", 2),
        ("The tower is in zone B. Repairs end in May.", 2),
        ("J. K. Rowling wrote it. The U.S. Department of Trade said so.", 2),
        ("The noise is i.i.d. and white. See vol. 3 and Figs. 4 and 5 for more.", 2),
        ("Dr. Smith came at 5 p.m. on Monday. He left.", 2),
        ("It rose. iPhone sales fell. 12 boats sank. É certo. “Yes.” He left.", 6),
        ("Costs rose to 3.5 percent.  However, St. John's Inc. fell.", 2),
        ("Was it? It was! So what...", 3),
        ("(It was so.) Then it was not.", 2),
        ("See https://example.org/a?b=c.d for more. Done.", 2),
        ("1. First comes this. 2. Then that.", 2),
        ("One line of it\nand the next line. Then\nanother.", 2),
        ("", 0),
        ("   \n ", 0),
        ("...", 1),
    ],
)
def test_english(text: str, count: int) -> None:
    assert len(parts(text)) == count, parts(text)


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        ("de", "Die Mühle stammt aus dem Jahr 1911. Das Rad wurde 2014 ersetzt.", 2),
        ("de", "Am 3. Mai kam z. B. der 2. Zug. Dr. Müller ging.", 2),
        ("zh", "他来了。她走了！还有吗？「是的。」他说。", 5),
        ("ja", "彼は来た。彼女は去った。", 2),
        ("ru", "Поезд прибыл. Он ушёл. Это ул. Ленина.", 3),
        ("el", "Το τρένο έφτασε. Έφυγε; Ναι.", 3),
        ("ar", "وصل القطار. هل غادر؟ نعم.", 3),
        ("fr", "Il est venu. Elle a dit « oui. » Il est parti.", 3),
    ],
)
def test_other_languages(language: str, text: str, expected: int) -> None:
    assert len(parts(text, language)) == expected, parts(text, language)


def test_a_boundary_never_falls_between_a_stop_and_its_closing_mark() -> None:
    assert parts('He said "no." Then he left.') == ['He said "no."', "Then he left."]
    assert parts("**Bold claim.** Next one.") == ["**Bold claim.**", "Next one."]


@given(st.text(alphabet=st.sampled_from("aB1 .!?。…\n\"'()[]*-,:;éя中\t"), max_size=200))
@settings(deadline=None)
def test_offsets_cover_every_visible_character_in_order(text: str) -> None:
    ranges = split(text)
    covered = "".join(text[start:end] for start, end in ranges)
    assert "".join(covered.split()) == "".join(text.split())
    assert all(left[1] <= right[0] for left, right in pairwise(ranges))
    assert all(text[start:end] == text[start:end].strip() != "" for start, end in ranges)


@pytest.mark.parametrize("unit", ["窑炉达到九百度。", "窑炉", "x", "( ' \" ", "a. ", "It fell. ", "No. 7. "])
def test_time_is_linear(unit: str) -> None:
    def seconds(size: int) -> float:
        text = unit * (size // len(unit))
        return least_seconds(lambda: split(text))

    assert seconds(200_000) < 40 * max(seconds(20_000), 0.002)
