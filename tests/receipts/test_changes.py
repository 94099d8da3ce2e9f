from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from typing import Any

import orjson
import polars as pl
import pytest

from tests.support.archive import Archive, run_info, storage_archive
from verification_pipeline import tables
from verification_pipeline.config import Settings
from verification_pipeline.receipts import assemble, changes
from verification_pipeline.receipts.waivers import Waiver

Edit = Callable[[Archive], Any]


def receipts(archive: Archive) -> pl.DataFrame:
    return assemble(archive.inputs(), run_info(), Settings(), tables.empty("receipts"))


def compared(edit: Edit, *moved: str) -> list[tuple[Any, ...]]:
    """(what, before, after, cause) of the faulty document after an edit."""
    archive = storage_archive()
    before = receipts(archive)
    key = archive.rows["documents"][0]["document_key"]
    edit(archive)
    made = changes.compare(before, receipts(archive), {key: moved}, run_id="run-2")
    tables.check("changes", made, "test")
    assert set(made["document_key"]) <= {key}
    return made.select("what", "before", "after", "cause").rows()


def test_nothing_changed_is_no_row():
    assert compared(Archive.inputs, "engine") == []


def regraded(archive: Archive) -> None:
    archive.rows["verdicts"][0].update(verdict="partially-supported", contradicted=True)


def test_a_verdict_that_moved():
    rows = compared(regraded, "checker")
    assert [row[0] for row in rows] == ["document", "pair"]
    assert rows[1] == ("pair", "unsupported", "partially-supported (contradicted)", "checker changed")


def retracted(archive: Archive) -> None:
    for row in archive.rows["doi_statuses"]:
        if row["work_id"] == "doi:10.5555/bad.1":
            row.update(status="ok", date=None)


def test_a_register_explains_a_status_even_when_the_document_was_edited_too():
    rows = compared(retracted, "register", "document")
    assert ("work", "retracted", "ok", "notice withdrawn") in rows
    rows = compared(lambda archive: (regraded(archive), retracted(archive)), "register", "checker")
    assert {(what, cause) for what, _, _, cause in rows} == {
        ("document", "notice withdrawn"),
        ("pair", "checker changed"),
        ("work", "notice withdrawn"),
    }


def test_an_acknowledgement_is_the_documents_own():
    def noted(archive: Archive) -> None:
        archive.rows["doi_mentions"][0]["noted_in_document"] = True

    assert ("work", "retracted", "retracted, acknowledged", "document edited") in compared(
        noted, "register", "document"
    )


def test_a_change_that_nothing_explains_is_called_so():
    assert {cause for *_, cause in compared(regraded)} == {"unexplained"}


def reprompted(archive: Archive) -> None:
    regraded(archive)
    archive.rows["verdicts"][0].update(prompt_version="2")


def remodelled(archive: Archive) -> None:
    reprompted(archive)
    archive.rows["verdicts"][0].update(model="n")


def redrawn(archive: Archive) -> None:
    regraded(archive)
    archive.rows["batches"][0].update(probability=0.25)


def drifted(archive: Archive) -> None:
    regraded(archive)
    archive.rows["sources"][1]["text_sha256"] = "0" * 64  # the source that the pair cites


@pytest.mark.parametrize(
    ("edit", "moved", "cause"),
    [
        (regraded, ("document",), "document edited"),
        (regraded, ("engine", "source"), "engine changed"),  # the sources are as they were
        (drifted, ("engine", "source"), "source drifted"),
        (regraded, ("checker", "configuration"), "configuration changed"),
        (reprompted, ("checker", "sampling"), "prompt changed"),
        (remodelled, ("checker",), "model changed"),
        (redrawn, ("sampling", "checker"), "sampling changed"),
        (regraded, ("policy", "configuration"), "configuration changed"),
        (regraded, ("waiver",), "waiver changed"),
    ],
)
def test_what_left_a_trace_goes_first_then_the_order_of_components(edit: Edit, moved: tuple[str, ...], cause: str):
    assert {c for *_, c in compared(edit, *moved)} == {cause}


def test_an_edit_elsewhere_does_not_explain_a_pair_whose_source_drifted():
    rows = compared(drifted, "document", "source")
    assert {(what, cause) for what, *_, cause in rows} == {
        ("document", "document edited"),
        ("source", "source drifted"),
        ("pair", "source drifted"),
    }


@pytest.mark.parametrize(
    ("reason", "cause"),
    [("pending", "pending answered"), ("budget", "budget"), ("provider-error", "provider answered")],
)
def test_an_answer_that_was_awaited_needs_no_other_cause(reason: str, cause: str):
    archive = storage_archive()
    verdict = dict(archive.rows["verdicts"][0])
    archive.rows["verdicts"][0].update(checked=False, verdict=None, not_checked_reason=reason)
    before = receipts(archive)
    archive.rows["verdicts"][0].update(verdict)
    rows = changes.compare(before, receipts(archive), {}, run_id="r").select("what", "cause").rows()
    assert dict(rows) == {"document": cause, "pair": cause}


