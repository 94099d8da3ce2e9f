"""Waivers: failures that a named person accepts until a named day.

A waiver turns a failure into a warning that shows it; it never hides a row. Where the file lies is the caller's
affair: `parse` takes its content.

    [[waiver]]
    what = "cite-check-resolved"     # a check's name, or the id of one pair, quote or cited work
    document = "reports/2024-07"     # a check may be waived for a document or a corpus, never everywhere
    by = "A. Editor"
    until = 2027-01-31               # the last day on which it holds
    why = "The publisher's table is behind a paywall; checked by hand."
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from verification_pipeline.errors import UsageError
from verification_pipeline.keys import hash_of

_ITEM_PREFIXES = ("doi:", "pmid:", "arxiv:", "source:")


class Waiver(BaseModel):
    """One accepted failure."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    what: str = Field(min_length=1, description="Name of a check, or pair_id, quote_id or work_id.")
    by: str = Field(min_length=1)
    until: dt.date
    why: str = Field(min_length=1)
    corpus: str | None = None
    document: str | None = Field(None, description="document_id.")

    @model_validator(mode="after")
    def _scoped(self) -> Waiver:
        if not self.names_item and self.corpus is None and self.document is None:
            raise ValueError(f"waiver of {self.what!r} must name a document or a corpus")
        return self

    @property
    def names_item(self) -> bool:
        """Whether it waives one pair, quote or work (else a whole check)."""
        is_hash = len(self.what) == 32 and all(c in "0123456789abcdef" for c in self.what)
        return is_hash or self.what.startswith(_ITEM_PREFIXES)

    def applies(self, corpus: str, document_id: str, day: dt.date) -> bool:
        """Whether it holds for this document on this day."""
        return (
            day <= self.until
            and (self.corpus is None or self.corpus == corpus)
            and (self.document is None or self.document == document_id)
        )


def parse(data: Mapping[str, Any], where: str = "waivers.toml") -> tuple[Waiver, ...]:
    """Waivers from the content of a waivers file. UsageError names the entry and what is wrong with it."""
    foreign = sorted(set(data) - {"waiver"})
    entries = data.get("waiver", [])
    if foreign or not isinstance(entries, list):
        raise UsageError(f"{where}: expected only [[waiver]] entries, found {', '.join(foreign) or 'something else'}")
    waivers = []
    for number, entry in enumerate(entries, start=1):
        try:
            waivers.append(Waiver.model_validate(entry))
        except ValidationError as error:
            faults = "; ".join(f"{'.'.join(map(str, e['loc'])) or 'entry'}: {e['msg']}" for e in error.errors())
            raise UsageError(f"{where}, waiver {number}: {faults}") from error
    return tuple(waivers)


def fingerprint(waivers: Iterable[Waiver]) -> str:
    """Hash of the waivers that hold for a document: the component that moves when one is written or runs out."""
    return hash_of(*sorted(waiver.model_dump_json() for waiver in waivers))
