"""The receipt's schema, versioned: what a receipt holds, field by field, and the JSON Schema made from it.

The shape is the seed's (`verification-receipt`): a pass or fail flag, a checklist and four tables; what this
pipeline adds (states, spans with hashes, reasons, waivers, coverage) stands beside it. Receipts are assembled as plain
dicts (`assembly`) and validated by these models in tests, in `verify` and by readers: nothing here computes.

`receipt.schema.json` is generated from these models (`verification_pipeline.dictionary`).
"""

from __future__ import annotations

import datetime as dt
from typing import Annotated, Any, Literal

import orjson
from pydantic import BaseModel, ConfigDict, Field

SCHEMA_VERSION = "1.0"
"""Version of the receipt's shape. Minor: fields were added. Major: fields changed meaning or went."""

Outcome = Literal["passed", "warning", "failed", "skipped"]
State = Literal["passed", "failed", "not-verified"]
Verdict = Literal["supported", "partially-supported", "unsupported", "wrong-source"]
PairOutcome = Literal["auto-passed", "checked", "not-checked", "dangling"]
QuoteStatus = Literal["verified", "altered", "not-found", "not-checked"]
WorkStatus = Literal["ok", "retracted", "expression-of-concern", "corrected", "unavailable"]
MarkerStatus = Literal["bound", "dangling", "unsupported-style", "not-a-citation"]
ClusterKind = Literal["url", "body", "wire"]

Hash = Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")]
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Count = Annotated[int, Field(ge=0)]
Share = Annotated[float, Field(ge=0, le=1)]


