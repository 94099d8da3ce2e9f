"""What receipts are made from: the frames of a set of documents, and what the run adds."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass, field, fields

import polars as pl

from verification_pipeline.receipts.waivers import Waiver
from verification_pipeline.tables import TABLES


@dataclass(frozen=True, slots=True)
class ReceiptInputs:
    """Frames with the registered schemas, for the documents in `documents` (other documents' rows are ignored).

    `sources` must hold every source that `document_sources` and the rows name; `doi_statuses` at most one row a work:
    the statuses of the day in question; `clusters` those of document scope; `fingerprints` may be empty when
    `RunInfo.stages` is.
    """

    documents: pl.DataFrame
    sources: pl.DataFrame
    document_sources: pl.DataFrame
    references: pl.DataFrame
    markers: pl.DataFrame
    pairs: pl.DataFrame
    triage: pl.DataFrame
    batches: pl.DataFrame
    verdicts: pl.DataFrame
    quotes: pl.DataFrame
    uncited_numbers: pl.DataFrame
    doi_mentions: pl.DataFrame
    doi_statuses: pl.DataFrame
    clusters: pl.DataFrame
    findings_in_text: pl.DataFrame
    fingerprints: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=TABLES["fingerprints"].schema))


@dataclass(frozen=True, slots=True)
class RunInfo:
    """What the run adds to a receipt. `as_of`: the day of the statuses; `day`: the night, on which waivers hold."""

    run_id: str
    created_at: dt.datetime
    day: dt.date
    as_of: dt.date
    engine: str
    stages: tuple[str, ...] = ()
    """Stages that were supposed to run on every readable document (their fingerprints say whether they did)."""
    registers: tuple[str, ...] = ()
    """Registers known to this package: those that answered nothing are named as not asked."""
    waivers: tuple[Waiver, ...] = ()
    price_cents: Mapping[str, float] = field(default_factory=dict)
    """document_key to what this run paid for it."""


def input_tables() -> tuple[str, ...]:
    """Names of the tables that receipts are made from."""
    return tuple(one.name for one in fields(ReceiptInputs))