def test_what_was_asked_for_again_says_so():
    archive = storage_archive()
    before = receipts(archive)
    regraded(archive)
    made = changes.compare(before, receipts(archive), {}, run_id="r", recheck=True)
    assert set(made["cause"]) == {"recheck"}


@pytest.mark.parametrize(
    ("was", "now", "cause"),
    [
        ({"status": "ok"}, {"status": "retracted"}, "retraction published"),
        ({"status": "ok"}, {"status": "expression-of-concern"}, "notice published"),
        ({"status": "expression-of-concern"}, {"status": "retracted"}, "retraction published"),
        ({"status": "corrected"}, {"status": "ok"}, "notice withdrawn"),
        ({"status": "ok"}, {"status": "unavailable"}, "register outage"),
        ({"status": "ok"}, {"status": "ok", "stale": True}, "register outage"),
        ({"status": "ok", "stale": True}, {"status": "ok"}, "register answered"),
        ({"status": "unavailable"}, {"status": "retracted"}, "register answered"),
        ({"status": "retracted"}, {"status": "retracted", "flags": ["superseded"]}, "register changed"),
    ],
)
def test_what_happened_at_the_registers(was: dict[str, Any], now: dict[str, Any], cause: str):
    archive = storage_archive()
    place = next(row for row in archive.rows["doi_statuses"] if row["work_id"] == "doi:10.5555/bad.1")
    place.update(status="ok", stale=False, flags=[], date=None)
    place.update(was)
    before = receipts(archive)
    place.update({"stale": False, **now})
    keys = {row["document_key"]: ["register"] for row in archive.rows["documents"]}
    made = changes.compare(before, receipts(archive), keys, run_id="r").filter(what="work")
    assert set(made["cause"]) == {cause}


def test_quotes_voices_states_and_evidence():
    def edit(archive: Archive) -> None:
        archive.rows["quotes"][0].update(status="not-found", closest_span=None)
        archive.rows["clusters"].clear()

    rows = compared(edit, "source")
    assert ("quote", "altered", "not-found", "source changed") in rows
    assert ("independence", "4 voices in 5 sources", "5 voices in 5 sources", "source changed") in rows

    def drift(archive: Archive) -> None:  # same verdicts, other text: only document and source say so
        archive.rows["sources"][0]["text_sha256"] = "0" * 64

    rows = compared(drift, "source")
    assert [(what, cause) for what, _, _, cause in rows] == [
        (what, "source drifted") for what in ("document", "source")
    ]
    assert rows[1][2] == "0" * 64


def test_state_follows_the_gate():
    archive = Archive()
    key = archive.document("a", "It grew by half [1].")
    pair = archive.pair(key, "It grew by half", archive.source(key, "1", "It grew by half."))
    archive.graded(pair, "supported", "It grew by half")
    before = receipts(archive)
    archive.rows["verdicts"][0].update(verdict="unsupported", evidence=None)
    rows = changes.compare(before, receipts(archive), {key: ["engine"]}, run_id="r")
    assert ("state", "passed", "failed", "engine changed") in rows.select("what", "before", "after", "cause").rows()


def test_documents_that_come_and_go_have_one_row_each():
    both = receipts(storage_archive())
    gone = both.slice(0, 2)
    removed = changes.compare(both, gone, {}, run_id="r")
    added = changes.compare(gone, both, {}, run_id="r")
    key = both["document_key"][2]
    state = both["state"][2]
    name = orjson.loads(both["receipt"][2])["document_id"]
    assert removed.select("document_key", "what", "before", "after", "cause").rows() == [
        (key, "document", f"{state}: notes/{name}", "removed", "document removed")
    ]
    assert added.select("document_key", "what", "before", "after", "cause").rows() == [
        (key, "document", None, f"added: {state}", "document added")
    ]


def test_unchanged_documents_are_not_even_parsed():
    before = receipts(storage_archive()).with_columns(receipt=pl.lit("not JSON"))
    assert changes.compare(before, before, {}, run_id="r").is_empty()


def test_causes_may_name_documents_that_did_not_change():
    before = receipts(storage_archive())
    causes: Mapping[str, list[str]] = {key: ["engine"] for key in before["document_key"]}
    assert changes.compare(before, before, causes, run_id="r").is_empty()


def test_a_waiver_that_expired():
    archive = Archive()
    key = archive.document("a", "Nobody knows [9].")
    archive.dangling(archive.pair(key, "Nobody knows", None, marker="[9]"))
    archive.quote(key, "Nobody", None, "not-checked")
    waived = (Waiver(what="cite-check-resolved", document="a", by="E", until=dt.date(2026, 3, 4), why="known"),)
    made = [
        assemble(archive.inputs(), run_info(waivers=waived, day=day), Settings(), tables.empty("receipts"))
        for day in (dt.date(2026, 3, 4), dt.date(2026, 3, 5))
    ]
    rows = changes.compare(made[0], made[1], {key: ["waiver"]}, run_id="r", day=dt.date(2026, 3, 5))
    assert ("state", "passed", "failed", "waiver expired") in rows.select("what", "before", "after", "cause").rows()
