from __future__ import annotations

import pytest

from .conftest import Extract, refused, targets


@pytest.mark.parametrize(
    ("marker", "expected"),
    [
        ("[7]", ["s7"]),
        ("[1, 2]", ["s1", "s2"]),
        ("[1; 3]", ["s1", "s3"]),
        ("[3-5]", ["s3", "s4", "s5"]),
        ("[3–5]", ["s3", "s4", "s5"]),
        ("[5]–[7]", ["s5", "s6", "s7"]),
        ("[1,2,5-7]", ["s1", "s2", "s5", "s6", "s7"]),
        ("[1][2]", ["s1", "s2"]),
        ("[1] [2]", ["s1", "s2"]),
        (r"\[7\]", ["s7"]),
        ("[1, p. 5]", ["s1"]),
        ("[1:12]", ["s1"]),
        ("[see 3]", ["s3"]),
        ("[refs. 1, 2]", ["s1", "s2"]),
        ("[[7]](https://example.org/7)", ["s7"]),
        ("[7](https://example.org/7)", ["s7"]),
        ("[(7)](https://example.org/7)", ["s7"]),
        ("[^7]", ["s7"]),
        ("<sup>7</sup>", ["s7"]),
        ("<sup>[1,2]</sup>", ["s1", "s2"]),
        ("【7】", ["s7"]),
        ("【7†L3-L9】", ["s7"]),
        ("［7］", ["s7"]),
        ("[cite: 1, 2]", ["s1", "s2"]),
        ("[citation:3]", ["s3"]),
        ("[[s7]]", ["s7"]),
        ("[[s7|the tables]]", ["s7"]),
        ("[[s7#tides]]", ["s7"]),
        ("[[S7]]", ["s7"]),
    ],
)
def test_styles(extracted: Extract, marker: str, expected: list[str]) -> None:
    for text in (f"Bees came to the plots {marker}. It rained.", f"Bees came to the plots. {marker} It rained."):
        citations = extracted(text)
        assert targets(citations) == expected
        assert {pair.claim for pair in citations.pairs} == {"Bees came to the plots."}
        assert all(row.text == marker or row.text in marker for row in citations.markers)


def test_superscript_digits_cite_behind_a_word_and_are_powers_behind_a_unit(extracted: Extract) -> None:
    citations = extracted("The field of 5 km² was mown.⁷ Energy is mc² and 10⁶ and x² and 5 cm⁻¹.")
    assert targets(citations) == ["s7"]
    assert [text for text, _ in refused(citations)] == ["²", "⁶", "²", "¹"] or len(refused(citations)) == 5


def test_locators_are_kept(extracted: Extract) -> None:
    citations = extracted("Bees came [1, p. 5]. Ants left [2:12]. Wasps too [[s3#autumn]]. Rain fell 【4†L1-L2】.")
    assert [pair.locator for pair in citations.pairs] == ["p. 5", "12", "autumn", "L1-L2"]


@pytest.mark.parametrize(
    ("text", "token"),
    [
        ("All scores lie in [0, 1] by design.", "[0, 1]"),
        ("The value array[1] is read.", "[1]"),
        ("The value a[[1]] is read.", "[[1]]"),
        ("The call reads args[2] = 3 here.", "[2]"),
        ("We insert it in Eq. [3] here.", "[3]"),
        ("As [2019] UKSC 5 holds.", "[2019]"),
        ("Mixed in a ratio of [1:3] by weight.", "[1:3]"),
        ("The dates [1990-2000] are covered.", "[1990-2000]"),
    ],
)
def test_what_only_looks_like_a_marker_is_a_row_with_a_reason(extracted: Extract, text: str, token: str) -> None:
    citations = extracted(f"{text} Bees came [3]. Ants came [4].")
    assert targets(citations) == ["s3", "s4"]
    assert {row for row, _ in refused(citations)} == {token}
    assert all(reason for _, reason in refused(citations))


def test_code_boxes_dates_and_editorial_brackets_are_no_markers(extracted: Extract) -> None:
    text = (
        "Use `grid[2]` so.\n\n```python\nrow = table[1]\n```\n\n    indented[4]\n\n- [ ] open\n- [x] done\n\n"
        'On [2024-05-01] it said [sic] "[T]he end" [Online] [citation needed] ![plan [5]](plan.png).'
    )
    citations = extracted(text)
    assert citations.pairs == ()
    assert all(row.status == "not-a-citation" for row in citations.markers)


def test_attached_numbers_cite_where_that_is_the_documents_style(extracted: Extract) -> None:
    citations = extracted("Trams shook in the quake[1]. The table[2] fell. New data[3] came. Rails bent[4].")
    assert targets(citations) == ["s1", "s2", "s3", "s4"]


def test_a_year_in_brackets_is_no_number(extracted: Extract) -> None:
    citations = extracted("Alder et al. [2011] measured the gauge [1]. It drifted [2].")
    assert targets(citations) == ["s1", "s2"]
    assert [row.status for row in citations.markers] == ["unsupported-style", "bound", "bound"]


