from __future__ import annotations

import datetime as dt
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import polars as pl
import pytest

from tests.support.archive import Archive, run_info, storage_archive
from verification_pipeline import tables
from verification_pipeline.config import Policy, Settings
from verification_pipeline.errors import ContractError
from verification_pipeline.receipts import assemble, merge
from verification_pipeline.receipts.models import Receipt
from verification_pipeline.receipts.waivers import Waiver

GOLDEN = Path(__file__).parent / "golden"


def receipts(archive: Archive, previous: pl.DataFrame | None = None, **run: Any) -> dict[str, dict[str, Any]]:
    rows = assemble(
        archive.inputs(), run_info(**run), Settings(), tables.empty("receipts") if previous is None else previous
    )
    tables.check("receipts", rows, "test")
    made = [orjson.loads(text) for text in rows["receipt"]]
    return {receipt["document_id"]: receipt for receipt in made}


def test_every_receipt_is_of_the_published_shape():
    for receipt in receipts(storage_archive()).values():
        Receipt.model_validate_json(orjson.dumps(receipt))


@pytest.mark.parametrize("document_id", ["2024-05-01", "fine; --", "torn"])
def test_receipts_are_those_on_record(document_id: str):
    """Golden files; written anew by tests/support/regold.py after a change that is meant."""
    made = orjson.dumps(receipts(storage_archive())[document_id], option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS)
    name = "".join(c if c.isalnum() else "_" for c in document_id)
    assert made.decode() == (GOLDEN / f"{name}.json").read_text("utf-8").rstrip("\n")


def test_sums_and_rows_of_a_faulty_document():
    cite = receipts(storage_archive())["2024-05-01"]["cite_check"]
    assert cite["pairs"] == cite["auto_passed"] + cite["checked"] + cite["not_checked"] + cite["dangling"] == 7
    assert (cite["auto_passed"], cite["checked"], cite["not_checked"], cite["dangling"]) == (1, 3, 2, 1)
    assert cite["verdicts"] == {"supported": 1, "partially-supported": 0, "unsupported": 1, "wrong-source": 1}
    assert cite["sampled_for_llm"] == 3
    assert cite["coverage"]["not_checked_reasons"] == {"no-text": 1, "not-selected": 1}
    by_outcome = {row["outcome"]: row for row in cite["rows"]}
    passed = by_outcome["auto-passed"]
    assert (passed["verdict"], passed["checked"], passed["evidence"]) == ("supported", False, "42 GW in 2024")
    assert by_outcome["dangling"]["verdict"] is None
    assert by_outcome["dangling"]["reason"] == "no-source"
    assert {row["reason"] for row in cite["rows"] if row["outcome"] == "not-checked"} == {"no-text", "not-selected"}
    wrong = next(row for row in cite["rows"] if row["verdict"] == "wrong-source")
    assert (wrong["source_id"], wrong["correct_source_id"]) == ("2", "3")


def test_nothing_read_is_not_verified_and_not_failed():
    archive = Archive()
    key = archive.document("mill", "The mill ground 3 tonnes [1]. The weir is 4 m high [2].")
    for n, claim in (("1", "The mill ground 3 tonnes"), ("2", "The weir is 4 m high")):
        source = archive.source(key, n, None, status="empty")
        pair = archive.pair(key, claim, source, marker=f"[{n}]", status="uncheckable", reason="no-text")
        archive.unread(pair, "no-text")
    receipt = receipts(archive)["mill"]
    assert (receipt["passed"], receipt["state"]) == (False, "not-verified")
    assert (receipt["cite_check"]["checked"], receipt["cite_check"]["not_checked"]) == (0, 2)


def test_digest_ignores_the_run_and_nothing_else():
    first = receipts(storage_archive())["2024-05-01"]
    later = dt.datetime(2027, 1, 1, tzinfo=dt.UTC)
    day = dt.date(2027, 1, 1)
    key = first["document"]["document_key"]
    again = receipts(
        storage_archive(), run_id="run-2", created_at=later, day=day, as_of=day, engine="9", price_cents={key: 3.5}
    )["2024-05-01"]
    assert again["digest"] == first["digest"]
    assert (again["id"], again["run_id"]) == (first["id"], "run-2")
    assert again["billing"] == {"llm_pairs": 1, "price_cents": 3.5}
    archive = storage_archive()
    archive.rows["verdicts"][0]["rationale"] = "Other words."
    assert receipts(archive)["2024-05-01"]["digest"] != first["digest"]


def test_row_order_of_the_inputs_does_not_matter():
    archive = storage_archive()
    whole = archive.inputs()
    turned = replace(
        whole, **{name: getattr(whole, name).reverse() for name in ("pairs", "markers", "sources", "quotes")}
    )
    made = [assemble(frames, run_info(), Settings(), tables.empty("receipts")) for frames in (whole, turned)]
    assert made[0].equals(made[1])


