"""Re-check of one receipt without the pipeline: its shape, its digest, its sums and every span it cites.

Needs the receipt and the stored texts, nothing else: no tables, no settings, no network. What it cannot judge is
whether a verdict is right; it judges whether the receipt is whole and whether its words stand where it says.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import orjson
from pydantic import ValidationError

from verification_pipeline.config import Policy
from verification_pipeline.keys import text_sha256
from verification_pipeline.receipts import digest as digests
from verification_pipeline.receipts.facts import facts_of
from verification_pipeline.receipts.gate import judge
from verification_pipeline.receipts.models import Evidence, Receipt, Verdict
from verification_pipeline.receipts.waivers import Waiver

TextOf = Callable[[str], str | None]

_ARTIFACT = "artifact:"


def verify_receipt(receipt: Mapping[str, Any], text_of: TextOf) -> list[str]:
    """What is wrong with a receipt, one line each; empty when it is good.

    `text_of` gives the stored text of a SHA-256, or None. Spans are only looked at in a receipt of the right shape.
    """
    try:
        parsed = Receipt.model_validate_json(orjson.dumps(receipt))
    except ValidationError as error:
        return [f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors()]
    except TypeError as error:
        return [f"not JSON: {error}"]
    return [
        *_names(receipt, parsed),
        *_sums(parsed),
        *_gate(receipt),
        *_loose_evidence(parsed),
        *_foreign_evidence(parsed),
        *_spans(parsed, text_of),
    ]


def _names(receipt: Mapping[str, Any], parsed: Receipt) -> Iterator[str]:
    digest = digests.digest_of(receipt)
    if digest != parsed.digest:
        yield f"digest: the content has {digest}, the receipt says {parsed.digest}"
    identity = digests.receipt_id(parsed.document.document_key, parsed.digest)
    if identity != parsed.id:
        yield f"id: document and digest give {identity}, the receipt says {parsed.id}"


def _sums(receipt: Receipt) -> Iterator[str]:
    """Counters against rows; every sum that must hold holds once each counter equals its rows."""
    cite, quotes, works = receipt.cite_check, receipt.quote_integrity, receipt.retraction_sweep
    outcomes = Counter(row.outcome for row in cite.rows)
    verdicts = Counter(row.verdict for row in cite.rows if row.outcome == "checked")
    statuses = Counter(row.status for row in quotes.rows)
    natures = Counter(row.status for row in works.rows)
    styles = Counter(row.status for row in receipt.markers.rows)
    repeats = sum(len(row.members) - 1 for row in receipt.independence.rows)
    reasons = Counter(row.reason for row in cite.rows if row.outcome == "not-checked")
    expected: list[tuple[str, object, object]] = [
        ("cite_check.pairs", cite.pairs, len(cite.rows)),
        ("cite_check.auto_passed", cite.auto_passed, outcomes["auto-passed"]),
        ("cite_check.checked", cite.checked, outcomes["checked"]),
        ("cite_check.not_checked", cite.not_checked, outcomes["not-checked"]),
        ("cite_check.dangling", cite.dangling, outcomes["dangling"]),
        ("cite_check.sampled_for_llm", cite.sampled_for_llm, sum(row.selected is True for row in cite.rows)),
        ("cite_check.verdicts", cite.verdicts.model_dump(by_alias=True), {v: verdicts[v] for v in _VERDICTS}),
        ("cite_check.coverage.not_checked_reasons", cite.coverage.not_checked_reasons, dict(reasons)),
        ("quote_integrity.quotes", quotes.quotes, len(quotes.rows)),
        ("quote_integrity.verified", quotes.verified, statuses["verified"]),
        ("quote_integrity.altered", quotes.altered, statuses["altered"]),
        ("quote_integrity.not_found", quotes.not_found, statuses["not-found"]),
        ("quote_integrity.not_checked", quotes.not_checked, statuses["not-checked"]),
        ("retraction_sweep.works", works.works, len(works.rows)),
        ("retraction_sweep.works", works.works, works.dois_checked + works.unavailable + works.unchecked),
        ("retraction_sweep.retracted", works.retracted, natures["retracted"]),
        ("retraction_sweep.concerns", works.concerns, natures["expression-of-concern"]),
        ("retraction_sweep.corrected", works.corrected, natures["corrected"]),
        ("independence.clusters", receipt.independence.clusters, len(receipt.independence.rows)),
        ("independence.sources", receipt.independence.sources, len(receipt.sources)),
        (
            "independence.effective_sources",
            receipt.independence.effective_sources,
            receipt.independence.sources - repeats,
        ),
        ("markers.total", receipt.markers.total, len(receipt.markers.rows)),
        ("markers.bound", receipt.markers.bound, styles["bound"]),
        ("markers.dangling", receipt.markers.dangling, styles["dangling"]),
        ("markers.unsupported_style", receipt.markers.unsupported_style, styles["unsupported-style"]),
        ("markers.not_a_citation", receipt.markers.not_a_citation, styles["not-a-citation"]),
    ]
    for name, said, counted in expected:
        if said != counted:
            yield f"{name}: says {said}, its rows give {counted}"
    named = {row.pair_id for row in receipt.markers.rows if row.pair_id is not None}
    listed = {row.pair_id for row in cite.rows}
    if named != listed:
        yield f"markers: {len(named ^ listed)} pairs are named by a marker or listed, but not both"
    for row in cite.rows:
        if row.outcome == "auto-passed" and (row.verdict != "supported" or row.evidence is None):
            yield f"pair {row.pair_index}: passed without a reader and without evidence"
        if row.checked != (row.outcome == "checked") or (row.checked and row.verdict is None):
            yield f"pair {row.pair_index}: outcome {row.outcome} does not fit checked = {row.checked}"


_VERDICTS: tuple[Verdict, ...] = ("supported", "partially-supported", "unsupported", "wrong-source")


def _gate(receipt: Mapping[str, Any]) -> Iterator[str]:
    """Judge the content again, under the policy and the waivers that the receipt names, and compare.

    Whether a stage ran is not in a receipt's content: `artifact` checks are taken as they stand.
    """
    stages = [
        (check["name"].removeprefix(_ARTIFACT), check["detail"] if check["outcome"] == "failed" else None)
        for check in receipt["checks"]
        if check["name"].startswith(_ARTIFACT)
    ]
    waivers = [
        Waiver.model_validate({**waiver, "document": receipt["document_id"]})
        for check in receipt["checks"]
        for waiver in check["waivers"]
    ]
    judged = judge(facts_of(receipt, stages), Policy.model_validate(receipt["policy"]), waivers)
    said = {check["name"]: check["outcome"] for check in receipt["checks"]}
    right = {check["name"]: check["outcome"] for check in judged.checks}
    for name in sorted(said.keys() | right.keys()):
        if said.get(name) != right.get(name):
            yield f"checks.{name}: says {said.get(name)}, its rows give {right.get(name)}"
    for waiver in waivers:
        if waiver.until.isoformat() < receipt["created_at"][:10]:
            yield f"waiver of {waiver.what}: had run out on {waiver.until}, before the receipt was made"
    for check in receipt["checks"]:
        if check["ok"] == (check["outcome"] == "failed"):
            yield f"checks.{check['name']}: ok = {check['ok']} does not fit outcome {check['outcome']}"
    for name, value in (("state", judged.state), ("passed", judged.passed)):
        if receipt[name] != value:
            yield f"{name}: says {receipt[name]}, its checks give {value}"


def _spans(receipt: Receipt, text_of: TextOf) -> Iterator[str]:
    texts: dict[str, str | None] = {}
    for where, sha, start, end, words in _places(receipt):
        if sha not in texts:
            texts[sha] = text_of(sha)
            text = texts[sha]
            if text is None:
                yield f"{where}: text {sha} is not stored"
            elif text_sha256(text) != sha:
                yield f"{where}: the text stored as {sha} is another one"
                texts[sha] = None
        text = texts[sha]
        if text is not None and text[start:end] != words:
            yield f"{where}: text {sha[:12]} [{start}:{end}] is {_short(text[start:end])}, not {_short(words)}"


Place = tuple[str, str, int, int, str]


def _places(receipt: Receipt) -> Iterator[Place]:
    """Every (name, text hash, start, end, words) of the receipt: in the document, then in the sources."""
    document = receipt.document.text_sha256
    if document is not None:
        for pair in receipt.cite_check.rows:
            yield (f"pair {pair.pair_index} sentence", document, pair.sentence_start, pair.sentence_end, pair.sentence)
        for quote in receipt.quote_integrity.rows:
            yield (f"quote at {quote.start}", document, quote.start, quote.end, quote.quote)
        for marker in receipt.markers.rows:
            yield (f"marker {marker.marker_index}", document, marker.start, marker.end, marker.text)
        for entry in receipt.references.rows:
            yield (f"reference at {entry.start}", document, entry.start, entry.end, entry.entry)
        for number in receipt.uncited_numbers:
            yield (f"number at {number.start}", document, number.start, number.end, number.number)
        for found in receipt.text_findings:
            yield (f"{found.kind} at {found.start}", document, found.start, found.end, found.text)
    for name, row in _evidence(receipt):
        if row.evidence_text_sha256 and row.evidence_start is not None and row.evidence_end is not None:
            place = (row.evidence_text_sha256, row.evidence_start, row.evidence_end)
            yield (f"{name} evidence", *place, row.evidence or "")


def _evidence(receipt: Receipt) -> Iterator[tuple[str, Evidence]]:
    for pair in receipt.cite_check.rows:
        yield f"pair {pair.pair_index}", pair
    for quote in receipt.quote_integrity.rows:
        yield f"quote at {quote.start}", quote


def _loose_evidence(receipt: Receipt) -> Iterator[str]:
    """Rows whose span columns are neither all there nor all absent."""
    for name, row in _evidence(receipt):
        given = [value is not None for value in row.model_dump(include=set(Evidence.model_fields)).values()]
        if any(given) and not all(given):
            yield f"{name}: evidence without its place"


def _foreign_evidence(receipt: Receipt) -> Iterator[str]:
    """Spans of a text that is not their source's, and verdicts that rest on another source than they may."""
    texts = {source.source_key: source.text_sha256 for source in receipt.sources}
    for name, row in _evidence(receipt):
        if row.evidence_source_key is not None and texts.get(row.evidence_source_key) != row.evidence_text_sha256:
            yield f"{name}: its evidence is not of the text of a source of this document"
    for pair in receipt.cite_check.rows:
        rests_on = {"supported": pair.source_key, "wrong-source": pair.correct_source_key}
        if pair.verdict in rests_on and pair.evidence_source_key not in (None, rests_on[pair.verdict]):
            yield f"pair {pair.pair_index}: {pair.verdict}, with evidence from another source than it may rest on"
    for quote in receipt.quote_integrity.rows:
        if quote.status == "verified" and quote.evidence_source_key not in (None, quote.source_key):
            yield f"quote at {quote.start}: verified, with evidence from another source than the cited one"


def _short(words: str, shown: int = 60) -> str:
    return repr(words if len(words) <= shown else words[: shown - 1] + "…")
