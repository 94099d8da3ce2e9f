"""What the ship gate judges, read from a receipt's own content: whoever has a receipt can judge it again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from verification_pipeline.quotes import SHORT
from verification_pipeline.receipts.gate import Facts

Row = Mapping[str, Any]


def facts_of(receipt: Row, stages: Sequence[tuple[str, str | None]] = ()) -> Facts:
    """The facts of a receipt. `stages` are those that were supposed to run, with why each counts as missing or None."""
    cite, quotes, sweep = receipt["cite_check"], receipt["quote_integrity"], receipt["retraction_sweep"]
    pairs, works, findings = cite["rows"], sweep["rows"], receipt["text_findings"]
    graded = [pair for pair in pairs if pair["checked"]]
    retracted = [work for work in works if work["status"] == "retracted"]
    in_text = [work for work in retracted if work["cited"] or work["start"] is not None]
    known = sum(work["status"] != "unavailable" for work in works)
    leaks = [finding for finding in findings if finding["kind"] == "scaffold-leak"]
    return Facts(
        readable=receipt["document"]["status"] == "ok",
        pairs=cite["pairs"],
        auto_passed=cite["auto_passed"],
        checked=cite["checked"],
        partially_supported=cite["verdicts"]["partially-supported"],
        not_checked=cite["not_checked"],
        selected_ungraded=sum(pair["selected"] is True and not pair["checked"] for pair in pairs),
        unsupported=_ids(graded, "verdict", "unsupported", "pair_id"),
        wrong_source=_ids(graded, "verdict", "wrong-source", "pair_id"),
        dangling=_ids(pairs, "outcome", "dangling", "pair_id"),
        quotes_verified=sum(row["status"] == "verified" and row["reason"] != SHORT for row in quotes["rows"]),
        quotes_not_checked=quotes["not_checked"],
        altered=_ids(quotes["rows"], "status", "altered", "quote_id"),
        not_found=_ids(quotes["rows"], "status", "not-found", "quote_id"),
        misattributed=quotes["misattributed"],
        works=len(works),
        works_with_status=known,
        works_without_status=len(works) - known,
        works_stale=sum(work["stale"] for work in works),
        retracted_noted=sum(work["noted_in_document"] for work in in_text),
        retracted_unnoted=_ids(in_text, "noted_in_document", False, "work_id"),
        retracted_uncited=len(retracted) - len(in_text),
        code_unattributed=sum(finding["kind"] == "code-unattributed" for finding in findings),
        leaks=len(leaks),
        first_leak=leaks[0]["detail"] if leaks else None,
        uncited_numbers=len(receipt["uncited_numbers"]),
        markers=receipt["markers"]["total"],
        markers_unparsed=receipt["markers"]["unsupported_style"],
        sources=receipt["independence"]["sources"],
        effective_sources=receipt["independence"]["effective_sources"],
        stages=stages,
    )


def _ids(rows: Iterable[Row], field: str, value: object, identity: str) -> tuple[str, ...]:
    return tuple(row[identity] for row in rows if row[field] == value)
