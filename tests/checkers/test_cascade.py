from __future__ import annotations

from dataclasses import dataclass, field

from tests.builders import evidence, item
from verification_pipeline.checkers.cascade import Cascade
from verification_pipeline.checkers.grading import graded
from verification_pipeline.checkers.none import NoChecker
from verification_pipeline.checkers.protocol import Judgement, NotChecked
from verification_pipeline.checkers.retrieval import WordRetriever

ITEMS = [item(f"Claim number {number}.", evidence("1", "Text.")) for number in range(4)]
REASONS = ("low-confidence", None, "language", "no-text")


@dataclass
class First:
    name: str = "first"
    identity: str = "1"

    def check(self, items, retriever):
        return [
            NotChecked(one.pair.pair_id, reason, 0.4) if reason else Judgement(one.pair.pair_id, "unsupported", "No.")
            for one, reason in zip(items, REASONS, strict=True)
        ]


@dataclass
class Second:
    name: str = "second"
    identity: str = "2"
    asked: list[str] = field(default_factory=list)

    def check(self, items, retriever):
        self.asked += [one.pair.pair_id for one in items]
        return [Judgement(one.pair.pair_id, "unsupported", "Indeed no.") for one in items]


def test_the_second_reads_only_what_the_first_abstained_from():
    second = Second()
    checker = Cascade(First(), second)
    outcomes = checker.check(ITEMS, WordRetriever())
    assert second.asked == [ITEMS[0].pair.pair_id, ITEMS[2].pair.pair_id]
    assert [one.pair_id for one in outcomes] == [one.pair.pair_id for one in ITEMS]
    rows = [graded(one, outcome, checker.name) for one, outcome in zip(ITEMS, outcomes, strict=True)]
    assert [(row.first_checker, row.first_confidence) for row in rows] == [
        ("first", 0.4),
        (None, None),
        ("first", 0.4),
        (None, None),
    ]
    assert [row.checker for row in rows] == ["second", "first", "second", "first"]
    assert [row.not_checked_reason for row in rows] == [None, None, None, "no-text"]


def test_its_identity_moves_with_either():
    one = Cascade(First(), Second()).identity
    assert one != Cascade(First(identity="x"), Second()).identity
    assert one != Cascade(First(), Second(identity="x")).identity


def test_a_second_checker_that_reads_nothing_leaves_its_reason():
    outcomes = Cascade(First(), NoChecker()).check(ITEMS, WordRetriever())
    assert [one.reason for one in outcomes if isinstance(one, NotChecked)] == [
        "checker-none",
        "checker-none",
        "no-text",
    ]
