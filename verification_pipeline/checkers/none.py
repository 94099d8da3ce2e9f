"""The checker that reads nothing: every pair that triage did not pass stays unread, and says so."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from verification_pipeline.checkers.protocol import Item, NotChecked, Outcome, Retriever


@dataclass(frozen=True, slots=True)
class NoChecker:
    """Grades no pair."""

    name: str = "none"
    identity: str = "none"

    def check(self, items: Sequence[Item], retriever: Retriever) -> list[Outcome]:  # noqa: ARG002
        """Every item is not checked: checker-none."""
        return [NotChecked(item.pair.pair_id, "checker-none") for item in items]
