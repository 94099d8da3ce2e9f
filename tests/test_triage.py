from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from verification_pipeline.citations import SourceCatalogue, extract
from verification_pipeline.citations.strength import strong_markers
from verification_pipeline.config import Settings, Triage
from verification_pipeline.keys import document_key, pair_id, text_sha256
from verification_pipeline.records import Document, Evidence, Pair, Source
from verification_pipeline.tables import frame
from verification_pipeline.text.index import IndexedText
from verification_pipeline.text.numbers import parse
from verification_pipeline.triage import TriageRow, triage, uncited_numbers

_FILLER = "The bell rang at noon and the market closed at four. " * 30


def pair(claim: str, scope: str = "sentence", status: str = "bound") -> Pair:
    numbers = parse(claim)
    strong = strong_markers(claim, numbers, None, Settings().strong)
    return Pair(
        pair_id=pair_id("d", claim, "s", 0),
        document_key="d",
        pair_index=0,
        sentence=claim,
        sentence_start=0,
        sentence_end=len(claim),
        claim=claim,
        claim_spans=((0, len(claim)),),
        context=None,
        marker="[1]",
        n="1",
        note_id=None,
        target="s",
        source_key="s" if status != "dangling" else None,
        locator=None,
        scope=scope,
        status=status,
        reason=None,
        strong=bool(strong),
        strong_markers=strong,
        numbers=tuple(number.text for number in numbers),
    )


def evidence(text: str) -> dict[str, Evidence]:
    return {"s": Evidence(Source("s", "s"), IndexedText(text_sha256(text), text))}


def judge(claim: str, text: str, **fields: str) -> TriageRow:
    (row,) = triage([pair(claim, **fields)], evidence(text), Settings())
    if row.span is not None:
        assert text[row.span.start : row.span.end] == row.span.text
        assert row.span.text_sha256 == text_sha256(text)
    assert (row.outcome == "auto-passed") == (row.span is not None) == (row.rule is not None)
    assert (row.outcome == "needs-checker") == (row.refused_by is not None)
    return row


@pytest.mark.parametrize(
    ("claim", "text"),
    [
        ("The port handled 12 ships in 2020.", "In 2020 the port handled 12 ships."),
        (
            "In 2003, throughput at Halvor Terminal stood at 12,345 tonnes.",
            "Halvor Terminal reported throughput of 12345 t in 2003.",
        ),
        ("The line carries 1.2M riders a year.", "The line carries 1.2 million riders a year."),
        ("Between five and six boats sank.", "5 to 6 boats sank."),
        ("Humidity will fall to between 18 and 25 percent.", "Humidity will fall to 18 to 25 percent this afternoon."),
        ("Exports were 816 000 t in 2012–13.", "In the 2012-13 season exports were 816,000 tonnes."),
        (
            "Membership at Tarn Mill rose by 34% between 1999 and 2014.",
            "Between 1999 and 2014, membership at Tarn Mill rose by 34%.",
        ),
        ("Inspectors counted 7 turbine failures.", "Inspectors who came counted 7 turbine failures in total."),
        ("Forty-two percent of the gates failed.", "It is known that 42 % of the gates failed."),
        ("The tower was repaired in 1931.", _FILLER + "In 1931 the tower was repaired."),
        ("The report says that the mill opened its northern wing.", "The mill opened its northern wing."),
    ],
)
def test_one_place_that_says_it_all_passes(claim: str, text: str) -> None:
    row = judge(claim, text)
    assert row.outcome == "auto-passed", row.refused_by
    assert row.rule == ("numbers" if parse(claim) else "words")


