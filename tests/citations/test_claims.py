from __future__ import annotations

import pytest

from .conftest import Extract, cited, source


def test_marker_before_and_behind_the_full_stop(extracted: Extract) -> None:
    text = "Bees came [1]. Ants left.[2] Wasps stayed. [3] Moths flew.[4][5] It rained."
    assert cited(extracted(text)) == [
        ("Bees came.", "s1"),
        ("Ants left.", "s2"),
        ("Wasps stayed.", "s3"),
        ("Moths flew.", "s4"),
        ("Moths flew.", "s5"),
    ]


def test_a_marker_behind_a_closing_quotation_mark_ends_the_sentence(extracted: Extract) -> None:
    citations = extracted('Critics saw "a film of great promise"[1] Others called it dull.[2]')
    assert cited(citations) == [('Critics saw "a film of great promise"', "s1"), ("Others called it dull.", "s2")]


def test_a_marker_that_is_the_subject_of_the_next_sentence(extracted: Extract) -> None:
    citations = extracted("Theory came late. [1] links it to practice. Others [2] do not.")
    assert cited(citations) == [("links it to practice.", "s1"), ("Others do not.", "s2")]


def test_a_year_in_brackets_behind_et_al_ends_nothing(extracted: Extract) -> None:
    citations = extracted("Alder et al. [2011] measured the gauge [1]. It drifted [2].")
    assert [pair.sentence for pair in citations.pairs] == [
        "Alder et al. [2011] measured the gauge [1].",
        "It drifted [2].",
    ]


def test_sentences_inside_parentheses(extracted: Extract) -> None:
    citations = extracted("（注：基准价已被移除[1]。本文引用公开数据[2]。）")
    assert [pair.target for pair in citations.pairs] == ["s1", "s2"]
    assert len({pair.claim for pair in citations.pairs}) == 2


def test_sentences_are_exact_slices_with_their_markers(extracted: Extract) -> None:
    text = "Bees **came** to [plots](https://no.example) [1]. Ants left. [2]"
    citations = extracted(text)
    assert [pair.sentence for pair in citations.pairs] == [
        "Bees **came** to [plots](https://no.example) [1].",
        "Ants left. [2]",
    ]
    assert [pair.claim for pair in citations.pairs] == ["Bees came to plots.", "Ants left."]


def test_clauses_with_different_sources(extracted: Extract) -> None:
    citations = extracted("The lock opened in 1830 [1], while the pier was built of oak [2].")
    assert cited(citations) == [("The lock opened in 1830", "s1"), ("while the pier was built of oak.", "s2")]
    assert {pair.scope for pair in citations.pairs} == {"clause"}
    assert {pair.sentence_start for pair in citations.pairs} == {0}
    citations = extracted("Studies by Smith [1] and Jones [2] agree on the tides of the bay.")
    assert {pair.claim for pair in citations.pairs} == {"Studies by Smith and Jones agree on the tides of the bay."}


def test_clause_of_footnotes(extracted: Extract) -> None:
    citations = extracted("The lock opened in 1830,[^1] while the pier was built of oak.[^2]")
    assert cited(citations) == [("The lock opened in 1830", "s1"), ("while the pier was built of oak.", "s2")]


def test_the_same_marker_twice_is_one_pair_with_two_markers(extracted: Extract) -> None:
    citations = extracted("Bees came here [1] and went away [1].")
    assert [pair.target for pair in citations.pairs] == ["s1"]
    assert [row.pair_id for row in citations.markers] == [citations.pairs[0].pair_id] * 2
    citations = extracted("Bees came. [1] Ants left. Bees came. [1]")
    assert len({pair.pair_id for pair in citations.pairs}) == 2


def test_table_cells_carry_row_and_column(extracted: Extract) -> None:
    text = (
        "| Depot | Opened | Trams | Source |\n|---|---|---|---|\n| North | 1902 [1] | 40 [2] | |\n"
        "| South | 1931 | 25 | [3] |\n"
    )
    citations = extracted(text)
    assert cited(citations) == [
        ("North, Opened: 1902", "s1"),
        ("North, Trams: 40", "s2"),
        ("Depot: South; Opened: 1931; Trams: 25", "s3"),
    ]
    assert [pair.scope for pair in citations.pairs] == ["cell", "cell", "row"]
    assert [text[start:end] for start, end in citations.pairs[0].claim_spans] == ["North", "Opened", "1902"]


def test_a_sentence_in_a_cell_is_read_as_prose(extracted: Extract) -> None:
    text = "| Finding | Note |\n|---|---|\n| Bees came to all of the northern plots [1] | checked |\n"
    assert cited(extracted(text)) == [("Bees came to all of the northern plots", "s1")]


def test_list_items_and_their_continuation_lines(extracted: Extract) -> None:
    text = "## Plots\n\nWho came:\n\n- Bees\n  from the hill [1]\n- Ants [2]\n    - of two kinds [3]\n"
    citations = extracted(text)
    assert cited(citations) == [("Bees from the hill", "s1"), ("Ants", "s2"), ("of two kinds", "s3")]
    assert [pair.context for pair in citations.pairs] == ["Plots > Who came:", "Plots > Who came:", "Plots > Ants"]


