"""The ship gate: facts about one document in, the checklist, `passed` and `state` out.

It knows counts and the ids of what failed, not tables and not texts. A check is `failed` (and only then not ok),
`warning`, `skipped` (there was nothing to judge: not checked is neither fine nor failed) or `passed`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from verification_pipeline.config import Policy
from verification_pipeline.receipts.waivers import Waiver

CONTENT_CHECKS = ("cite-check-resolved", "quote-integrity", "retracted-citations")
"""At least one of these must have found something to judge, or the document is not verified."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What the gate judges. Tuples hold ids (pair_id, quote_id, work_id), so that a waiver can name one."""

    readable: bool
    """Whether the document has a text that was read."""
    pairs: int = 0
    auto_passed: int = 0
    checked: int = 0
    partially_supported: int = 0
    not_checked: int = 0
    selected_ungraded: int = 0
    unsupported: tuple[str, ...] = ()
    wrong_source: tuple[str, ...] = ()
    dangling: tuple[str, ...] = ()
    quotes_verified: int = 0
    quotes_not_checked: int = 0
    altered: tuple[str, ...] = ()
    not_found: tuple[str, ...] = ()
    misattributed: int = 0
    works: int = 0
    works_with_status: int = 0
    works_without_status: int = 0
    works_stale: int = 0
    retracted_noted: int = 0
    retracted_unnoted: tuple[str, ...] = ()
    retracted_uncited: int = 0
    code_unattributed: int = 0
    leaks: int = 0
    first_leak: str | None = None
    uncited_numbers: int = 0
    markers: int = 0
    markers_unparsed: int = 0
    sources: int = 0
    effective_sources: int = 0
    stages: Sequence[tuple[str, str | None]] = field(default=())
    """(stage that was supposed to run, why it counts as missing or None)."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """The gate's answer; `checks` are plain rows as the receipt holds them."""

    checks: list[dict[str, Any]]
    passed: bool
    state: str


@dataclass(frozen=True, slots=True)
class _Check:
    name: str
    outcome: str
    detail: str
    failing: tuple[str, ...] = ()


def judge(facts: Facts, policy: Policy, waivers: Sequence[Waiver] = ()) -> Judgement:
    """Judge one document. `waivers` are those in force for it (architecture: Gate)."""
    checks = [
        _citations(facts, policy),
        _quotes(facts),
        _retractions(facts),
        _code(facts),
        _leaks(facts),
        _numbers(facts),
        _unparsed(facts),
        _voices(facts),
        *(_artifact(facts, stage, missing) for stage, missing in facts.stages),
    ]
    rows = [_row(check, waivers) for check in checks]
    failed = any(row["outcome"] == "failed" for row in rows)
    judged = any(row["name"] in CONTENT_CHECKS and row["outcome"] in ("passed", "warning") for row in rows)
    passed = judged and not failed
    return Judgement(rows, passed, "failed" if failed else "passed" if passed else "not-verified")


def _row(check: _Check, waivers: Sequence[Waiver]) -> dict[str, Any]:
    used = _waived_by(check, waivers) if check.outcome == "failed" else []
    outcome = "warning" if used else check.outcome
    detail = check.detail + "".join(f" Waived by {w.by} until {w.until}: {w.why}" for w in used)
    return {
        "name": check.name,
        "ok": outcome != "failed",
        "outcome": outcome,
        "detail": detail,
        "waivers": [{"what": w.what, "by": w.by, "until": w.until.isoformat(), "why": w.why} for w in used],
    }


def _waived_by(check: _Check, waivers: Sequence[Waiver]) -> list[Waiver]:
    """The waivers that together cover everything that fails; none unless they cover all of it."""
    whole = [w for w in waivers if w.what == check.name]
    if whole:
        return whole[:1]
    by_item = {w.what: w for w in reversed(waivers)}
    if not check.failing or any(item not in by_item for item in check.failing):
        return []
    return [by_item[item] for item in dict.fromkeys(check.failing)]


def _citations(facts: Facts, policy: Policy) -> _Check:
    name = "cite-check-resolved"
    graded = facts.auto_passed + facts.checked
    findings = _listed(
        (len(facts.unsupported), "unsupported"),
        (len(facts.wrong_source), "wrong-source"),
        (len(facts.dangling), "dangling"),
    )
    failing = facts.dangling if policy.allow_unsupported else facts.unsupported + facts.wrong_source + facts.dangling
    if failing:
        return _Check(name, "failed", f"{_count(facts.pairs, 'pair')}: {findings}.", failing)
    if not graded:
        return _Check(name, "skipped", f"{_count(facts.pairs, 'pair')}, none passed mechanically or graded.")
    detail = f"{graded} of {_count(facts.pairs, 'pair')} settled" + _listed(
        (facts.partially_supported, "partially supported"),
        (len(facts.unsupported) + len(facts.wrong_source), "unsupported or wrong-source, allowed by policy"),
        (facts.not_checked, "not checked"),
        before=": ",
    )
    if facts.selected_ungraded:
        return _Check(name, "warning", f"{detail}; {facts.selected_ungraded} selected for a checker stayed ungraded.")
    return _Check(name, "passed", f"{detail}.")