@pytest.mark.parametrize(
    ("claim", "text", "guard"),
    [
        ("The port handled 42 ships.", "The port handled 1427 ships.", "number"),
        ("The port handled 7 ships.", "The port handled 3 ships.", "number"),
        (
            "The port earned 50 million.",
            "The port kept 150 ships and 50% of 250 staff and earned 5.2 million.",
            "part",
        ),
        ("The share rose by 42 %.", "The share fell by 42 %.", "direction"),
        ("The share rose by 42 %.", "The share rose by 42 % and fell again.", "direction"),
        ("The share fell by 42 %.", "The share did not fall by 42 %.", "direction"),
        ("The share of gas fell by 42 %.", "It is not true that the share of gas fell by 42 %.", "negation"),
        ("The tent weighs 2.4 kg.", "The stove weighs 2.4 kg. The tent weighs 3.1 kg.", "number"),
        ("12 of 40 gates failed.", "12 of 400 gates failed.", "number"),
        ("Humidity will fall to 21.5 percent.", "Humidity will fall to 18 to 25 percent.", "number"),
        ("Humidity fell to 25 percent.", "Humidity fell to 18 to 25 percent.", "range"),
        ("The plant yields 5 MW.", "The plant yields 5 GW.", "number"),
        ("The plant cost $5 million.", "The plant cost €5 million.", "unit"),
        ("The depot lost 5.2 degrees.", "The depot lost −5.2 degrees.", "number"),
        ("The port handled 12 ships in 2020.", "The port handled 12 ships in 2019.", "year"),
        (
            "The port handled 12 ships in 2020.",
            "The port handled 12 ships in 2019 and 14 ships in 2020.",
            "year",
        ),
        (
            "Kelpin Depot had 5 failures.",
            "Halvor Mill had 5 failures and Kelpin Depot had 7 failures.",
            "subject",
        ),
        (
            "Halvor Mill had 7 failures and Kelpin Depot had 5 failures.",
            "Halvor Mill had 5 failures and Kelpin Depot had 7 failures.",
            "number-order",
        ),
        ("The toll rose to 5 %.", "The toll rose by 5 %.", "preposition"),
        ("The mill ground 3 tonnes.", "The mill ground more than 3 tonnes.", "bound"),
        ("The mill will grind 3 tonnes.", "The mill may grind 3 tonnes.", "hedge"),
        ("The mill ground 3 tonnes.", "Officials denied that the mill ground 3 tonnes.", "reversal"),
        ("The mill ground 3 tonnes.", "It might be false that the mill ground 3 tonnes.", "reversal"),
        ("The mill ground 3 tonnes.", "Has the mill ground 3 tonnes?", "question"),
        ("The south pier closed on 3 May.", "The north pier closed on 3 May.", "direction"),
        ("The mill closed in 1966.", "The mill closed after 1966.", "preposition"),
        (
            "Paul Arden is a mayor of the bay in 1990.",
            "Paul Kelpin, born in Arden, is a mayor of the bay in 1990.",
            "entity",
        ),
        ("In 2004 Franklin formed a band.", "Paramore is a band from Franklin, formed in 2004.", "subject"),
        ("The gates failed in 1990.", "12 of 40 gates failed in 1990.", "part"),
        (
            "Shade lowers stream heat by 2 degrees.",
            "Shade lowers stream heat by 2 degrees in one of five reaches.",
            "part",
        ),
        ("Arden is the largest city by the sea.", "Arden is the third largest city by the sea.", "part"),
        ("Arden is the largest city by the sea.", "Arden is one of the largest city ports by the sea.", "part"),
        ("It has 3,000 seats in the hall.", "It has 3,000 seats in the hall.", "pronoun"),
        ("Numbers rose in 1999.", "Prices rose. In 1999 numbers were kept.", "scattered"),
    ],
)
def test_altered_facts_do_not_pass(claim: str, text: str, guard: str) -> None:
    row = judge(claim, _FILLER + text + " " + _FILLER)
    assert (row.outcome, row.refused_by) == ("needs-checker", guard)


@pytest.mark.parametrize(
    ("claim", "text"),
    [
        ("The alarm is disabled at night.", "The alarm is enabled at night."),
        ("The old mill by the river was not moved to the hill.", "The old mill by the river was moved to the hill."),
        ("The old mill by the river was moved to the hill.", "The old mill by the river was never moved to the hill."),
        (
            "The old mill by the river couldn't be moved to the hill.",
            "The old mill by the river could be moved to the hill.",
        ),
        ("Alice Smith sued Robert Jones over the old mill.", "Robert Jones sued Alice Smith over the old mill."),
        ("The council of Arden approved the bridge plan.", "The council of Belcor approved the bridge plan."),
        ("C# is a modern programming language.", "C is a modern programming language."),
        ("Ships bring the harbour coal and grain.", "The harbour brings ships. Coal and grain are burnt."),
        ("北部港口的装卸量大幅上升。", "北部港口的装卸量大幅下降。"),
        ("南部港口的码头已经关闭。", "北部港口的码头已经关闭。"),
        ("张三的公司收购了这家工厂。", "李四的公司收购了这家工厂。"),
        ("这座桥没有在去年开放。", "这座桥在去年开放。"),
        ("Der Hafen im Norden ist nicht offen für Schiffe.", "Der Hafen im Norden ist offen für Schiffe."),
    ],
)
def test_negation_antonym_and_entity_guards_of_the_word_rule(claim: str, text: str) -> None:
    assert judge(claim, text).outcome == "needs-checker"


