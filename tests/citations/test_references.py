from __future__ import annotations

import pytest

from verification_pipeline.citations.references import is_list_name
from verification_pipeline.config import Settings

from .conftest import Extract, source, targets

_ENTRIES = "[1] Harbour log. https://example.org/1\n[2] Weather diary. https://example.org/2\n"


@pytest.mark.parametrize(
    "heading",
    [
        "## Sources",
        "### References",
        "## 7. References",
        "# VII. Works cited",
        "## Works Cited:",
        "**Sources**",
        "**Sources:**",
        "Sources:",
        "References",
        "References\n==========",
        "## Bibliography",
        "## Notes",
        "## Quellen",
        "## Références",
        "## 参考文献",
        "## Литература",
        "## Sources and further reading",
        "## 📚 Sources",
    ],
)
@pytest.mark.parametrize("gap", ["\n", "\n\n"])
def test_headings(extracted: Extract, heading: str, gap: str) -> None:
    citations = extracted(f"Bees came [2].\n\n{heading}{gap}{_ENTRIES}", listed=False)
    assert targets(citations) == ["s2"]
    assert [reference.n for reference in citations.references] == ["1", "2"]


@pytest.mark.parametrize(
    "heading", ["## Sources of error", "## Resources we lack", "## Reference frames", "## Notes on method"]
)
def test_body_headings_are_no_lists(extracted: Extract, heading: str) -> None:
    citations = extracted(
        f"Bees came [2].\n\n{heading}\n\nIt rained in the north [1].\n\n## Sources\n\n{_ENTRIES}", listed=False
    )
    assert targets(citations) == ["s2", "s1"]


@pytest.mark.parametrize(
    "entries",
    [
        "[1] Harbour log. https://example.org/1\n[2] Weather diary. https://example.org/2",
        "1. Harbour log. https://example.org/1\n2. Weather diary. https://example.org/2",
        "1) Harbour log. https://example.org/1\n2) Weather diary. https://example.org/2",
        "1. Harbour log. https://example.org/1\n1. Weather diary. https://example.org/2",
        "- [1] Harbour log, https://example.org/1.\n- [2] Weather diary, https://example.org/2.",
        "* **[1]** [Harbour log](https://example.org/1)\n* **[2]** [Weather diary](https://example.org/2)",
        '[1]: https://example.org/1 "Harbour log"\n[2]: https://example.org/2 "Weather diary"',
        "[1]: Harbour log https://example.org/1\n[2]: Weather diary https://example.org/2",
        "\\[1] Harbour log https://example.org/1\\\n\\[2] Weather diary https://example.org/2\\",
        "| # | Title | Address |\n|---|---|---|\n| 1 | Harbour log | https://example.org/1 |"
        "\n| 2 | Weather diary | <https://example.org/2> |",
        "[1]\nHarbour log. https://example.org/1\n\n[2]\nWeather diary. https://example.org/2",
        "[1] Harbour log.\n    https://example.org/1\n[2] Weather diary,\n    kept by the port.\n    https://example.org/2",
        "[1] Harbour log. <https://example.org/1>\n\n[2] Weather diary. <https://example.org/2>",
        "[1] Harbour log\n[2] Weather diary",
        "[1] https://example.org/1 – Harbour log\n[2] https://example.org/2 – Weather diary",
        "> [1] Harbour log. https://example.org/1\n> [2] Weather diary. https://example.org/2",
        "[^1]: Harbour log. https://example.org/1\n[^2]: Weather diary. https://example.org/2",
        "【1】 Harbour log. https://example.org/1\n【2】 Weather diary. https://example.org/2",
    ],
)
def test_entry_shapes(extracted: Extract, entries: str) -> None:
    citations = extracted(f"Bees came [2]. Ants left [1].\n\n## Sources\n\n{entries}\n", listed=False)
    assert targets(citations) == ["s2", "s1"]
    assert [reference.n for reference in citations.references] == ["1", "2"]


