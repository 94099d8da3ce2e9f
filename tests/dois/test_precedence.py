"""Every row of the precedence table, by its number; 19 and 20 are in `test_sweep` and `test_online`."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verification_pipeline.dois.precedence import REVERSED, Decision, Notice, decide, kind_of, reconciled

DOI = "10.5555/paper"


def notice(
    nature: str, year: int | None = 2020, *reasons: str, register: str = "retraction-watch", **fields: object
) -> Notice:
    day = date(year, 6, 1) if year else None
    doi = f"10.5555/{nature.lower().replace(' ', '-')}.{year}.{register}"
    made = Notice(register, nature, day, day, doi, f"https://doi.org/{doi}", frozenset(reasons))
    return replace(made, **fields)  # type: ignore[arg-type]


def status(*notices: Notice, doi: str = DOI, **options: object) -> Decision:
    return decide(reconciled(notices), doi=doi, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("nature", "flag"),
    [("Retraction", None), ("removal", None), ("partial_retraction", "partial"), ("withdrawal", "withdrawn")],
)
def test_row_1_what_retracts(nature: str, flag: str | None) -> None:
    decision = status(notice(nature, register="crossref", witness="publisher"))
    assert decision.status == "retracted"
    assert decision.date == date(2020, 6, 1)
    assert flag is None or flag in decision.flags


def test_row_1_a_temporary_removal_is_flagged() -> None:
    assert "temporary" in status(notice("Retraction", 2020, "temporary removal")).flags


def test_row_1_a_whole_retraction_outweighs_a_partial_one() -> None:
    decision = status(
        notice("partial_retraction", 2018, register="crossref"), notice("retraction", 2020, register="crossref")
    )
    assert decision.status == "retracted"
    assert "partial" not in decision.flags


@pytest.mark.parametrize("earlier", ["Expression of concern", "Correction"])
def test_row_2_then_retraction(earlier: str) -> None:
    decision = status(notice(earlier, 2018, "updated to retraction"), notice("Retraction", 2020))
    assert (decision.status, decision.date) == ("retracted", date(2020, 6, 1))


def test_row_3_a_later_correction_does_not_unretract() -> None:
    decision = status(notice("Retraction", 2018), notice("Correction", 2020))
    assert (decision.status, decision.date) == ("retracted", date(2018, 6, 1))


def test_row_4_a_later_reinstatement_does() -> None:
    decision = status(notice("Retraction", 2018), notice("Reinstatement", 2020))
    assert (decision.status, decision.flags) == ("ok", ("reinstated",))


def test_row_5_reinstatement_alone() -> None:
    assert status(notice("Reinstatement")).status == "ok"
    assert "reinstated" in status(notice("Reinstatement", None)).flags


@pytest.mark.parametrize(
    ("nature", "expected"), [("Retraction", "retracted"), ("Expression of concern", "expression-of-concern")]
)
def test_row_6_after_a_reinstatement(nature: str, expected: str) -> None:
    decision = status(notice("Reinstatement", 2018), notice(nature, 2020))
    assert decision.status == expected
    assert decision.date == date(2020, 6, 1)
    assert "reinstated" in decision.flags


@pytest.mark.parametrize(("retracted", "reinstated"), [(None, 2020), (2018, None), (None, None), (2020, 2020)])
def test_row_7_undated_or_same_day_clears_nothing(retracted: int | None, reinstated: int | None) -> None:
    decision = status(notice("Retraction", retracted), notice("Reinstatement", reinstated))
    assert decision.status == "retracted"
    assert "review" in decision.flags


def test_row_8_concern_updated_to_correction() -> None:
    decision = status(notice("Expression of concern", 2018, "updated to correction"), notice("Correction", 2020))
    assert (decision.status, decision.date) == ("corrected", date(2020, 6, 1))


def test_row_8_not_by_a_correction_before_the_concern() -> None:
    decision = status(notice("Expression of concern", 2020, "updated to correction"), notice("Correction", 2018))
    assert decision.status == "expression-of-concern"


def test_row_9_concern_and_correction_without_the_link() -> None:
    assert status(notice("Expression of concern", 2018), notice("Correction", 2020)).status == "expression-of-concern"


def test_row_10_concern_only() -> None:
    decision = status(notice("expression_of_concern", register="crossref"))
    assert (decision.status, decision.date) == ("expression-of-concern", date(2020, 6, 1))


@pytest.mark.parametrize(
    "nature",
    ["Correction", "corrigendum", "erratum", "Erratum", "err", "corrected-article", "addendum", "clarification"],
)
def test_row_11_corrections(nature: str) -> None:
    assert status(notice(nature, register="crossref")).status == "corrected"


@pytest.mark.parametrize(
    ("nature", "flag"),
    [("new_version", "newer_version"), ("new_edition", "newer_edition"), ("publisher-note", "publisher_note")],
)
def test_row_12_versions_and_notes(nature: str, flag: str) -> None:
    assert status(notice(nature, register="crossref")) == Decision("ok", flags=(flag,))


def test_row_13_an_unknown_type_is_flagged() -> None:
    assert status(notice("blessing", register="crossref")) == Decision("ok", flags=("unclassified_notice",))
    assert "unclassified_notice" in status(notice("blessing"), notice("Retraction")).flags


@pytest.mark.parametrize(("nature", "expected"), [("Reinstatement", "ok"), ("Retraction", "retracted")])
def test_row_14_retract_and_replace_as_retraction_watch_says(nature: str, expected: str) -> None:
    own = notice(nature, 2020, "retract and replace", notice_doi=DOI)
    publisher = notice("retraction", 2020, register="crossref", witness="publisher", notice_doi=DOI)
    decision = status(own, publisher)
    assert decision.status == expected
    assert "replaced" in decision.flags


def test_row_15_cochrane_withdrawals_are_superseded() -> None:
    review = "10.1002/14651858.cd000001.pub2"
    publisher = notice("withdrawal", register="crossref", witness="publisher")
    outdated = notice("Retraction", 2020, "withdrawn as out of date")
    assert status(publisher, doi=review).status == "corrected"
    assert "superseded" in status(publisher, doi=review).flags
    assert status(outdated, publisher, doi=review).status == "corrected"
    assert (
        status(notice("Retraction", 2020, "withdrawn as out of date", "retract and replace"), doi=review).status
        == "corrected"
    )
    assert (
        status(notice("Retraction", 2020, "withdrawn as out of date", "error in data"), doi=review).status
        == "retracted"
    )
    assert status(publisher).status == "retracted"


def test_row_16_a_notice_is_no_retracted_paper() -> None:
    assert status(is_notice=True) == Decision("ok", flags=("is_notice",))


def test_row_17_a_reversed_link_is_no_notice() -> None:
    reversed_link = notice("retraction", 2020, REVERSED, register="crossref", witness="publisher")
    assert status(reversed_link, is_notice=True) == Decision("ok", flags=("is_notice",))


def test_row_18_openalex_alone_is_unconfirmed() -> None:
    flag = notice("is_retracted", None, register="openalex")
    alone = status(flag)
    assert (alone.status, alone.flags) == ("unavailable", ("unconfirmed_flag",))
    assert status(flag, notice("Retraction in", 2020, register="pubmed")).status == "retracted"


def test_row_21_only_the_title_or_a_comment() -> None:
    titled = status(sign="retracted")
    assert (titled.status, titled.flags, titled.date) == ("retracted", ("title_only",), None)
    assert status(sign="withdrawn").flags == ("title_only", "withdrawn")
    flagged = status(notice("is_retracted", None, register="openalex"), sign="retracted")
    assert (flagged.status, flagged.flags) == ("retracted", ("title_only",))
    known = status(notice("Expression of concern"), sign="retracted")
    assert known.status == "expression-of-concern"
    assert known.disagreement == "title: retracted"
    assert status(notice("Reinstatement"), sign="retracted").status == "ok"


def test_retraction_watch_dates_the_event() -> None:
    publisher = notice("retraction", 2019, register="crossref", witness="publisher")
    assert status(publisher, notice("Retraction", 2020)).date == date(2020, 6, 1)


def test_retraction_watch_names_the_nature_of_a_notice_that_others_call_a_retraction() -> None:
    own = notice("Correction", 2004, notice_doi="10.5555/same")
    pubmed = notice("Retraction in", 2004, register="pubmed", notice_doi="10.5555/same")
    assert status(own, pubmed).status == "corrected"


def test_a_publishers_date_never_reopens_what_was_reinstated() -> None:
    own = [notice("Retraction", 2018), notice("Reinstatement", 2020)]
    assert status(*own, notice("retraction", 2019, register="crossref")).status == "ok"
    assert status(*own, notice("retraction", None, register="pubmed")).status == "ok"
    assert status(*own, notice("retraction", 2022, register="crossref")).status == "retracted"


@pytest.mark.parametrize(
    ("fields", "flag"),
    [
        ({"work_date": date(2020, 6, 1)}, "suspect"),
        ({"since": date(2019, 1, 1)}, "suspect"),
        ({"notice_doi": DOI, "key": f"doi:{DOI}"}, "self_notice"),
        ({"reasons": frozenset({"date of article and/or notice unknown"})}, "estimated"),
    ],
)
def test_doubts_about_a_notice_are_flags(fields: dict[str, object], flag: str) -> None:
    assert flag in status(notice("Retraction", **fields)).flags  # type: ignore[arg-type]


def test_types_are_folded() -> None:
    spellings = ("Expression of concern", "expression_of_concern", "expression-of-concern", "EXPRESSION OF CONCERN")
    assert {kind_of(spelling) for spelling in spellings} == {"concern"}
    assert kind_of("retration") == "retraction"


REGISTERS = (("retraction-watch", ""), ("crossref", "retraction-watch"), ("crossref", "publisher"), ("pubmed", ""))
NATURES = (
    "Retraction",
    "Correction",
    "Expression of concern",
    "Reinstatement",
    "partial_retraction",
    "withdrawal",
    "new_version",
)


@st.composite
def notices(draw: st.DrawFn) -> list[Notice]:
    made = []
    for number in range(draw(st.integers(0, 6))):
        day = draw(st.none() | st.dates(date(2000, 1, 1), date(2025, 1, 1)))
        name, witness = draw(st.sampled_from(REGISTERS))
        reasons = draw(st.sets(st.sampled_from(["updated to correction", "retract and replace", "error in data"])))
        doi = draw(st.sampled_from([None, DOI, "10.5555/n.1", f"10.5555/n.{number + 2}"]))
        nature = draw(st.sampled_from(NATURES))
        made.append(Notice(name, nature, day, day, doi, doi, frozenset(reasons), witness=witness))
    return made


@given(notices(), st.randoms(use_true_random=False))
def test_the_order_of_rows_does_not_matter(rows: list[Notice], chance: Random) -> None:
    shuffled = list(rows)
    chance.shuffle(shuffled)
    assert status(*rows) == status(*shuffled)


def test_notices_that_differ_in_their_reasons_alone_are_told_apart() -> None:
    plain = Notice("retraction-watch", "Retraction", notice_doi="10.5555/n.1")
    replaced = replace(plain, reasons=frozenset({"retract and replace", "updated to correction"}))
    assert status(plain, replaced) == status(replaced, plain)


@given(notices())
def test_a_retraction_by_retraction_watch_after_all_else_retracts(rows: list[Notice]) -> None:
    last = notice("Retraction", 2026, notice_doi="10.5555/last")
    assert status(*rows, last).status == "retracted"


@given(notices())
def test_a_reinstatement_by_retraction_watch_clears_only_what_is_dated(rows: list[Notice]) -> None:
    decision = status(*rows, notice("Reinstatement", 2026, notice_doi="10.5555/last"))
    assert "reinstated" in decision.flags
    if all(one.date for one in rows):
        assert decision.status == "ok"
    elif decision.status == "retracted":
        assert "review" in decision.flags


@given(notices())
def test_a_type_nobody_knows_is_flagged_and_changes_nothing(rows: list[Notice]) -> None:
    odd = notice("blessing", 2024, notice_doi="10.5555/odd")
    plain, with_odd = status(*rows), status(*rows, odd)
    assert with_odd.status == plain.status
    assert set(with_odd.flags) == {*plain.flags, "unclassified_notice"}
