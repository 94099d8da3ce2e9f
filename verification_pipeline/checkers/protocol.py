"""The contract between the pipeline and a checker: items in, one outcome an item out.

No I/O, no prompts, no thresholds here. A checker never raises for a single item: what it could not judge is an
outcome with a reason. It may raise CheckerError when it cannot work at all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from verification_pipeline.records import Document, Evidence, Pair
from verification_pipeline.tables import Span

Verdict = Literal["supported", "partially-supported", "unsupported", "wrong-source"]

NOT_CHECKED_REASONS = (
    "not-selected",
    "checker-none",
    "low-confidence",
    "language",
    "budget",
    "pending",
    "no-text",
    "self-citation",
    "evidence-not-in-source",
    "invalid-answer",
    "missing-answer",
    "provider-error",
    "circuit-open",
    "too-large",
    "unreadable",
)
OPEN_REASONS = ("pending", "budget", "provider-error", "circuit-open")
"""Reasons that are taken up again the next night; all others are final until a key changes."""


@dataclass(frozen=True, slots=True)
class Item:
    """A pair to judge. `evidence` is the cited source; `own` are all usable sources of the same document."""

    pair: Pair
    document: Document
    evidence: Evidence
    own: Mapping[str, Evidence]


@dataclass(frozen=True, slots=True)
class ReadBefore:
    """The checker that read a pair first and abstained, and how sure it was."""

    checker: str
    confidence: float | None


@dataclass(frozen=True, slots=True)
class Judgement:
    """A verdict. A span is required for every verdict but a plain unsupported."""

    pair_id: str
    verdict: Verdict
    rationale: str
    span: Span | None = None
    contradicted: bool = False
    correct_source_key: str | None = None
    confidence: float | None = None
    model: str | None = None
    prompt_version: str | None = None
    request_key: str | None = None
    read_before: ReadBefore | None = None
    checker: str | None = None
    """Who of several gave it; None: the one that was asked."""


@dataclass(frozen=True, slots=True)
class NotChecked:
    """No verdict, and why (one of NOT_CHECKED_REASONS)."""

    pair_id: str
    reason: str
    confidence: float | None = None
    request_key: str | None = None
    rationale: str | None = None
    read_before: ReadBefore | None = None
    checker: str | None = None


Outcome = Judgement | NotChecked


@dataclass(frozen=True, slots=True)
class Passage:
    """A passage of a source that may hold a claim: its span, and the weighted share of the claim's words in it."""

    span: Span
    score: float


class Retriever(Protocol):
    """Finds passages in the sources of an item's document."""

    def passages(self, claim: str, evidence: Evidence, limit: int) -> list[Passage]:
        """The best passages of one source for a claim, best first, at most `limit`."""

    def elsewhere(self, item: Item, limit: int) -> list[Passage]:
        """The best passages of the document's other sources, best first, at most one a source."""


@dataclass(frozen=True, slots=True)
class Run:
    """The run on whose account a checker works: one budget, and what `recheck` asks again (all that is older)."""

    id: str
    started_at: float
    """Seconds since the epoch."""
    recheck: bool = False


class Checker(Protocol):
    """A kind of checker."""

    @property
    def name(self) -> str:
        """What receipts call it."""

    @property
    def identity(self) -> str:
        """Hash of everything that can change an answer: the checker component of a fingerprint."""

    def check(self, items: Sequence[Item], retriever: Retriever) -> list[Outcome]:
        """One outcome an item, in the order of the items."""