def test_words_in_scripts_without_spaces() -> None:
    assert judge("这座桥在河上由石匠建造。", "据记载，这座桥在河上由石匠建造。").outcome == "auto-passed"
    assert judge("港口去年处理了12艘船。", "去年港口处理了12艘船。").outcome == "auto-passed"
    assert judge("港口去年处理了12艘船。", "去年港口处理了13艘船。").refused_by == "number"


def test_a_negation_sign_inside_a_word_negates_nothing() -> None:
    assert judge("这座桥由石匠建造，设计独到。", "这座桥特别，由石匠建造，设计独到。").outcome == "auto-passed"
    assert judge("这座桥由石匠建造，设计独到。", "这座桥不由石匠建造，设计独到。").refused_by == "negation"


def test_only_the_clauses_that_say_it_are_read_in_a_script_without_spaces() -> None:
    claim = "这座桥由石匠建造，设计独到。"
    assert judge(claim, "城墙不能通行，这座桥由石匠建造，设计独到，桥上没有栏杆。").outcome == "auto-passed"
    assert judge(claim, "这座城的桥不多，这座桥由石匠建造，设计独到。").outcome == "auto-passed"
    assert judge(claim, "没有证据表明，这座桥由石匠建造，设计独到。").refused_by == "negation"
    assert judge(claim, "这座桥由石匠建造，设计独到，这是谣言。").refused_by == "reversal"
    assert judge("港口去年处理了12艘船。", "该城有3座桥，港口去年处理了12艘船。").outcome == "auto-passed"
    assert judge("港口去年处理了12艘船。", "港口去年处理了12艘船，3艘船。").outcome == "auto-passed"


@pytest.mark.parametrize("opening", ["In addition, ", "For example, the report says that ", "However, ", "Therefore, "])
def test_words_that_only_tie_a_claim_to_the_one_before_need_not_stand_in_the_source(opening: str) -> None:
    text = "the old mill by the river was moved to the hill."
    assert judge(f"{opening}{text}", f"Then {text}").outcome == "auto-passed"
    assert judge(f"{opening}it was moved to the hill by the river.", text).refused_by == "pronoun"
    assert judge("此外，这座桥由石匠建造。", "这座桥由石匠建造。").outcome == "auto-passed"
    assert judge("Außerdem, die Mühle am Fluss steht.", "Die Mühle am Fluss steht.").outcome == "auto-passed"


def test_word_lists_may_be_empty() -> None:
    text = "The old mill by the river was moved."
    bare = Settings(triage=Triage(stop_words=(), neutral_words=(), connectives=()))
    assert triage([pair(text)], evidence(text), bare)[0].outcome == "auto-passed"


def test_where_sentences_end() -> None:
    claim = "The old mill by the river was moved to the hill."
    for before in ("Prices may fall.", "Trains were late (by 5 %).", "They denied it.11–23 ", 'They said "perhaps."'):
        row = judge(claim, f"{before}{claim}Others may follow.")
        assert row.span is not None, row.refused_by
        assert row.span.text == claim
    month = "The old mill by the river was closed on Jan. 18 by the council."
    row = judge(month, f"{_FILLER}{month} {_FILLER}")
    assert row.span is not None, row.refused_by
    assert row.span.text == month


