"""What a run ends with: documents by state, pairs by outcome, and what was not checked, for a person and as JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

import polars as pl

from verification_pipeline.store import Store

if TYPE_CHECKING:
    from verification_pipeline.checkers.llm.money import Spent

_OPEN = ("pending", "budget", "provider-error", "circuit-open")


@dataclass(frozen=True, slots=True)
class Summary:
    """Counts over the documents of some corpora. `pairs` = auto_passed + checked + not_checked + dangling."""

    documents: int
    passed: int
    failed: int
    not_verified: int
    unreadable: int
    pairs: int
    auto_passed: int
    checked: int
    not_checked: int
    dangling: int
    verdicts: dict[str, int]
    not_checked_reasons: dict[str, int]
    quotes: dict[str, int]
    works: dict[str, int]
    problems: int

    @property
    def complete(self) -> bool:
        """Whether nothing was left open that another run would take up."""
        return not any(self.not_checked_reasons.get(reason) for reason in _OPEN)

    def as_json(self) -> dict[str, Any]:
        """The summary as a JSON object."""
        return {**asdict(self), "complete": self.complete}


def summarise(store: Store, corpora: Collection[str]) -> Summary:
    """Count what the store holds for the named corpora."""
    documents = store.read_all("documents", ["document_key", "corpus", "status"])
    documents = documents.filter(pl.col("corpus").is_in(list(corpora)))

    def mine(name: str, *columns: str) -> pl.DataFrame:
        return store.read_all(name, ["document_key", *columns]).join(documents, on="document_key", how="semi")

    states = _count(mine("receipts", "state", "current").filter(pl.col("current")), "state")
    outcomes = _count(mine("triage", "outcome"), "outcome")
    verdicts = mine("verdicts", "checked", "verdict", "not_checked_reason")
    checked = verdicts.filter(pl.col("checked"))
    unread = verdicts.filter(~pl.col("checked"))
    statuses = store.read("doi_statuses").filter(pl.col("valid_to").is_null())
    works = mine("doi_mentions", "work_id").join(statuses.select("work_id", "status"), on="work_id", how="left")
    problems = store.read("problems").filter(pl.col("corpus").is_in(list(corpora)))
    return Summary(
        documents=documents.height,
        passed=states["passed"],
        failed=states["failed"],
        not_verified=states["not-verified"],
        unreadable=documents.filter(pl.col("status") != "ok").height,
        pairs=sum(outcomes.values()),
        auto_passed=outcomes["auto-passed"],
        checked=checked.height,
        not_checked=unread.height,
        dangling=outcomes["dangling"],
        verdicts=dict(sorted(_count(checked, "verdict").items())),
        not_checked_reasons=dict(sorted(_count(unread, "not_checked_reason").items())),
        quotes=dict(sorted(_count(mine("quotes", "status"), "status").items())),
        works=dict(sorted(_count(works.with_columns(pl.col("status").fill_null("unavailable")), "status").items())),
        problems=problems.height,
    )


def spending(store: Store, run_id: str, since: datetime) -> list[Spent]:
    """What a run paid models: for what it sent, and for what came back since it began. Nothing where none was asked."""
    folder = store.root / "llm"
    if not folder.is_dir():
        return []
    from verification_pipeline.checkers.llm import money  # slow to load, and only stores that asked a model need it
    from verification_pipeline.checkers.llm.ledger import Ledger

    with Ledger(folder) as ledger:
        return money.spending(ledger, run_id, since.timestamp())


def _count(table: pl.DataFrame, column: str) -> Counter[str]:
    return Counter(dict(table.group_by(column).len().iter_rows()))