@pytest.mark.parametrize(
    ("written", "address"),
    [
        ("https://example.org/wiki/Mill_(grinding).", "https://example.org/wiki/Mill_(grinding)"),
        ("(https://example.org/wiki/Mill_(grinding))", "https://example.org/wiki/Mill_(grinding)"),
        ("https://example.org/map/-1.3,4.2,10/wind.", "https://example.org/map/-1.3,4.2,10/wind"),
        ("<https://example.org/a b.pdf>", "https://example.org/a b.pdf"),
        ("[t](<https://example.org/a b.pdf>)", "https://example.org/a b.pdf"),
        ("[t](https://example.org/Mill_(grinding))", "https://example.org/Mill_(grinding)"),
        ("**https://example.org/x**", "https://example.org/x"),
    ],
)
def test_addresses(extracted: Extract, written: str, address: str) -> None:
    own = [source("a", url=address, title="Something else")]
    citations = extracted(f"Bees came [1].\n\n## Sources\n\n[1] Title {written}\n", own, listed=False)
    assert [reference.url for reference in citations.references] == [address]
    assert targets(citations) == ["a"]


@pytest.mark.parametrize(
    ("listed", "given"),
    [
        ("http://example.org/story", "https://example.org/story"),
        ("https://www.Example.org/story/", "https://example.org/story"),
        ("https://example.org/story?utm_source=feed", "https://example.org/story"),
        ("https://example.org/story#top", "https://example.org/story"),
        ("https://doi.org/10.1234/AbC.5", "https://publisher.example/10.1234/abc.5"),
    ],
)
def test_addresses_are_compared_in_canonical_form(extracted: Extract, listed: str, given: str) -> None:
    own = [source("a", url=given, doi="10.1234/abc.5" if "10.1234" in given else None)]
    assert targets(extracted(f"Bees came [1].\n\n## Sources\n\n[1] T. {listed}\n", own, listed=False)) == ["a"]


def test_order_of_keys_doi_address_title(extracted: Extract) -> None:
    own = [
        source("by-title", title="Harbour log"),
        source("by-url", url="https://example.org/1"),
        source("by-doi", doi="10.1234/abc"),
    ]
    entry = "[1] Harbour log. https://example.org/1 doi:10.1234/abc"
    for kept, by in ((own, "doi"), (own[:2], "url"), (own[:1], "title")):
        citations = extracted(f"Bees came [1].\n\n## Sources\n\n{entry}\n", kept, listed=False)
        assert (citations.references[0].resolved_by, targets(citations)) == (by, [f"by-{by}"])


def test_a_number_defined_twice_is_a_conflict_and_binds_nothing(extracted: Extract) -> None:
    text = f"Bees came [1]. Ants left [2].\n\n## Sources\n\n{_ENTRIES}[1] Bee census. https://example.org/3\n"
    citations = extracted(text, listed=False)
    assert [(pair.target, pair.status) for pair in citations.pairs] == [("1", "dangling"), ("s2", "bound")]
    assert [bool(reference.conflict) for reference in citations.references] == [True, False, True]


def test_an_ambiguous_title_is_a_conflict(extracted: Extract) -> None:
    own = [source("a", title="Harbour log"), source("b", title="Harbour log")]
    citations = extracted("Bees came [1].\n\n## Sources\n\n[1] Harbour log\n", own, listed=False)
    assert citations.pairs[0].status == "dangling"
    assert citations.references[0].conflict == "several sources have this title"


def test_text_after_a_list_is_read(extracted: Extract) -> None:
    text = f"Bees came [1].\n\n## Sources\n\n{_ENTRIES}\n## Appendix\n\nAnts left [2].\n"
    assert targets(extracted(text, listed=False)) == ["s1", "s2"]
    text = f"Bees came [1].\n\n## Sources\n\n{_ENTRIES}\nThe appendix follows. Ants left the plots [2].\n"
    assert targets(extracted(text, listed=False)) == ["s1", "s2"]


def test_a_list_in_the_middle_and_none_at_all(extracted: Extract) -> None:
    text = f"## Sources\n\n{_ENTRIES}\n# Report\n\nBees came [1].\n"
    assert targets(extracted(text, listed=False)) == ["s1"]
    citations = extracted(f"Bees came [1].\n\n{_ENTRIES}", listed=False)
    assert targets(citations) == ["s1"]
    assert len(citations.references) == 2
    assert [p.status for p in extracted("Bees came [1].", listed=False).pairs] == ["dangling"]