def test_unlisted_and_large_numbers_dangle(extracted: Extract) -> None:
    citations = extracted("Bees came [99]. Ants left [1001].")
    assert [(pair.status, pair.target) for pair in citations.pairs] == [("dangling", "99"), ("dangling", "1001")]


def test_leaked_tokens_are_reported_and_no_part_of_the_claim(extracted: Extract) -> None:
    text = (
        "The weir was rebuilt \ue200cite\ue202turn0search5\ue202turn0search15\ue201. It is wide [1]."
        " It is low :contentReference[oaicite:3]{index=3}. It is old citeturn1view2."
    )
    citations = extracted(text)
    assert targets(citations) == ["s1"]
    assert [row.status for row in citations.markers] == ["unsupported-style", "bound", *["unsupported-style"] * 2]
    assert all("cite" not in pair.claim and "turn" not in pair.claim for pair in citations.pairs)


@pytest.mark.parametrize("token", ["\ue200", "\ue200cite", "\ue200cite\ue202turn0search5"])
def test_a_leaked_token_that_is_never_closed_hides_no_citation(extracted: Extract, token: str) -> None:
    rows = extracted(f"The weir {token} was rebuilt [1]. It is wide [2] and \ue201 deep [3].").markers
    assert [row.text for row in rows] == [token, "[1]", "[2]", "\ue201", "[3]"]
    assert [row.status for row in rows].count("bound") == 3


def test_numbers_in_parentheses_only_where_the_list_is_numbered_so(extracted: Extract) -> None:
    listed = "\n\n## References\n\n(1) Harbour log. https://example.org/1\n(2) Weather diary. https://example.org/2\n"
    text = "Bees came (1). Ants left (2). See Article 5(1) and (2), too."
    assert targets(extracted(text + listed, listed=False)) == ["s1", "s2"]
    assert targets(extracted("Bees came (1). Ants left [2].")) == ["s2"]


def test_author_and_year_bind_through_the_list_where_it_has_one_such_entry(extracted: Extract) -> None:
    listed = (
        "\n\n## References\n\nAlder, J. and Birch, K. (2011). Tide gauges. https://example.org/4\n\n"
        "Cedar, P. (2012). Locks. https://example.org/5\n\nCedar, P. (2012). Piers. https://example.org/6\n"
    )
    text = (
        "Gauges drift (Alder & Birch, 2011). Alder and Birch (2011) saw it. Locks leak (Cedar, 2012; Alder, 2011)."
        " Nobody knows (Dogwood et al., 1999)."
    )
    citations = extracted(text + listed, listed=False)
    assert targets(citations) == ["s4", "s4", "s4"]
    unsupported = [row.target for row in citations.markers if row.status == "unsupported-style"]
    assert unsupported == ["Cedar 2012", "Dogwood et al. 1999"]


def test_a_link_whose_address_is_a_source_cites_it_and_keeps_its_words(extracted: Extract) -> None:
    citations = extracted(
        "Bees came, says the [harbour log](http://www.example.org/1/?utm_source=x). See [this](https://no.example)."
    )
    assert [(pair.claim, pair.target) for pair in citations.pairs] == [("Bees came, says the harbour log.", "s1")]
    assert len(citations.markers) == 1


@pytest.mark.parametrize(
    "formula", ["$a_{[1]}$", "$w[1]$", "$$\nv[1] = 2\n$$", r"\(k[1]\)", r"\[ h_{[1]} \]", "$E[[1]]$"]
)
def test_mathematics_cites_nothing(extracted: Extract, formula: str) -> None:
    citations = extracted(f"Bees obey {formula} as shown here [2].")
    assert targets(citations) == ["s2"]
    assert {reason for _, reason in refused(citations)} == {"formula"}


@pytest.mark.parametrize(
    "text",
    [
        "Honey costs $5 [1] and wax $6 [2].",
        "Honey at US$5 [1], wax at A$6 [2].",
        "Honey is dear [1], $$ or $$$ in some towns and wax too [2], $$$ and more.",
        "$PATH names the hives [1], as $HOME does [2].",
        "Prices fell to $4 [1]; in A$ they rose [2] to $",
    ],
)
def test_prices_are_no_mathematics(extracted: Extract, text: str) -> None:
    assert targets(extracted(text)) == ["s1", "s2"]


def test_a_place_and_a_year_cite_nobody(extracted: Extract) -> None:
    citations = extracted("The fair (Berlin, 2020) drew bees [1]. So it was (Alder, 2011).")
    assert refused(citations) == [("(Berlin, 2020)", "place and year")]
    assert [row.text for row in citations.markers if row.status == "unsupported-style"] == ["(Alder, 2011)"]


def test_an_author_named_like_a_place_is_one_if_the_list_knows_it(extracted: Extract) -> None:
    text = "Bees dance (Berlin, 2020).\n\n## References\n\nBerlin, I. (2020). Bee census. https://example.org/3\n"
    assert targets(extracted(text, listed=False)) == ["s3"]
