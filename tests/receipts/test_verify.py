from __future__ import annotations

import copy
import datetime as dt
from collections.abc import Callable
from typing import Any

import orjson
import pytest

from tests.support.archive import Archive, run_info, storage_archive
from verification_pipeline import tables
from verification_pipeline.config import Policy, Settings
from verification_pipeline.receipts import assemble, digest, verify_receipt
from verification_pipeline.receipts.waivers import Waiver

Receipt = dict[str, Any]


def made(archive: Archive) -> list[Receipt]:
    rows = assemble(archive.inputs(), run_info(), Settings(), tables.empty("receipts"))
    return [orjson.loads(text) for text in rows["receipt"]]


def faulty(archive: Archive) -> Receipt:
    return next(receipt for receipt in made(archive) if receipt["state"] == "failed")


def resealed(receipt: Receipt) -> Receipt:
    """The receipt with the digest and id that its content now has: a forgery that only its own words betray."""
    receipt["digest"] = digest.digest_of(receipt)
    receipt["id"] = digest.receipt_id(receipt["document"]["document_key"], receipt["digest"])
    return receipt


def test_receipts_as_made_are_good():
    archive = storage_archive()
    assert [verify_receipt(receipt, archive.texts.get) for receipt in made(archive)] == [[], [], []]


def test_any_edit_breaks_the_digest():
    archive = storage_archive()
    receipt = faulty(archive)
    receipt["cite_check"]["rows"][1]["rationale"] = "It does say so."
    assert verify_receipt(receipt, archive.texts.get)[0].startswith("digest: ")


def test_what_the_run_added_may_differ():
    archive = storage_archive()
    receipt = faulty(archive)
    receipt["run_id"] = "another"
    receipt["billing"]["price_cents"] = 9.5
    assert verify_receipt(receipt, archive.texts.get) == []


def _evidence(receipt: Receipt) -> None:
    receipt["cite_check"]["rows"][0]["evidence"] = "43 GW in 2024"


def _offset(receipt: Receipt) -> None:
    receipt["cite_check"]["rows"][0]["evidence_start"] += 1


def _placeless(receipt: Receipt) -> None:
    receipt["cite_check"]["rows"][0]["evidence_start"] = None


def _sentence(receipt: Receipt) -> None:
    receipt["cite_check"]["rows"][2]["sentence"] = "Costs rose to 90 dollars [2]"


def _quote(receipt: Receipt) -> None:
    receipt["quote_integrity"]["rows"][0]["start"] -= 1


def _counter(receipt: Receipt) -> None:
    receipt["cite_check"]["not_checked"] = 0


def _dropped(receipt: Receipt) -> None:
    del receipt["cite_check"]["rows"][4]
    receipt["cite_check"].update(pairs=6, dangling=0)


def _passed(receipt: Receipt) -> None:
    receipt.update(passed=True, state="passed")


def _ok(receipt: Receipt) -> None:
    receipt["checks"][0]["ok"] = True


def _lenient(receipt: Receipt) -> None:
    for check in receipt["checks"]:
        check.update(ok=True, outcome="passed" if check["outcome"] == "failed" else check["outcome"])
    receipt.update(passed=True, state="passed")


def _unchecked_gate(receipt: Receipt) -> None:
    del receipt["checks"][0]


def _stale_waiver(receipt: Receipt) -> None:
    waiver = {"what": "cite-check-resolved", "by": "E", "until": "2026-03-03", "why": "known"}
    receipt["checks"][0].update(ok=True, outcome="warning", waivers=[waiver])


def _bare_pass(receipt: Receipt) -> None:
    row = receipt["cite_check"]["rows"][0]
    row.update({name: None for name in row if name.startswith("evidence")})


def _borrowed(receipt: Receipt) -> None:
    """Words that do stand in a stored text, the document's own."""
    row, document = receipt["cite_check"]["rows"][0], receipt["document"]["text_sha256"]
    sentence = {"evidence": row["sentence"], "evidence_start": row["sentence_start"]}
    row.update(**sentence, evidence_end=row["sentence_end"], evidence_text_sha256=document)


