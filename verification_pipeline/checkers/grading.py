"""Outcomes into rows of `verdicts`: severity, suggested fix and the rules every verdict must keep, in one place."""

from __future__ import annotations

from dataclasses import dataclass, replace

from verification_pipeline.checkers.protocol import Item, Judgement, NotChecked, Outcome
from verification_pipeline.records import Pair
from verification_pipeline.tables import Span


@dataclass(frozen=True, slots=True)
class VerdictRow:
    """A row of `verdicts`."""

    pair_id: str
    document_key: str
    checked: bool
    verdict: str | None = None
    contradicted: bool = False
    span: Span | None = None
    correct_source_key: str | None = None
    severity: str | None = None
    suggested_fix: str | None = None
    rationale: str | None = None
    confidence: float | None = None
    checker: str | None = None
    model: str | None = None
    prompt_version: str | None = None
    request_key: str | None = None
    first_checker: str | None = None
    first_confidence: float | None = None
    not_checked_reason: str | None = None


def severity_of(pair: Pair, verdict: str) -> str | None:
    """`critical` for wrong-source and for unsupported claims that hold a number; `major` for other findings.

    Seed cite-checker, "Severity".
    """
    if verdict == "supported":
        return None
    return "critical" if verdict == "wrong-source" or (verdict == "unsupported" and pair.numbers) else "major"


def fix_of(verdict: str) -> str | None:
    """What to do about a finding, in the words of the cite-checker seed."""
    return {
        "wrong-source": "swap citation",
        "partially-supported": "soften claim to what the source supports",
        "unsupported": "delete sentence",
    }.get(verdict)


def graded(item: Item, outcome: Outcome, checker: str) -> VerdictRow:
    """The row of one outcome of `checker`. A verdict whose span is missing or not in its text is not given."""
    row = _row(item, outcome, outcome.checker or checker)
    before = outcome.read_before
    return row if before is None else replace(row, first_checker=before.checker, first_confidence=before.confidence)


def _row(item: Item, outcome: Outcome, checker: str) -> VerdictRow:
    pair = item.pair
    if isinstance(outcome, NotChecked):
        return VerdictRow(
            pair.pair_id,
            pair.document_key,
            checked=False,
            confidence=outcome.confidence,
            rationale=outcome.rationale,
            checker=checker,
            request_key=outcome.request_key,
            not_checked_reason=outcome.reason,
        )
    if not _rests_on_text(item, outcome):
        return VerdictRow(
            pair.pair_id,
            pair.document_key,
            checked=False,
            checker=checker,
            model=outcome.model,
            request_key=outcome.request_key,
            not_checked_reason="evidence-not-in-source",
        )
    return VerdictRow(
        pair.pair_id,
        pair.document_key,
        checked=True,
        verdict=outcome.verdict,
        contradicted=outcome.contradicted,
        span=outcome.span,
        correct_source_key=outcome.correct_source_key,
        severity=severity_of(pair, outcome.verdict),
        suggested_fix=fix_of(outcome.verdict),
        rationale=outcome.rationale,
        confidence=outcome.confidence,
        checker=checker,
        model=outcome.model,
        prompt_version=outcome.prompt_version,
        request_key=outcome.request_key,
    )


def _rests_on_text(item: Item, outcome: Judgement) -> bool:
    span = outcome.span
    if (outcome.verdict == "wrong-source") != (outcome.correct_source_key is not None):
        return False
    if span is None:
        return outcome.verdict == "unsupported" and not outcome.contradicted
    holder = item.own.get(span.source_key)
    return (
        holder is not None
        and holder.body.sha256 == span.text_sha256
        and 0 <= span.start < span.end
        and holder.body.text[span.start : span.end] == span.text
    )
