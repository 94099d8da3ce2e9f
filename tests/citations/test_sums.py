"""What holds for every document, however broken: nothing vanishes, offsets slice, time stays linear."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.clock import least_seconds
from verification_pipeline.citations import SourceCatalogue, count_marker_like, extract
from verification_pipeline.config import Settings
from verification_pipeline.keys import document_key, text_sha256
from verification_pipeline.records import Citations, Document
from verification_pipeline.tables import frame

from .conftest import LIST, NINE

_PIECES = [
    "Bees came to the plots",
    "Sales rose by 42 %",
    "他来了",
    "It fell",
    " ",
    "\n",
    "\n\n",
    ". ",
    "。",
    "; ",
    ", while ",
    "**",
    "_",
    "`",
    "```\n",
    "# ",
    "## Sources\n",
    "- ",
    "1. ",
    "> ",
    "| a | b |\n|---|---|\n| c [1] | [2] |\n",
    "[1]",
    "[2, 3]",
    "[4-6]",
    "[99]",
    "[^1]",
    "[^1]: note https://example.org/1\n",
    "[[s1]]",
    "[[s2|x]]",
    "[[nope]]",
    "[7](https://example.org/7)",
    "【8】",
    "¹²",
    "<sup>3</sup>",
    "[1]: https://example.org/1\n",
    "[1] Harbour log. https://example.org/1\n",
    "(Alder, 2011)",
    "Alder et al. [2011]",
    "\\[5\\]",
    "[",
    "]",
    "(",
    ")",
    "<",
    ">",
    "![x [1]](y)",
    "\ue200cite\ue202turn0search1\ue201",
    "\u2028",
    "\r\n",
    "\t",
    "\x00",
    "é",
    "😀",
    "---\n",
    "a[1]",
    "[0, 1]",
    "$x_1$",
]


def _extract(text: str) -> Citations:
    document = Document(document_key("c", "d"), "c", "d", text, text_sha256(text))
    return extract(document, NINE, SourceCatalogue.build(()), Settings())


def _holds(text: str, citations: Citations) -> None:
    pairs = {pair.pair_id for pair in citations.pairs}
    assert len(pairs) == len(citations.pairs)
    naming = [row for row in citations.markers if row.status in ("bound", "dangling")]
    assert {row.pair_id for row in naming} == pairs
    assert all(row.pair_id is None for row in citations.markers if row not in naming)
    assert count_marker_like(text, citations.prose) <= len(citations.markers)
    assert all(text[row.start : row.end] == row.text for row in citations.markers)
    assert [row.marker_index for row in citations.markers] == list(range(len(citations.markers)))
    assert all(text[pair.sentence_start : pair.sentence_end] == pair.sentence for pair in citations.pairs)
    assert all(0 <= start < end <= len(text) for pair in citations.pairs for start, end in pair.claim_spans)
    assert all(0 <= start < end <= len(text) for start, end in citations.prose)
    assert all(left[1] <= right[0] for left, right in zip(citations.prose, citations.prose[1:], strict=False))
    assert all(text[entry.start : entry.end] == entry.entry for entry in citations.references)
    frame("markers", citations.markers)
    frame("pairs", citations.pairs)
    frame("references", citations.references)


@given(st.lists(st.sampled_from(_PIECES), max_size=40).map("".join))
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_any_mixture_of_pieces(text: str) -> None:
    _holds(text, _extract(text))


@given(st.data())
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_mutated_documents(data: st.DataObject) -> None:
    text = (
        "# Bees\n\nBees came to 12 plots [1]. Ants left.[2] While it rained [3], moths flew [4].\n\n- Wasps [[s5]]\n\n"
        "| a | b |\n|---|---|\n| c [6] | d [7] |\n\n> Said so.[^n]\n\n[^n]: See https://example.org/8" + LIST
    )
    for _ in range(data.draw(st.integers(1, 6))):
        at = data.draw(st.integers(0, len(text)))
        cut = data.draw(st.integers(0, 12))
        text = text[:at] + data.draw(st.sampled_from(_PIECES) | st.text(max_size=4)) + text[at + cut :]
    text = text.encode("utf-8", "replace").decode()
    _holds(text, _extract(text))


@given(st.text(max_size=300))
@settings(max_examples=60, deadline=None)
def test_any_text(text: str) -> None:
    text = text.encode("utf-8", "replace").decode()
    _holds(text, _extract(text))


def test_stray_backticks_far_apart_in_one_endless_line_are_counted_as_they_are_read() -> None:
    text = "It rained ` on. " + "Bees came to the plots [1]. " * 500 + "It fell ` on. Ants left [2]."
    citations = _extract(text)
    assert [row.text for row in citations.markers] == ["[2]"]
    assert count_marker_like(text, citations.prose) == 1


@pytest.mark.parametrize(
    "unit",
    [
        "The kiln reached 900 degrees [1]. ",
        "[1]",
        "[1] ",
        "窑炉达到九百度[1]。",
        "a ",
        "A",
        "(",
        "[",
        "> ",
        "- [1]\n",
        "[1]: https://example.org/1\n",
        "[^1]: x\n\n",
        "| a [1] | b |\n",
        "Alder (2011) ",
        "1 ",
        "**a",
        "<sup>1</sup>",
    ],
)
def test_time_is_linear(unit: str) -> None:
    def seconds(size: int) -> float:
        text = unit * (size // len(unit))
        return least_seconds(lambda: _extract(text))

    assert seconds(80_000) < 40 * max(seconds(8_000), 0.004)


@pytest.mark.parametrize("unit", ["`", "`a``b```c", "![[", "![a[", "](((", "<!--", "<a ", "[[", "](<a", "http://"])
def test_the_census_is_linear(unit: str) -> None:
    text = unit * (60_000 // len(unit))
    assert least_seconds(lambda: count_marker_like(text, [(0, len(text))])) < 2
