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
    assert rows[1] == ("pair", "unsupported", "partially-supported (contradicted)", "checker")


def retracted(archive: Archive) -> None:
    for row in archive.rows["doi_statuses"]:
        if row["work_id"] == "doi:10.5555/bad.1":
            row.update(status="ok", date=None)


def test_a_register_explains_a_status_even_when_the_document_was_edited_too():
    rows = compared(retracted, "register", "document")
    assert ("work", "retracted", "ok", "register") in rows
    rows = compared(lambda archive: (regraded(archive), retracted(archive)), "register", "checker")
    assert {(what, cause) for what, _, _, cause in rows} == {
        ("document", "checker"),
        ("pair", "checker"),
        ("work", "register"),
    }


def test_an_acknowledgement_is_the_documents_own():
    def noted(archive: Archive) -> None:
        archive.rows["doi_mentions"][0]["noted_in_document"] = True

    assert ("work", "retracted", "retracted, acknowledged", "document") in compared(noted, "register", "document")


def test_a_change_that_nothing_explains_is_called_so():
    assert {cause for *_, cause in compared(regraded)} == {"unexplained"}


@pytest.mark.parametrize(
    ("moved", "cause"),
    [
        (("configuration", "source", "document"), "document"),
        (("engine", "sources"), "source"),
        (("prompt", "engine"), "engine"),
        (("sampling", "model"), "model"),
        (("policy", "configuration"), "configuration"),
        (("waiver",), "waiver"),
    ],
)
def test_the_first_component_in_the_order_is_the_cause(moved: tuple[str, ...], cause: str):
    assert {c for *_, c in compared(regraded, *moved)} == {cause}


def test_quotes_voices_states_and_evidence():
    def edit(archive: Archive) -> None:
        archive.rows["quotes"][0].update(status="not-found", closest_span=None)
        archive.rows["clusters"].clear()

    rows = compared(edit, "source")
    assert ("quote", "altered", "not-found", "source") in rows
    assert ("independence", "4 voices in 5 sources", "5 voices in 5 sources", "source") in rows

    def drift(archive: Archive) -> None:  # same verdicts, other text: the document row alone says so
        archive.rows["sources"][0]["text_sha256"] = "0" * 64

    assert [(what, cause) for what, _, _, cause in compared(drift, "source")] == [("document", "source")]


def test_state_follows_the_gate():
    archive = Archive()
    key = archive.document("a", "It grew by half [1].")
    pair = archive.pair(key, "It grew by half", archive.source(key, "1", "It grew by half."))
    archive.graded(pair, "supported", "It grew by half")
    before = receipts(archive)
    archive.rows["verdicts"][0].update(verdict="unsupported", evidence=None)
    rows = changes.compare(before, receipts(archive), {key: ["engine"]}, run_id="r")
    assert ("state", "passed", "failed", "engine") in rows.select("what", "before", "after", "cause").rows()


def test_documents_that_come_and_go_have_one_row_each():
    both = receipts(storage_archive())
    gone = both.slice(0, 2)
    removed = changes.compare(both, gone, {}, run_id="r")
    added = changes.compare(gone, both, {}, run_id="r")
    key = both["document_key"][2]
    state = both["state"][2]
    name = orjson.loads(both["receipt"][2])["document_id"]
    assert removed.select("document_key", "what", "before", "after", "cause").rows() == [
        (key, "document", f"{state}: notes/{name}", "removed", "document")
    ]
    assert added.select("document_key", "what", "before", "after", "cause").rows() == [
        (key, "document", None, f"added: {state}", "document")
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
    rows = changes.compare(made[0], made[1], {key: ["policy"]}, run_id="r")
    assert ("state", "passed", "failed", "policy") in rows.select("what", "before", "after", "cause").rows()