def test_prose_lines_that_begin_with_numbers_are_no_list(extracted: Extract) -> None:
    text = (
        "Steps:\n\n1. Look at [the log](https://example.org/1) [1].\n2. Go to https://example.org/9 and read [2].\n\n"
        "[[3]](https://example.org/3)\n\nThe end [4].\n"
    )
    citations = extracted(text, [source(str(n), url=f"https://example.org/{n}") for n in range(1, 5)], listed=False)
    assert citations.references == ()
    assert set(targets(citations)) == {"1", "2", "3", "4"}


def test_own_rows_win_over_the_list_and_shared_ids_need_neither(extracted: Extract) -> None:
    own = [source("x", n=1, url="https://example.org/9")]
    assert targets(extracted(f"Bees came [1].\n\n## Sources\n\n{_ENTRIES}", own, listed=False)) == ["x"]
    shared = [source("1", None), source("7", None, url="https://example.org/1")]
    assert targets(extracted("Bees came [1].", [], shared, listed=False)) == ["1"]
    assert targets(extracted(f"Bees came [1].\n\n## Sources\n\n{_ENTRIES}", [], shared, listed=False)) == ["7"]
    assert [p.status for p in extracted("Bees came [7].", own, shared, listed=False).pairs] == ["dangling"]


def test_footnotes_are_their_own_numbering(extracted: Extract) -> None:
    text = "Bees came.[^1] Ants left.[^a]\n\n[^1]: Weather diary, https://example.org/2\n[^a]: Bee census,\n    https://example.org/3\n"
    assert targets(extracted(text, listed=False)) == ["s2", "s3"]
    text = "Bees came.[^1]\n\n[^1]: See [2], p. 4.\n"
    assert targets(extracted(text)) == ["s2"]


def test_names_of_lists() -> None:
    settings = Settings().citations
    assert is_list_name("**7. References:**", settings) == (True, False)
    assert is_list_name("Notes", settings) == (True, True)
    assert is_list_name("Sources of error", settings) == (False, False)


@pytest.mark.parametrize(
    ("text", "targets_wanted"),
    [
        ("A cent fell\n[[1]](https://example.org/1). Bees came.", ["s1"]),
        ("A cent fell\n[1](https://example.org/1). Bees came.", ["s1"]),
        ("Bees came [1](https://example.org/1).\n[2](https://example.org/2) says so.", ["s1", "s2"]),
        ("Bees came\n[1](https://example.org/1). Ants\n[2](https://example.org/2). Wasps too.", ["s1", "s2"]),
        ("> Bees came to all plots\n> [[3]](https://example.org/3), then left.", ["s3"]),
        (
            "Bees came.\n\n[1](https://example.org/1) reports ants.\n\n[2](https://example.org/2) does not.",
            ["s1", "s2"],
        ),
    ],
)
def test_a_line_that_goes_on_with_a_paragraph_is_no_list(
    extracted: Extract, text: str, targets_wanted: list[str]
) -> None:
    citations = extracted(text, listed=False)
    assert targets(citations) == targets_wanted
    assert not citations.references
    assert citations.prose[-1][1] == len(text)


def test_a_numbered_line_in_the_middle_of_a_sentence_is_no_list(extracted: Extract) -> None:
    text = "The census of bees stands at\n[1] https://example.org/1 and in a drawer.\n"
    assert not extracted(text, listed=False).references


@pytest.mark.parametrize("above", ["Bees came [1].", "Bees came [1]:", "# Bees [1]", "| bees | [1] |\n|---|---|"])
def test_a_list_right_below_the_text_stays_one(extracted: Extract, above: str) -> None:
    text = f"{above}\n[1] Harbour log. https://example.org/1\n[2] Weather diary. https://example.org/2"
    citations = extracted(text, listed=False)
    assert [entry.n for entry in citations.references] == ["1", "2"]
    assert [row.text for row in citations.markers] == ["[1]"]