def test_a_marker_on_its_own_line_covers_the_paragraph(extracted: Extract) -> None:
    citations = extracted("Bees came. Ants left.\n[1]\n\nIt rained. It stopped.\n\n[2]\n")
    assert cited(citations) == [("Bees came. Ants left.", "s1"), ("It rained. It stopped.", "s2")]
    assert {pair.scope for pair in citations.pairs} == {"paragraph"}
    citations = extracted("Bees came. Ants left. [1]")
    assert cited(citations) == [("Ants left.", "s1")]


def test_hard_wrapped_lines_and_headings(extracted: Extract) -> None:
    citations = extracted("# Report\n\n## Bees\n\nBees came to the\nplots of the north\n[1]. Ants left\n[2].\n")
    assert cited(citations) == [("Bees came to the plots of the north.", "s1"), ("Ants left.", "s2")]
    assert citations.pairs[0].context == "Report > Bees"


@pytest.mark.parametrize(
    "text",
    [
        "他来了[1]。她走了。[2]",
        "彼は来た[1]。彼女は去った。[2]",
        "Το τρένο έφτασε [1]. Έφυγε αμέσως. [2]",
        "Поезд прибыл [1]. Он ушёл. [2]",
        "وصل القطار [1]. ثم غادر. [2]",
        "Der Zug kam z. B. am 3. Mai [1]. Er fuhr ab. [2]",
        "it rose [1]. iPhone sales fell. [2]",
        "The U.S. Department came [1]. 12 boats sank. [2]",
        "“Yes,” he said [1]. É certo. [2]",
    ],
)
def test_scripts_and_sentence_starts(extracted: Extract, text: str) -> None:
    language = "de" if text.startswith("Der") else None
    citations = extracted(text, language=language)
    assert [pair.target for pair in citations.pairs] == ["s1", "s2"]
    assert len({pair.claim for pair in citations.pairs}) == 2


def test_self_citation_and_unusable_sources(extracted: Extract) -> None:
    own = [
        source("a", url="https://example.org/report/"),
        source("b", status="empty"),
        source("c", status="unreadable"),
        source("d", status="unreadable", reason="too-large: 9 MB"),
        source("e", status="challenge-page"),
    ]
    text = "A [[a]]. B [[b]]. C [[c]]. D [[d]]. E [[e]]. F [[f]]."
    citations = extracted(text, own, url="http://www.example.org/report", listed=False)
    assert [(pair.status, pair.reason) for pair in citations.pairs[:5]] == [
        ("uncheckable", "self-citation"),
        ("uncheckable", "no-text"),
        ("uncheckable", "unreadable"),
        ("uncheckable", "too-large"),
        ("uncheckable", "no-text"),
    ]
    assert citations.pairs[5].status == "dangling"
    own_note = source("report", None)
    assert [p.reason for p in extracted("A [[report]].", [], [own_note], listed=False).pairs] == ["self-citation"]


def test_wikilinks_by_id_alias_and_anchor(extracted: Extract) -> None:
    shared = [
        source("2024-05-01", None),
        source("men's-shed; --", None),
        source("deep-note", None, aliases=("The Deep",)),
    ]
    text = "A [[2024-05-01]]. B [[men's-shed; --|shed]]. C [[The deep#sea]]. D [[Deep-Note]]. E | [[deep-note\\|x]] |"
    citations = extracted(text, [], shared, listed=False)
    assert [p.target for p in citations.pairs] == [
        "2024-05-01",
        "men's-shed; --",
        "deep-note",
        "deep-note",
        "deep-note",
    ]
    assert citations.pairs[2].locator == "sea"
    assert citations.pairs[0].note_id == "2024-05-01"


def test_pair_ids_survive_an_edit_elsewhere(extracted: Extract) -> None:
    before = extracted("Bees came [1]. Ants left [2].").pairs
    after = extracted("# New\n\nIt rained. **Bees**   came [1].\n\nAnts left. [2]").pairs
    assert [pair.pair_id for pair in before] == [pair.pair_id for pair in after]


def test_strong_markers_and_numbers(extracted: Extract) -> None:
    citations = extracted("Sales grew by 42 % to $1.2 million [1]. Exports increased [2]. The fellow came [3].")
    assert citations.pairs[0].numbers == ("42 %", "$1.2 million")
    assert citations.pairs[0].strong_markers[:2] == ("grew", "42 %")
    assert [pair.strong for pair in citations.pairs] == [True, True, False]


def test_front_matter_and_lists_are_no_prose(extracted: Extract) -> None:
    text = "---\ntitle: Log [9]\n---\n# Tides\n\nThe tide rose [1]. `code[2]`\n"
    citations = extracted(text, body_start=text.index("# Tides"))
    assert [pair.target for pair in citations.pairs] == ["s1"]
    spoken = "".join(text[start:end] for start, end in citations.prose if end <= len(text))
    assert "title" not in spoken
    assert "The tide rose [1]." in spoken
    assert all(end <= text.index("code[2]") + 10 for _, end in citations.prose)