def test_only_changed_documents_get_a_row_and_old_receipts_stay():
    archive = storage_archive()
    first = assemble(archive.inputs(), run_info(), Settings(), tables.empty("receipts"))
    assert assemble(archive.inputs(), run_info(run_id="run-2"), Settings(), first).is_empty()
    archive.rows["verdicts"][0]["verdict"] = "partially-supported"
    second = assemble(archive.inputs(), run_info(run_id="run-2"), Settings(), first)
    assert second["run_id"].to_list() == ["run-2"]
    both = merge(first, second)
    tables.check("receipts", both, "test")
    assert (len(both), both["current"].sum()) == (4, 3)
    assert both.filter(pl.col("current"))["digest"].is_in(second["digest"].to_list()).sum() == 1


def test_a_digest_that_comes_back_is_the_receipt_it_was():
    archive = storage_archive()
    first = assemble(archive.inputs(), run_info(), Settings(), tables.empty("receipts"))
    archive.rows["verdicts"][0]["verdict"] = "partially-supported"
    second = merge(first, assemble(archive.inputs(), run_info(run_id="run-2"), Settings(), first))
    archive.rows["verdicts"][0]["verdict"] = "unsupported"
    third = merge(second, assemble(archive.inputs(), run_info(run_id="run-3"), Settings(), second))
    assert len(third) == len(second)
    assert third.filter(pl.col("current")).sort("document_key").equals(first.sort("document_key"))


def test_a_document_that_is_gone_keeps_its_receipt():
    first = assemble(storage_archive().inputs(), run_info(), Settings(), tables.empty("receipts"))
    gone = first["document_key"][0]
    merged = merge(first, tables.empty("receipts"), gone=[gone])
    assert merged.filter(pl.col("document_key") == gone)["current"].to_list() == [False]
    assert merged["current"].sum() == 2


def test_waivers_and_policy_reach_the_gate():
    archive = Archive()
    key = archive.document("a", "It grew by half [1].")
    archive.graded(archive.pair(key, "It grew by half", archive.source(key, "1", "Nothing.")), "unsupported")
    waived = Waiver(what="cite-check-resolved", document="a", by="E", until=dt.date(2026, 3, 4), why="known")
    assert receipts(archive)["a"]["state"] == "failed"
    assert receipts(archive, waivers=(waived,))["a"]["state"] == "passed"
    assert receipts(archive, waivers=(waived,), day=dt.date(2026, 3, 5))["a"]["state"] == "failed"
    lenient = assemble(
        archive.inputs(), run_info(), Settings(policy=Policy(allow_unsupported=True)), tables.empty("receipts")
    )
    assert lenient["state"].to_list() == ["passed"]


def test_stages_that_left_no_trace_fail_their_artifact():
    archive = storage_archive()
    for row in archive.rows["documents"]:
        archive.add("fingerprints", stage="reading", key=row["document_key"], component="document", hash="0")
    checks = {c["name"]: c for c in receipts(archive, stages=("reading", "grading"))["fine; --"]["checks"]}
    assert checks["artifact:reading"]["outcome"] == "passed"
    assert checks["artifact:grading"]["outcome"] == "failed"
    archive.rows["triage"].pop()
    checks = {c["name"]: c for c in receipts(archive, stages=("reading",))["fine; --"]["checks"]}
    assert "1 pair without a triage row" in checks["artifact:reading"]["detail"]


def test_a_work_nobody_asked_about_is_unchecked_not_ok():
    sweep = receipts(storage_archive())["2024-05-01"]["retraction_sweep"]
    assert (sweep["works"], sweep["dois_checked"], sweep["retracted"], sweep["unchecked"]) == (2, 1, 1, 1)
    unchecked = next(row for row in sweep["rows"] if row["doi"] is None)
    assert (unchecked["status"], unchecked["reason"]) == ("unavailable", "no identifier")
    assert sweep["registers"] == ["retraction-watch"]
    assert sweep["registers_not_asked"] == ["crossref"]


def test_a_retracted_source_that_is_cited_nowhere_warns():
    archive = Archive()
    key = archive.document("a", "Text.")
    archive.work(key, "doi:10.5555/x", "retracted", cited=False)
    checks = {c["name"]: c["outcome"] for c in receipts(archive)["a"]["checks"]}
    assert checks["retracted-citations"] == "warning"
    archive.rows["doi_mentions"][0]["start"] = 0  # in the reference list, by its identifier
    checks = {c["name"]: c["outcome"] for c in receipts(archive)["a"]["checks"]}
    assert checks["retracted-citations"] == "failed"


def test_inputs_that_would_multiply_rows_are_refused():
    archive = storage_archive()
    archive.rows["doi_statuses"].append({**archive.rows["doi_statuses"][0], "valid_from": dt.date(2020, 1, 1)})
    with pytest.raises(ContractError, match="one row a work"):
        receipts(archive)


def test_line_separators_and_hostile_ids_survive():
    archive = Archive(corpus="o'clock; DROP TABLE x --")
    key = archive.document("a\u2028b\u0085'; --", 'It says "mind\u2028the step" [1].')
    archive.quote(key, "mind\u2028the step", archive.source(key, "2024-05-01", "mind\u2028the step"), "verified")
    row = assemble(archive.inputs(), run_info(), Settings(), tables.empty("receipts"))["receipt"][0]
    assert "\n" not in row
    assert orjson.loads(row)["document_id"] == "a\u2028b\u0085'; --"
    assert orjson.loads(row)["quote_integrity"]["rows"][0]["note_id"] == "2024-05-01"