def _quotes(facts: Facts) -> _Check:
    name = "quote-integrity"
    examined = facts.quotes_verified + len(facts.altered) + len(facts.not_found)
    if facts.altered or facts.not_found:
        found = _listed(
            (len(facts.altered), "altered"),
            (len(facts.not_found), "not found"),
            (facts.misattributed, "of these in another source than the cited one"),
        )
        return _Check(
            name, "failed", f"{_count(examined, 'quotation')} examined: {found}.", facts.altered + facts.not_found
        )
    if not examined:
        unread = f"; {facts.quotes_not_checked} could not be checked" if facts.quotes_not_checked else ""
        return _Check(name, "skipped", f"No quotation was examined{unread}.")
    detail = f"{_count(facts.quotes_verified, 'quotation')} found verbatim"
    if facts.quotes_not_checked:
        return _Check(name, "warning", f"{detail}; {facts.quotes_not_checked} could not be checked.")
    return _Check(name, "passed", f"{detail}.")


def _retractions(facts: Facts) -> _Check:
    name = "retracted-citations"
    if facts.retracted_unnoted:
        number = len(facts.retracted_unnoted)
        detail = f"{_count(number, 'retracted work')} cited without saying so: {_shortened(facts.retracted_unnoted)}."
        return _Check(name, "failed", detail, facts.retracted_unnoted)
    if not facts.works_with_status:
        return _Check(name, "skipped", f"{_count(facts.works, 'cited work')}, none with a known status.")
    detail = f"{facts.works_with_status} of {_count(facts.works, 'cited work')} have a status" + _listed(
        (facts.retracted_noted, "retracted and acknowledged"),
        (facts.retracted_uncited, "retracted among the sources but cited nowhere in the text"),
        (facts.works_without_status, "unavailable or unchecked"),
        (facts.works_stale, "known only from an older answer"),
        before=": ",
    )
    doubtful = facts.works_without_status or facts.works_stale or facts.retracted_uncited
    return _Check(name, "warning" if doubtful else "passed", f"{detail}.")


def _code(facts: Facts) -> _Check:
    name = "code-attributed"
    if not facts.readable:
        return _unread(name)
    if facts.code_unattributed:
        return _Check(
            name,
            "warning",
            f"{_count(facts.code_unattributed, 'code block')} of a source without a citation beside it.",
        )
    return _Check(name, "passed", "No code block of a source stands uncited.")


def _leaks(facts: Facts) -> _Check:
    name = "no-scaffold-leak"
    if not facts.readable:
        return _unread(name)
    if facts.leaks:
        return _Check(
            name, "failed", f"{_count(facts.leaks, 'leak')} of prompts, tools or templates; {facts.first_leak}."
        )
    return _Check(name, "passed", "No prompt header, tool tag, template placeholder or private-use token.")


def _numbers(facts: Facts) -> _Check:
    name = "numeric-consistency"
    if not facts.readable:
        return _unread(name)
    if facts.uncited_numbers:
        return _Check(
            name, "warning", f"{_count(facts.uncited_numbers, 'uncited number')} in no source of the document."
        )
    return _Check(name, "passed", "Every uncited number stands in a source of the document, or there is none.")


def _unparsed(facts: Facts) -> _Check:
    name = "markers-unparsed"
    if not facts.readable:
        return _unread(name)
    if facts.markers_unparsed:
        detail = (
            f"{facts.markers_unparsed} of {_count(facts.markers, 'marker')} in a style that is not bound to sources."
        )
        return _Check(name, "warning", detail)
    return _Check(name, "passed", f"{_count(facts.markers, 'marker')}, every style understood.")


def _voices(facts: Facts) -> _Check:
    name = "independence"
    if not facts.sources:
        return _Check(name, "skipped", "The document has no sources.")
    detail = f"{_count(facts.sources, 'source')}, {_count(facts.effective_sources, 'independent voice')}."
    return _Check(name, "warning" if facts.effective_sources < facts.sources else "passed", detail)


def _artifact(facts: Facts, stage: str, missing: str | None) -> _Check:
    name = f"artifact:{stage}"
    if not facts.readable:
        return _unread(name)
    if missing:
        return _Check(name, "failed", f"The stage left this document incomplete: {missing}.")
    return _Check(name, "passed", "The stage ran on this document.")


def _unread(name: str) -> _Check:
    return _Check(name, "skipped", "The document has no text that could be read.")


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _listed(*counts: tuple[int, str], before: str = "") -> str:
    parts = [f"{number} {what}" for number, what in counts if number]
    return before + ", ".join(parts) if parts else ""


def _shortened(items: Sequence[str], shown: int = 3) -> str:
    rest = len(items) - shown
    return ", ".join(items[:shown]) + (f" and {rest} more" if rest > 0 else "")
