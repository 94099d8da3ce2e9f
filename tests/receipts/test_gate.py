from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from verification_pipeline.config import Policy
from verification_pipeline.errors import UsageError
from verification_pipeline.receipts import waivers
from verification_pipeline.receipts.gate import Facts, Judgement, judge
from verification_pipeline.receipts.waivers import Waiver

PAIR, OTHER = "a" * 32, "b" * 32


def outcome(name: str, policy: Policy | None = None, **facts: Any) -> str:
    judged = judge(Facts(**{"readable": True, **facts}), policy or Policy())
    return next(check["outcome"] for check in judged.checks if check["name"] == name)


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ({}, "skipped"),
        ({"pairs": 3, "not_checked": 3}, "skipped"),  # nothing read is not a pass
        ({"pairs": 1, "auto_passed": 1}, "passed"),
        ({"pairs": 2, "auto_passed": 1, "not_checked": 1}, "passed"),  # outside the sample: the coverage says so
        ({"pairs": 2, "checked": 1, "not_checked": 1, "selected_ungraded": 1}, "warning"),
        ({"pairs": 1, "checked": 1, "partially_supported": 1}, "passed"),
        ({"pairs": 1, "checked": 1, "unsupported": (PAIR,)}, "failed"),
        ({"pairs": 1, "checked": 1, "wrong_source": (PAIR,)}, "failed"),
        ({"pairs": 80, "dangling": (PAIR,) * 80}, "failed"),  # dangling fails although nothing was graded
        ({"pairs": 2, "checked": 1, "unsupported": (PAIR,), "selected_ungraded": 1}, "failed"),
    ],
)
def test_cite_check_resolved(facts: dict[str, Any], expected: str):
    assert outcome("cite-check-resolved", **facts) == expected


def test_policy_lets_unsupported_through_but_never_dangling():
    policy = Policy(allow_unsupported=True)
    graded = {"pairs": 2, "checked": 2, "unsupported": (PAIR,), "wrong_source": (OTHER,)}
    assert outcome("cite-check-resolved", policy, **graded) == "passed"
    assert outcome("cite-check-resolved", policy, **graded, dangling=("c" * 32,)) == "failed"


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ({}, "skipped"),
        ({"quotes_not_checked": 2}, "skipped"),
        ({"quotes_verified": 1}, "passed"),
        ({"quotes_verified": 1, "quotes_not_checked": 1}, "warning"),
        ({"altered": (PAIR,)}, "failed"),
        ({"not_found": (PAIR,)}, "failed"),
        ({"not_found": (PAIR,), "misattributed": 1}, "failed"),
    ],
)
def test_quote_integrity(facts: dict[str, Any], expected: str):
    assert outcome("quote-integrity", **facts) == expected


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ({}, "skipped"),
        ({"works": 2, "works_without_status": 2}, "skipped"),  # unknown is not clean
        ({"works": 1, "works_with_status": 1}, "passed"),
        ({"works": 2, "works_with_status": 1, "works_without_status": 1}, "warning"),
        ({"works": 1, "works_with_status": 1, "retracted_unnoted": ("doi:10.5555/a",)}, "failed"),
        ({"works": 1, "works_with_status": 1, "retracted_noted": 1}, "passed"),
        ({"works": 1, "works_with_status": 1, "retracted_uncited": 1}, "warning"),
    ],
)
def test_retracted_citations(facts: dict[str, Any], expected: str):
    assert outcome("retracted-citations", **facts) == expected


@pytest.mark.parametrize(
    ("name", "facts", "expected"),
    [
        ("code-attributed", {"code_unattributed": 1}, "warning"),
        ("no-scaffold-leak", {"leaks": 1, "first_leak": "tool tag"}, "failed"),
        ("numeric-consistency", {"uncited_numbers": 2}, "warning"),
        ("markers-unparsed", {"markers": 4, "markers_unparsed": 1}, "warning"),
        ("independence", {"sources": 40, "effective_sources": 31}, "warning"),
        ("independence", {}, "skipped"),
        ("artifact:quotes", {"stages": (("quotes", None),)}, "passed"),
        ("artifact:quotes", {"stages": (("quotes", "no trace of it"),)}, "failed"),
    ],
)
def test_other_checks(name: str, facts: dict[str, Any], expected: str):
    assert outcome(name, **facts) == expected


def state(**facts: Any) -> tuple[bool, str]:
    judged = judge(Facts(**{"readable": True, **facts}), Policy())
    return judged.passed, judged.state


def test_passed_needs_something_that_was_verified():
    assert state() == (False, "not-verified")
    assert state(pairs=2, not_checked=2, selected_ungraded=2) == (False, "not-verified")
    assert state(quotes_verified=1) == (True, "passed")
    assert state(pairs=1, auto_passed=1) == (True, "passed")
    assert state(quotes_verified=1, leaks=1, first_leak="x") == (False, "failed")
    assert state(readable=False) == (False, "not-verified")


def test_a_document_without_text_skips_every_check():
    judged = judge(Facts(readable=False, stages=(("triage", "no trace"),)), Policy())
    assert {check["outcome"] for check in judged.checks} == {"skipped"}
    assert all(check["ok"] for check in judged.checks)


def waiver(what: str, **scope: Any) -> Waiver:
    return Waiver(what=what, by="A. Editor", until=dt.date(2026, 12, 31), why="checked by hand", **scope)


def judged_with(*given: Waiver) -> Judgement:
    return judge(Facts(readable=True, pairs=2, checked=2, unsupported=(PAIR, OTHER)), Policy(), given)


def test_a_waived_failure_is_a_warning_that_shows_the_waiver():
    judged = judged_with(waiver("cite-check-resolved", document="a"))
    check = judged.checks[0]
    assert (judged.passed, check["outcome"], check["ok"]) == (True, "warning", True)
    assert check["waivers"] == [
        {"what": "cite-check-resolved", "by": "A. Editor", "until": "2026-12-31", "why": "checked by hand"}
    ]
    assert "Waived by A. Editor until 2026-12-31: checked by hand" in check["detail"]


def test_waivers_of_items_must_cover_all_of_a_failure():
    assert judged_with(waiver(PAIR)).state == "failed"
    assert judged_with(waiver(PAIR), waiver(OTHER)).state == "passed"


def test_waivers_hold_for_their_documents_until_their_day():
    one = waiver("quote-integrity", corpus="notes", document="a")
    assert one.applies("notes", "a", dt.date(2026, 12, 31))
    assert not one.applies("notes", "a", dt.date(2027, 1, 1))
    assert not one.applies("notes", "b", dt.date(2026, 1, 1))
    assert not one.applies("other", "a", dt.date(2026, 1, 1))
    assert waivers.fingerprint([one]) != waivers.fingerprint([])


def test_waiver_files_are_read_strictly():
    entry = {"what": "quote-integrity", "document": "a", "by": "x", "until": dt.date(2027, 1, 1), "why": "y"}
    assert waivers.parse({"waiver": [entry]})[0].document == "a"
    for bad, words in (
        ({"waiver": [{**entry, "document": None}]}, "must name a document or a corpus"),
        ({"waiver": [entry, {**entry, "why": ""}]}, "waiver 2: why"),
        ({"waivers": []}, "found waivers"),
        ({"waiver": [{**entry, "unti": 1}]}, "unti"),
    ):
        with pytest.raises(UsageError, match=words):
            waivers.parse(bad)
