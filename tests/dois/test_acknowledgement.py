from __future__ import annotations

import time

import pytest

from verification_pipeline.config import Acknowledgement
from verification_pipeline.dois.acknowledgement import may_remark, remarks

WORDS = Acknowledgement()


@pytest.mark.parametrize(
    "text",
    [
        "The study [1] (retracted 2025) claimed it.",
        "The paper was later retracted.",
        "a now-retracted journal paper [1]",
        "Marsh et al. [3] was retracted in 2020.",
        "which has since been retracted [2]",
        "The journal retracted it in 2010 [1].",
        "The authors retracted the paper [1].",
        "[1] Enzyme work. RETRACTED.",
        "RETRACTED: Enzymes in cells. https://example.org/1",
        "see the retraction notice [1]",
        "Since its retraction in 2019 nobody cites it [1].",
        "Following the retraction of the study [1], work stopped.",
        "This article was withdrawn by its authors [1].",
        "[2] Title (withdrawn)",
        "The preprint [1] has been withdrawn.",
        "The paper [1] appears to have been retracted.",
        "Although it was retracted in 2012, the study [1] is cited.",
        "[1] Marsh, A. (2010). Tides. Coastal Press. [Retracted]",
        "[1] Retracted: On tides. Coastal Press.",
        "[1] Marsh, A. On tides. **Retracted.**",
        "Retracted in 2020.",
        "Status: retracted",
        "The study [1] was ultimately retracted.",
        "The paper [1] had to be retracted.",
        "This led to the paper [1] being retracted.",
        "Die Studie [1] wurde inzwischen zurückgezogen.",
        "eine später zurückgezogene Studie [1]",
        "L'étude [1] a été rétractée en 2020.",
        "El artículo [1] fue retractado en 2019.",
        "Lo studio è stato ritrattato [1].",
        "Статья [1] была отозвана.",
        "该论文[1]已被撤稿。",
        "この論文[1]は撤回された",
    ],
)
def test_what_says_that_a_work_was_retracted(text: str) -> None:
    found = remarks(text, WORDS)
    assert found
    assert all(text[start:end] for start, end in found)


@pytest.mark.parametrize(
    "text",
    [
        "The paper was never retracted [1].",
        "It has not been retracted [1].",
        "The study hasn't been retracted [1].",
        "The study wasn’t retracted.",
        "The journal declined; the paper was not retracted.",
        "There was no retraction of the paper [1].",
        "non-retracted papers [1] and un-retracted ones",
        "The paper should be retracted [1].",
        "If the paper were retracted, trust would fall [1].",
        "Critics called for the paper to be retracted [1].",
        "Calls for a retraction of the study grew [1].",
        "Unlike the retracted Smith paper, this holds [1].",
        "The stadium has a retractable roof [1].",
        "Retracted wheels save fuel [1].",
        "The pilot landed with the wheels retracted and the flaps up [1].",
        "Retracting the paper was discussed [1].",
        "The witness retracted her statement [1].",
        "The authors retracted their claim that it works [1].",
        "The army retracted the order [1].",
        "The landing gear was retracted [1].",
        "The claws are retracted at rest [1].",
        "The cat retracted its claws [1].",
        "Troops were withdrawn from the valley [1].",
        "The offer was withdrawn in 2010 [1].",
        "Er hat sich aus der Studie zurückgezogen [1].",
        "Die Studie wurde nicht zurückgezogen [1].",
        "L'étude n'a jamais été rétractée [1].",
        "该论文未被撤稿[1]。",
    ],
)
def test_what_does_not(text: str) -> None:
    assert not remarks(text, WORDS)


@pytest.mark.parametrize(
    "text", ["retracted " * 20_000, "(was " * 30_000, "the paper " * 20_000 + "was retracted", ", but " * 30_000]
)
def test_hostile_text_is_linear(text: str) -> None:
    started = time.process_time()
    remarks(text, WORDS)
    assert time.process_time() - started < 10


@pytest.mark.parametrize(
    "word", ["RETRACTED", "Zurückgezogenen", "rétractées", "ritrattato", "Отозвана", "撤稿", "withdrawn"]
)
def test_a_text_with_one_of_the_words_gets_a_closer_look(word: str) -> None:
    assert may_remark(f"Seen: {word}.", WORDS)
    assert may_remark(f"Seen: {word.casefold()}.", WORDS)


def test_a_text_without_any_of_the_words_gets_none() -> None:
    assert not may_remark("The tide was measured in 2019, at £3 a day – as announced [1].", WORDS)


def test_letters_whose_case_is_odd_do_not_hide_a_word() -> None:
    assert may_remark("The paper was \u0131ngetrokken.", WORDS)


def test_a_word_that_is_an_alternation_is_always_looked_for() -> None:
    words = Acknowledgement(retracted=("pulled|scrapped",), withdrawn=(), nouns=())
    assert remarks("The paper was later scrapped.", words)