def _another_source(receipt: Receipt) -> None:
    """A pair that reads as supported by the words of a source that it does not cite."""
    rows = receipt["cite_check"]["rows"]
    rows[0].update({name: rows[3][name] for name in rows[0] if name.startswith("evidence")})


@pytest.mark.parametrize(
    ("forge", "words"),
    [
        (_borrowed, "pair 0: its evidence is not of the text of a source of this document"),
        (_another_source, "pair 0: supported, with evidence from another source than it may rest on"),
        (_evidence, "pair 0 evidence: "),
        (_offset, "pair 0 evidence: "),
        (_placeless, "pair 0: evidence without its place"),
        (_sentence, "pair 2 sentence: "),
        (_quote, "quote at "),
        (_counter, "cite_check.not_checked: says 0, its rows give 2"),
        (_dropped, "markers: 1 pairs are named by a marker or listed, but not both"),
        (_passed, "state: says passed, its checks give failed"),
        (_ok, "checks.cite-check-resolved: ok = True"),
        (_lenient, "checks.cite-check-resolved: says passed, its rows give failed"),
        (_unchecked_gate, "checks.cite-check-resolved: says None, its rows give failed"),
        (_stale_waiver, "waiver of cite-check-resolved: had run out on 2026-03-03"),
        (_bare_pass, "pair 0: passed without a reader and without evidence"),
    ],
)
def test_a_forged_receipt_with_a_fresh_digest_is_still_found_out(forge: Callable[[Receipt], None], words: str):
    archive = storage_archive()
    receipt = copy.deepcopy(faulty(archive))
    forge(receipt)
    wrong = verify_receipt(resealed(receipt), archive.texts.get)
    assert any(line.startswith(words) for line in wrong), wrong
    assert not any(line.startswith("digest") for line in wrong)


def test_missing_and_replaced_texts_are_named_once():
    archive = storage_archive()
    receipt = faulty(archive)
    sha = receipt["document"]["text_sha256"]
    lost = verify_receipt(receipt, lambda asked: None if asked == sha else archive.texts[asked])
    assert [line for line in lost if "is not stored" in line] == [f"pair 0 sentence: text {sha} is not stored"]
    swapped = verify_receipt(receipt, lambda asked: archive.texts[asked] + " ")
    assert any("is another one" in line for line in swapped)


@pytest.mark.parametrize(
    ("change", "where"),
    [
        (lambda receipt: receipt.pop("checks"), "checks"),
        (lambda receipt: receipt.update(version="2.0"), "version"),
        (lambda receipt: receipt.update(extra=1), "extra"),
        (lambda receipt: receipt["cite_check"]["rows"][0].update(verdict="fine"), "cite_check.rows.0.verdict"),
        (lambda receipt: receipt["cite_check"].update(pairs="7"), "cite_check.pairs"),
        (lambda receipt: receipt.update(created_at={1, 2}), "not JSON"),
    ],
)
def test_other_shapes_are_refused_by_field(change: Callable[[Receipt], Any], where: str):
    archive = storage_archive()
    receipt = faulty(archive)
    change(receipt)
    assert verify_receipt(receipt, archive.texts.get)[0].startswith(where)


def test_waived_and_lenient_receipts_are_good():
    archive = storage_archive()
    waiver = Waiver(what="cite-check-resolved", corpus="notes", by="E", until=dt.date(2026, 3, 4), why="known")
    for run, settings in (
        (run_info(waivers=(waiver,)), Settings()),
        (run_info(stages=("reading",)), Settings(policy=Policy(allow_unsupported=True))),
    ):
        rows = assemble(archive.inputs(), run, settings, tables.empty("receipts"))
        assert [verify_receipt(orjson.loads(text), archive.texts.get) for text in rows["receipt"]] == [[], [], []]
