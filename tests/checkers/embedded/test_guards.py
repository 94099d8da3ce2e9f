from __future__ import annotations

import pytest

from tests.checkers.embedded.support import LEXICON, lexicon, measured
from verification_pipeline.checkers.embedded.guards import doubts
from verification_pipeline.checkers.embedded.rationale import rationale
from verification_pipeline.config import Embedded

RULES = Embedded()


def kinds(said, page, words=LEXICON, intact=5.0):
    return [doubt.kind for doubt in doubts(measured(said, page, words), intact, RULES)]


def test_a_true_copy_raises_no_doubt():
    text = "In 2004 the port of Lund shipped 1,200 tonnes of grain, which was not more than before."
    assert kinds(text, f"Nothing here. {text} Nothing there.") == []


@pytest.mark.parametrize(
    ("said", "page"),
    [
        ("The mine sold 42 tonnes of ore.", "The mine sold 41 tonnes of ore."),
        ("The mine sold 42 tonnes of ore.", "The mine sold 1427 tonnes of ore."),
        ("The mine sold 42 tonnes of ore.", "The mine sold 42 kg of ore."),
        (
            "The mine sold 42 tonnes of ore.",
            "The mine sold 57 tonnes of ore. The mill bought 42 tonnes of ore and coal.",
        ),
        (
            "Profits grew 42 % at the mine.",
            "Profits grew at the mine. It rained. A flood took a road with 42 % of bridges.",
        ),
    ],
)
def test_a_figure_that_does_not_stand_there_is_doubted(said, page):
    assert "figure" in kinds(said, page)


@pytest.mark.parametrize(
    "page",
    ["The mine sold $1.2 million of ore.", "The mine sold $1,200,000 of ore.", "The mine sold 1.2 million $ of ore."],
)
def test_the_same_quantity_in_another_form_is_not_doubted(page):
    assert "figure" not in kinds("The mine sold $1.2 million of ore.", page)


@pytest.mark.parametrize(
    ("said", "page"),
    [
        ("The gate did not open at noon.", "The gate did open at noon."),
        ("The gate opened at noon.", "The gate never opened at noon."),
    ],
)
def test_negation_on_one_side_is_doubted(said, page):
    assert "negation" in kinds(said, page)


def test_an_opposite_in_the_same_place_is_doubted_and_said():
    words = lexicon(opposites="rose/fell")
    found = doubts(measured("Exports rose in May.", "Exports fell in May.", words), 5.0, RULES)
    assert [(doubt.kind, doubt.word, doubt.against) for doubt in found] == [("opposite", "rose", True)]
    line = rationale(measured("Exports rose in May.", "Exports fell in May.", words), "unsupported", True, found)
    assert "opposite of 'rose'" in line


def test_an_opposite_beside_the_word_itself_is_not_doubted():
    words = lexicon(opposites="rose/fell")
    assert kinds("Exports rose in May.", "Exports rose in May after they fell in April.", words) == []


def test_a_name_that_the_source_lacks_is_doubted():
    assert "name" in kinds("The bridge of Malmberg was closed.", "The bridge was closed.")


def test_signs_of_a_change_are_doubted():
    assert kinds("The bridge was closed.", "The bridge was closed.", intact=RULES.intact_log_odds - 0.1) == ["wording"]


def test_the_rationale_names_what_is_missing():
    one = measured("The mine sold 42 tonnes to Norbotten.", "The mine sold ore.")
    line = rationale(one, "partially-supported", False, doubts(one, 5.0, RULES))
    assert "42 tonnes" in line
    assert "Norbotten" in line


def test_the_rationale_names_the_clause_that_is_missing():
    one = measured("The mine sold ore, because the furnace had burned down.", "The mine sold ore.")
    line = rationale(one, "partially-supported", False, doubts(one, 5.0, RULES))
    assert "furnace had burned down" in line


def test_a_source_about_something_else_is_told_only_where_it_lacks_the_words():
    far, near = (
        measured("Whales returned to the bay.", "A kiln cracked."),
        measured("The kiln cracked.", "A kiln cracked."),
    )
    assert "about something else" in rationale(far, "unsupported", False, (), irrelevant=True)
    assert "about something else" not in rationale(far, "unsupported", False, ())
    assert "about something else" not in rationale(near, "unsupported", False, (), irrelevant=True)


def test_the_rationale_is_one_line_for_any_claim():
    one = measured("So it goes", "Oil rose.")
    for verdict in ("supported", "partially-supported", "unsupported"):
        assert "\n" not in rationale(one, verdict, False, ())
