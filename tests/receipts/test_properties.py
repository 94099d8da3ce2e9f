"""Whatever the tables hold, a receipt has the published shape, adds up, and never passes on nothing or a failure."""

from __future__ import annotations

import orjson
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.archive import Archive, run_info
from verification_pipeline import metrics, tables
from verification_pipeline.config import Settings
from verification_pipeline.receipts import assemble, changes, verify_receipt

PAIRS = st.sampled_from(
    [
        *("passed", "supported", "partially-supported", "unsupported", "wrong-source", "dangling"),
        *("not-selected", "low-confidence", "pending", "no-text", "untriaged"),
    ]
)
QUOTES = st.sampled_from(["verified", "altered", "not-found", "not-checked"])
WORKS = st.sampled_from([None, "ok", "retracted", "expression-of-concern", "corrected", "unavailable"])


@st.composite
def archives(draw: st.DrawFn) -> Archive:
    archive = Archive()
    kinds = draw(st.lists(PAIRS, max_size=6))
    quotes = draw(st.lists(QUOTES, max_size=3))
    works = draw(st.lists(st.tuples(WORKS, st.booleans(), st.booleans()), max_size=3))
    claims = [f"Claim {n} says é 潮 {n}" for n in range(len(kinds))]
    said = [f"“quoted words number {n}”" for n in range(len(quotes))]
    text = " ".join([*(f"{claim} [{n}]." for n, claim in enumerate(claims)), *said])
    key = archive.document("d", text) if text else archive.document("d", None, status="empty")
    for n, (claim, kind) in enumerate(zip(claims, kinds, strict=True)):
        _pair(archive, key, n, claim, kind)
    for words, status in zip(said, quotes, strict=True):
        source = archive.source(key, f"q{words}", words)
        archive.quote(key, words, source, status)
    for n, (status, cited, noted) in enumerate(works):
        archive.work(key, f"doi:10.5555/{n}", status, cited=cited, noted_in_document=noted)
    return archive


def _pair(archive: Archive, key: str, n: int, claim: str, kind: str) -> None:
    marker = f"[{n}]"
    if kind == "dangling":
        archive.dangling(archive.pair(key, claim, None, marker=marker))
    elif kind == "no-text":
        source = archive.source(key, str(n), None, status="empty")
        archive.unread(archive.pair(key, claim, source, marker=marker, status="uncheckable"), kind)
    else:
        pair = archive.pair(key, claim, archive.source(key, str(n), f"It is so. {claim}!"), marker=marker)
        if kind == "passed":
            archive.passed(pair, claim)
        elif kind in ("not-selected", "low-confidence", "pending"):
            archive.unread(pair, kind, probability=0.5 if kind == "not-selected" else 1.0)
        elif kind != "untriaged":
            other = archive.source(key, f"other {n}", f"It is so. {claim}!") if kind == "wrong-source" else None
            archive.graded(pair, kind, claim if kind != "unsupported" else None, correct_source_key=other)


@settings(max_examples=60, deadline=None)
@given(archives())
def test_receipts_verify_and_never_pass_on_nothing(archive: Archive):
    inputs = archive.inputs()
    rows = assemble(inputs, run_info(), Settings(), tables.empty("receipts"))
    receipt = orjson.loads(rows["receipt"][0])
    assert verify_receipt(receipt, archive.texts.get) == []
    cite = receipt["cite_check"]
    assert cite["pairs"] == len(archive.rows["pairs"])
    assert cite["pairs"] == cite["auto_passed"] + cite["checked"] + cite["not_checked"] + cite["dangling"]
    faults = cite["dangling"] + cite["verdicts"]["unsupported"] + cite["verdicts"]["wrong-source"]
    faults += receipt["quote_integrity"]["altered"] + receipt["quote_integrity"]["not_found"]
    assert not (receipt["passed"] and faults)
    settled = cite["auto_passed"] + cite["checked"] + receipt["quote_integrity"]["verified"]
    assert not receipt["passed"] or settled or receipt["retraction_sweep"]["dois_checked"]
    assert receipt["state"] != "failed" or any(not check["ok"] for check in receipt["checks"])
    figures = metrics.compute("r", metrics.tally(inputs, rows)).rows(named=True)
    for row in figures:
        if row["value"] is not None and row["low"] is not None:
            assert row["low"] <= row["value"] <= row["high"]
    whole = {row["metric"]: row["value"] for row in figures if row["corpus"] == "*"}
    parts = [whole[f"pairs_{outcome}_share"] for outcome in ("auto_passed", "checked", "not_checked", "dangling")]
    assert None in parts or abs(sum(parts) - 1) < 1e-9


@settings(max_examples=30, deadline=None)
@given(archives(), archives())
def test_changes_name_every_pair_that_differs_once(before: Archive, after: Archive):
    first, second = (assemble(a.inputs(), run_info(), Settings(), tables.empty("receipts")) for a in (before, after))
    key = first["document_key"][0]
    made = changes.compare(first, second, {key: ["document"]}, run_id="r")
    moved = made.drop_nulls("pair_id")["pair_id"].to_list()
    assert len(moved) == len(set(moved))
    outcomes = [
        {row["pair_id"]: (row["outcome"], row["verdict"], row["reason"]) for row in receipt["cite_check"]["rows"]}
        for receipt in (orjson.loads(rows["receipt"][0]) for rows in (first, second))
    ]
    assert set(moved) == {
        pair for pair in outcomes[0].keys() | outcomes[1].keys() if outcomes[0].get(pair) != outcomes[1].get(pair)
    }
    assert set(made["cause"]) <= {"document edited", "pending answered", "budget", "provider answered"}
    assert made.is_empty() == (first["digest"][0] == second["digest"][0])