def test_a_long_claim_may_stand_in_two_neighbouring_sentences() -> None:
    claim = "The council approved the stone bridge near Arden and financed a coastal ferry with two regional banks."
    first = "In spring the council approved the stone bridge near Arden."
    second = "It financed a coastal ferry with two regional banks."
    row = judge(claim, f"{_FILLER}{first} {second} {_FILLER}")
    assert row.span is not None
    assert row.span.text == f"{first} {second}"
    assert judge(claim, f"{_FILLER}{second} {first} {_FILLER}").outcome == "needs-checker"
    assert judge(claim, f"{first} The bell rang at noon. {second}").outcome == "needs-checker"
    assert judge(claim, f"{first} It never financed a coastal ferry with two regional banks.").span is None


def test_strong_claims_never_pass_on_words() -> None:
    text = "Exports of grain increased in the northern harbour."
    assert judge(text, text).refused_by == "strong"
    always = Settings(triage=Triage(strong="always-read"))
    number = "The port handled 12 ships."
    assert triage([pair(number)], evidence(number), always)[0].refused_by == "strong"


def test_elliptical_clauses_are_not_guessed() -> None:
    text = "The mill closed in 1966."
    assert judge("and closed the mill in 1966.", text, scope="clause").refused_by == "elliptical-clause"
    assert judge("while the mill closed in 1966.", text, scope="clause").outcome == "auto-passed"


def test_outcomes_of_unbound_pairs_and_order() -> None:
    pairs = [
        pair("A dangling claim.", status="dangling"),
        pair("No text here.", status="uncheckable"),
        pair("The port handled 12 ships."),
    ]
    rows = triage(pairs, evidence("The port handled 12 ships."), Settings())
    assert [row.outcome for row in rows] == ["dangling", "uncheckable", "auto-passed"]
    assert [row.pair_id for row in rows] == [p.pair_id for p in pairs]
    assert triage(pairs[2:], {}, Settings())[0].outcome == "uncheckable"
    assert frame("triage", rows).height == 3


def test_numbers_of_uncited_sentences() -> None:
    text = "The port handled 12 ships [1]. It has 1,400 berths. It is 33 years old. In 1999 it had 7 cranes. `x = 5`"
    document = Document(document_key("c", "d"), "c", "d", text, text_sha256(text))
    source = Source("s", "1", "d")
    body = "The port handled 12 ships. It has 1400 berths since 1999. Seven cranes stand there."
    citations = extract(document, [source], SourceCatalogue.build(()), Settings())
    found = uncited_numbers(document, citations, {"s": Evidence(source, IndexedText("x", body))}, Settings())
    assert [number.number for number in found] == ["33 years"]
    assert all(text[number.start : number.end] == number.number for number in found)
    assert frame("uncited_numbers", found).height == 1


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("One board sold one million tickets.", []),
        ("One hundred boards sold one ticket. One", ["1,000,000"]),
        ("", ["1,000,000"]),
    ],
)
def test_one_begins_a_number_only_before_a_word_of_a_number(body: str, found: list[str]) -> None:
    text = "It sold 1,000,000 tickets."
    document = Document(document_key("c", "d"), "c", "d", text, text_sha256(text))
    source = Source("s", "1", "d")
    citations = extract(document, [source], SourceCatalogue.build(()), Settings())
    numbers = uncited_numbers(document, citations, {"s": Evidence(source, IndexedText("x", body))}, Settings())
    assert [number.number for number in numbers] == found


_FACTS = [
    "Halvor Mill",
    "Kelpin Depot",
    "reported",
    "throughput",
    "of",
    "12",
    "13",
    "tonnes",
    "in",
    "2003",
    "2004",
    "rose",
    "fell",
    "by",
    "not",
]


@given(
    st.lists(st.sampled_from(_FACTS), min_size=3, max_size=12),
    st.lists(st.sampled_from(_FACTS), min_size=3, max_size=30),
)
@settings(deadline=None, max_examples=200)
def test_a_pass_always_holds_every_number_and_name_of_the_claim(claim: list[str], body: list[str]) -> None:
    said, text = " ".join(claim) + ".", " ".join(body) + "."
    row = judge(said, text)
    if row.span is not None:
        assert all(any(n.same_quantity(m) for m in parse(row.span.text)) for n in parse(said))
        assert all(
            word in row.span.text for word in claim if word in ("Halvor Mill", "Kelpin Depot", "rose", "fell", "not")
        )


@given(st.text(max_size=200), st.text(max_size=400))
@settings(deadline=None, max_examples=100)
def test_any_text(claim: str, text: str) -> None:
    judge(claim, text)