class Part(BaseModel):
    """A frozen part of the receipt; unknown fields are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Evidence(Part):
    """The exact place a row rests on: slicing the stored text by code points gives `evidence`."""

    evidence: str | None
    evidence_source_key: Hash | None
    evidence_text_sha256: Sha256 | None
    evidence_start: Count | None
    evidence_end: Count | None


class Engine(Part):
    """What produced the receipt."""

    verification_pipeline: str = Field(description="Version of this package.")


class Billing(Part):
    """What reading this document cost in the run that first produced the receipt."""

    llm_pairs: Count = Field(description="Pairs graded by a model behind an interface that bills.")
    price_cents: float = Field(ge=0)


class Provenance(Part):
    """What belongs to the run and not to the result: outside the digest."""

    as_of: dt.date = Field(description="Day on which the statuses of cited works were read.")
    request_keys: dict[str, str] = Field(description="pair_id to the ledger key of the request that graded it.")


class DocumentPart(Part):
    """The document that was checked; offsets of the receipt are code points into the text of this hash."""

    document_key: Hash
    title: str | None
    date: dt.date | None
    url: str | None
    language: str | None
    status: Literal["ok", "unreadable", "empty", "too-large"]
    reason: str | None
    text_sha256: Sha256 | None
    n_chars: Count


class Waived(Part):
    """A waiver that turned a failure into a warning."""

    what: str
    by: str
    until: dt.date
    why: str


class PolicyPart(Part):
    """What the gate let through."""

    allow_unsupported: bool


class Check(Part):
    """A row of the ship-gate checklist. `ok` is false only for `failed`."""

    name: str
    ok: bool
    outcome: Outcome
    detail: str
    waivers: list[Waived]


class Verdicts(Part):
    """Graded pairs by verdict; auto-passed pairs are outside."""

    supported: Count
    partially_supported: Count = Field(alias="partially-supported")
    unsupported: Count
    wrong_source: Count = Field(alias="wrong-source")


class Coverage(Part):
    """How much of the document was really read. Shares are null when their denominator is empty."""

    settled: Share | None = Field(description="(auto_passed + checked) / pairs.")
    read: Share | None = Field(description="checked / (pairs - auto_passed - dangling).")
    not_checked_reasons: dict[str, Count]


class PairRow(Evidence):
    """One (claim, cited target) pair; every pair of the document has a row."""

    pair_index: Count
    pair_id: Hash
    sentence: str
    sentence_start: Count
    sentence_end: Count
    claim: str
    context: str | None
    marker: str
    n: str | None
    note_id: str | None
    target: str
    locator: str | None
    source_key: Hash | None
    source_id: str | None
    outcome: PairOutcome
    reason: str | None = Field(description="Why the pair is dangling or was not checked.")
    rule: str | None = Field(description="Rule that passed it without a reader.")
    refused_by: str | None = Field(description="Guard that refused such a pass.")
    strong: bool
    strong_markers: list[str]
    selected: bool | None
    stratum: str | None
    probability: Share | None
    checked: bool
    verdict: Verdict | None
    contradicted: bool
    severity: Literal["critical", "major"] | None
    suggested_fix: str | None
    rationale: str | None
    correct_source_key: Hash | None
    correct_source_id: str | None
    confidence: Share | None
    checker: str | None
    model: str | None
    prompt_version: str | None
    first_checker: str | None
    first_confidence: Share | None


class CiteCheck(Part):
    """Every citation, with the claim it covers. pairs = auto_passed + checked + not_checked + dangling."""

    pairs: Count
    auto_passed: Count
    dangling: Count
    sampled_for_llm: Count
    checked: Count
    not_checked: Count
    verdicts: Verdicts
    contradicted: Count
    coverage: Coverage
    rows: list[PairRow]


class QuoteRow(Evidence):
    """One quoted span; `note_id` is the source it was checked against."""

    quote_id: Hash
    quote: str
    start: Count
    end: Count
    note_id: str | None
    source_key: Hash | None
    status: QuoteStatus
    reason: str | None
    found_in_note_id: str | None
    found_in_source_key: Hash | None
    closest_span: str | None
    edit_distance: Count | None
    edits: list[str] | None


class QuoteIntegrity(Part):
    """Every quoted span. quotes = verified + altered + not_found + not_checked."""

    quotes: Count
    verified: Count
    altered: Count
    not_found: Count
    not_checked: Count
    misattributed: Count = Field(description="Of not_found: the words stand in another source of the document.")
    rows: list[QuoteRow]


class WorkRow(Part):
    """One cited work and its status."""

    work_id: str
    doi: str | None
    pmid: str | None
    title: str | None
    source_key: Hash | None
    status: WorkStatus
    date: dt.date | None
    notice_url: str | None
    flags: list[str]
    registers: list[str]
    disagreement: str | None
    stale: bool
    reason: str | None
    cited: bool
    start: Count | None
    noted_in_document: bool
    noted_span: str | None


class RetractionSweep(Part):
    """Every cited work. works = dois_checked + unavailable + unchecked."""

    works: Count
    dois_checked: Count = Field(description="Works for which every required register answered.")
    retracted: Count
    concerns: Count
    corrected: Count
    unavailable: Count = Field(description="Works asked about without an answer.")
    unchecked: Count = Field(description="Works that were not asked about: no identifier, or no register.")
    registers: list[str] = Field(description="Registers that answered for some work.")
    registers_not_asked: list[str]
    rows: list[WorkRow]


class ClusterRow(Part):
    """Sources that are one voice; members and their keys run in parallel."""

    cluster_id: Hash
    kind: ClusterKind
    root: str
    root_source_key: Hash
    members: list[str]
    member_source_keys: list[Hash]
    weakest_link: float | None


class Independence(Part):
    """Voices: effective_sources = sources minus the repeats inside clusters."""

    sources: Count
    clusters: Count
    effective_sources: Count
    rows: list[ClusterRow]


class MarkerRow(Part):
    """One cited target of a marker, bound or not."""

    marker_index: Count
    text: str
    start: Count
    end: Count
    kind: str
    status: MarkerStatus
    reason: str | None
    pair_id: Hash | None


class Markers(Part):
    """Every marker. total = bound + dangling + unsupported_style + not_a_citation."""

    total: Count
    bound: Count
    dangling: Count
    unsupported_style: Count
    not_a_citation: Count
    rows: list[MarkerRow]


class ReferenceRow(Part):
    """An entry of the reference list that could not be resolved to one source."""

    n: str | None
    entry: str
    start: Count
    end: Count
    conflict: str


class References(Part):
    """The reference list; `rows` holds the entries in conflict."""

    entries: Count
    resolved: Count
    conflicts: Count
    rows: list[ReferenceRow]


class NumberRow(Part):
    """A number of an uncited sentence that stands in no source of the document."""

    start: Count
    end: Count
    number: str


class FindingRow(Part):
    """Something the text itself shows: a leaked prompt, copied code without a citation."""

    kind: str
    start: Count
    end: Count
    text: str
    detail: str | None


class SourceRow(Part):
    """One of the document's own sources, and the text that was read."""

    source_key: Hash
    source_id: str
    n: int | None
    url: str | None
    title: str | None
    status: Literal["ok", "empty", "title-only", "challenge-page", "unreadable"]
    reason: str | None
    text_sha256: Sha256 | None


class Receipt(Part):
    """The machine-readable record of every check run against one document."""

    version: Literal["1.0"]
    id: Hash
    digest: Sha256
    passed: bool
    state: State
    created_at: dt.datetime
    run_id: str
    engine: Engine
    billing: Billing
    provenance: Provenance
    corpus: str
    document_id: str
    document: DocumentPart
    policy: PolicyPart
    checks: list[Check]
    cite_check: CiteCheck
    quote_integrity: QuoteIntegrity
    retraction_sweep: RetractionSweep
    independence: Independence
    markers: Markers
    references: References
    uncited_numbers: list[NumberRow]
    text_findings: list[FindingRow]
    sources: list[SourceRow]


def json_schema() -> dict[str, Any]:
    """The published JSON Schema of a receipt."""
    schema = Receipt.model_json_schema(mode="validation")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"Verification receipt {SCHEMA_VERSION}",
        **{k: v for k, v in schema.items() if k != "title"},
    }


def schema_bytes() -> bytes:
    """The JSON Schema as the file that is published."""
    return orjson.dumps(json_schema(), option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
