"""Two checkers in a row: the second reads only what the first abstained from (`embedded+openai`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from verification_pipeline.checkers.protocol import Checker, Item, NotChecked, Outcome, ReadBefore, Retriever
from verification_pipeline.keys import hash_of

ABSTAINED = ("low-confidence", "language")
"""Reasons of a first checker that could judge no better however often it were asked."""


@dataclass(frozen=True, slots=True)
class Cascade:
    """Asks `second` about the items on which `first` abstained. Every outcome names who gave it."""

    first: Checker
    second: Checker

    @property
    def name(self) -> str:
        """Both names."""
        return f"{self.first.name}+{self.second.name}"

    @property
    def identity(self) -> str:
        """Moves with either."""
        return hash_of("cascade", self.first.identity, self.second.identity)

    def check(self, items: Sequence[Item], retriever: Retriever) -> list[Outcome]:
        """One outcome an item, in the order of the items."""
        outcomes: list[Outcome] = [replace(one, checker=self.first.name) for one in self.first.check(items, retriever)]
        left = [n for n, one in enumerate(outcomes) if isinstance(one, NotChecked) and one.reason in ABSTAINED]
        if left:
            for n, answer in zip(left, self.second.check([items[n] for n in left], retriever), strict=True):
                before = ReadBefore(self.first.name, outcomes[n].confidence)
                outcomes[n] = replace(answer, checker=self.second.name, read_before=before)
        return outcomes
