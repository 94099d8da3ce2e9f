"""A small archive built row by row: frames of every table, with texts, for tests of what reads tables.

Rows are given as keyword arguments over neutral defaults; keys are real keys, spans are found by searching, so that
what a test says about a text is true of the text.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from verification_pipeline import keys
from verification_pipeline.receipts import ReceiptInputs, RunInfo
from verification_pipeline.receipts.inputs import input_tables
from verification_pipeline.tables import SPANS, TABLES

NIGHT = dt.date(2026, 3, 4)


def run_info(**changes: Any) -> RunInfo:
    """A run of 4 March 2026."""
    values: dict[str, Any] = {
        "run_id": "run-1",
        "created_at": dt.datetime(2026, 3, 4, 2, 30, tzinfo=dt.UTC),
        "day": NIGHT,
        "as_of": NIGHT,
        "engine": "0.1.0",
        "registers": ("crossref", "retraction-watch"),
    }
    return RunInfo(**{**values, **changes})


_DEFAULTS: dict[str, Any] = {
    "scope": "sentence",
    "strong": False,
    "strong_markers": [],
    "numbers": [],
    "claim_spans": [],
    "contradicted": False,
    "checked": False,
    "selected": True,
    "stratum": "rest",
    "probability": 1.0,
    "n_chars": 0,
    "status": "ok",
    "file": "documents.jsonl",
    "owned": True,
    "source_shard": 0,
    "flags": [],
    "registers": ["retraction-watch"],
    "stale": False,
    "cited": True,
    "noted_in_document": False,
    "raw": "",
    "kind": "bracket",
    "valid_from": dt.date(1900, 1, 1),
}


@dataclass
class Archive:
    """Rows by table, and the texts they point into."""

    corpus: str = "notes"
    rows: dict[str, list[dict[str, Any]]] = field(default_factory=lambda: {name: [] for name in TABLES})
    texts: dict[str, str] = field(default_factory=dict)

    def add(self, table: str, **values: Any) -> dict[str, Any]:
        """A row of a table: given values, then defaults, else null."""
        foreign = set(values) - set(TABLES[table].schema)
        assert not foreign, foreign
        row = {c.name: values.get(c.name, None if c.nullable else _DEFAULTS.get(c.name)) for c in TABLES[table].columns}
        self.rows[table].append(row)
        return row

    def keep(self, text: str | None) -> dict[str, Any]:
        """Store a text; the columns that name it."""
        if text is None:
            return {"text_sha256": None, "n_chars": 0}
        sha = keys.text_sha256(text)
        self.texts[sha] = text
        return {"text_sha256": sha, "n_chars": len(text)}

    def document(self, document_id: str, text: str | None, **values: Any) -> str:
        """A document; its key."""
        key = keys.document_key(self.corpus, document_id)
        self.add(
            "documents",
            **{"document_key": key, "corpus": self.corpus, "document_id": document_id, **self.keep(text), **values},
        )
        return key

    def source(self, document: str, source_id: str, text: str | None, **values: Any) -> str:
        """One of a document's own sources; its key."""
        document_id = self._document(document)["document_id"]
        key = keys.source_key(self.corpus, document_id, source_id)
        mine = {"source_key": key, "corpus": self.corpus, "document_key": document, "document_id": document_id}
        self.add("sources", **{**mine, "source_id": source_id, **self.keep(text), **values})
        self.add("document_sources", document_key=document, source_key=key)
        return key

    def pair(self, document: str, claim: str, source: str | None, *, marker: str = "[1]", **values: Any) -> str:
        """A pair whose sentence is `claim` + ` marker.`, its marker row too; the pair's id."""
        text = self.text_of_document(document)
        target = "" if source is None else self._source(source)["source_id"]
        identity = keys.pair_id(document, claim, target or marker, 0)
        index = sum(row["document_key"] == document for row in self.rows["pairs"])
        start = text.index(claim)
        end = text.index(marker, start) + len(marker)
        status = values.get("status", "bound" if source else "dangling")
        self.add(
            "pairs",
            **{
                "pair_id": identity,
                "document_key": document,
                "pair_index": index,
                "sentence": text[start:end],
                "sentence_start": start,
                "sentence_end": end,
                "claim": claim,
                "claim_spans": [{"start": start, "end": start + len(claim)}],
                "marker": marker,
                "n": marker.strip("[]") if marker.strip("[]").isdigit() else None,
                "target": target or marker,
                "source_key": source,
                **values,
                "status": status,
            },
        )
        self.add(
            "markers",
            document_key=document,
            marker_index=len([row for row in self.rows["markers"] if row["document_key"] == document]),
            pair_id=identity,
            text=marker,
            start=end - len(marker),
            end=end,
            target=target or marker,
            source_key=source,
            status="bound" if source else "dangling",
        )
        return identity

    def passed(self, pair: str, words: str, rule: str = "words") -> None:
        """Triage passed the pair on these words of its source."""
        row = self._pair(pair)
        self._triage(pair, outcome="auto-passed", rule=rule, **self.span(row["source_key"], words))

    def graded(self, pair: str, verdict: str, words: str | None = None, **values: Any) -> None:
        """A checker graded the pair, on these words of its source (or of `correct_source_key`)."""
        self._triage(pair, outcome="needs-checker", refused_by="no-window")
        row = self._pair(pair)
        self.add("batches", pair_id=pair, document_key=row["document_key"], **_only("batches", values))
        span = {} if words is None else self.span(values.get("correct_source_key") or row["source_key"], words)
        given = {"checked": True, "verdict": verdict, "checker": "embedded", "confidence": 0.9, **span}
        self.add("verdicts", pair_id=pair, document_key=row["document_key"], **{**given, **_only("verdicts", values)})

    def unread(self, pair: str, reason: str, **values: Any) -> None:
        """The pair has no verdict, for this reason."""
        row = self._pair(pair)
        uncheckable = row["status"] == "uncheckable"
        self._triage(pair, outcome="uncheckable" if uncheckable else "needs-checker")
        if not uncheckable:
            selected = {"selected": reason != "not-selected", **_only("batches", values)}
            self.add("batches", pair_id=pair, document_key=row["document_key"], **selected)
        self.add("verdicts", pair_id=pair, document_key=row["document_key"], not_checked_reason=reason)

    def dangling(self, pair: str) -> None:
        """Triage of a dangling pair."""
        self._triage(pair, outcome="dangling")

    def quote(self, document: str, quote: str, source: str | None, status: str, **values: Any) -> str:
        """A quoted span of the document; its id."""
        start = self.text_of_document(document).index(quote)
        identity = keys.quote_id(document, quote, 0)
        span = self.span(source, quote) if status == "verified" and source else {}
        place = {"start": start, "end": start + len(quote), "source_key": source, "status": status}
        self.add(
            "quotes", **{"quote_id": identity, "document_key": document, "quote": quote, **place, **span, **values}
        )
        return identity

    def work(self, document: str, work_id: str, status: str | None = None, **values: Any) -> str:
        """A cited work and, unless None, its status."""
        doi = work_id.removeprefix("doi:") if work_id.startswith("doi:") else None
        self.add("doi_mentions", document_key=document, work_id=work_id, doi=doi, **_only("doi_mentions", values))
        if status and all(row["work_id"] != work_id for row in self.rows["doi_statuses"]):
            self.add("doi_statuses", work_id=work_id, doi=doi, status=status, **_only("doi_statuses", values))
        return work_id

    def cluster(self, document: str | None, kind: str, *members: str, **values: Any) -> str:
        """Sources that are one voice; the first is the root."""
        identity = keys.cluster_id(document, members[0])
        for member in members:
            values = {"similarity": 0.9, "weakest_link": 0.8, **values}
            place = {"cluster_id": identity, "document_key": document, "kind": kind, "root": members[0]}
            self.add("clusters", **place, source_key=member, **values)
        return identity

    def span(self, source: str, words: str) -> dict[str, Any]:
        """Evidence columns of the first place of these words in a source."""
        sha = self._source(source)["text_sha256"]
        start = self.texts[sha].index(words)
        return {
            "evidence_source_key": source,
            "evidence_text_sha256": sha,
            "evidence_start": start,
            "evidence_end": start + len(words),
            "evidence": words,
        }

    def frame(self, table: str) -> pl.DataFrame:
        """A table's frame."""
        columns = TABLES[table].columns
        data = {c.name: [row[c.name] for row in self.rows[table]] for c in columns}
        assert not any(c.dtype == SPANS and None in data[c.name] for c in columns)
        return pl.DataFrame(data, schema=TABLES[table].schema, strict=True)

    def inputs(self) -> ReceiptInputs:
        """What receipts are made from."""
        return ReceiptInputs(**{name: self.frame(name) for name in input_tables()})

    def write(self, folder: Path, shards: int = 2) -> Path:
        """The tables as Parquet, as a store lays them out; empty tables have no file."""
        for name, table in TABLES.items():
            data = self.frame(name)
            if data.is_empty():
                continue
            if table.partitioning == "archive":
                folder.mkdir(parents=True, exist_ok=True)
                data.write_parquet(folder / f"{name}.parquet")
                continue
            (folder / name).mkdir(parents=True, exist_ok=True)
            owner = "document_key" if "document_key" in data.columns else data.columns[0]
            owners = data[owner].fill_null("0" * 32).to_list()
            parts = pl.Series([keys.shard_of(o, shards) if len(o) == 32 else 0 for o in owners])
            for shard in range(shards):
                data.filter(parts == shard).write_parquet(folder / name / f"{shard:03d}.parquet")
        return folder

    def text_of_document(self, document: str) -> str:
        """A document's text."""
        return self.texts[self._document(document)["text_sha256"]]

    def _triage(self, pair: str, **values: Any) -> None:
        self.add("triage", pair_id=pair, document_key=self._pair(pair)["document_key"], **values)

    def _document(self, key: str) -> dict[str, Any]:
        return next(row for row in self.rows["documents"] if row["document_key"] == key)

    def _source(self, key: str) -> dict[str, Any]:
        return next(row for row in self.rows["sources"] if row["source_key"] == key)

    def _pair(self, identity: str) -> dict[str, Any]:
        return next(row for row in self.rows["pairs"] if row["pair_id"] == identity)


def _only(table: str, values: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if name in TABLES[table].schema}


def storage_archive() -> Archive:
    """Three documents: one with every kind of fault, one that is fine, one that could not be read."""
    archive = Archive()
    _faulty(archive)
    fine = archive.document("fine; --", "Tides rose by 5 mm in 2020 [1].", title="Tides", language="en")
    tide = archive.source(fine, "1", "The log: tides rose by 5 mm in 2020.", n=1, url="https://tides.example/log")
    archive.passed(
        archive.pair(fine, "Tides rose by 5 mm in 2020", tide, strong=True), "tides rose by 5 mm in 2020", "numbers"
    )
    archive.work(fine, "doi:10.5555/ok.1", "ok", source_key=tide)
    archive.document("torn", None, status="unreadable", reason="not UTF-8")
    return archive


def _faulty(archive: Archive) -> None:
    text = (
        "Storage reached 42 GW in 2024 [1]. It grew 60% year over year [2]. Costs fell to 90 dollars [2].\n\n"
        "Permits take years [3]. Nobody counted them [9]. "
        'The plan "will double the grid before the decade ends" [1].\n\n'
        "Old cells last [4]. Some say more [5].\n"
    )
    key = archive.document("2024-05-01", text, title="Storage", date=dt.date(2024, 5, 1), language="en")
    market = archive.source(
        key,
        "1",
        "Installed capacity stood at 42 GW in 2024. The plan will double the grid before 2030.",
        n=1,
        url="https://market.example/a",
        title="Market",
    )
    lithium = archive.source(
        key, "2", "Lithium permits are slow.", n=2, url="https://lithium.example/b", title="Lithium"
    )
    permits = archive.source(
        key, "3", "A permit takes years; costs fell to 90 dollars.", n=3, url="https://market.example/c"
    )
    cells = archive.source(key, "4", None, n=4, status="empty", reason="no text")
    copy = archive.source(key, "5", "Lithium permits are slow, it says.", n=5, url="https://copy.example/b")
    archive.passed(archive.pair(key, "Storage reached 42 GW in 2024", market, strong=True), "42 GW in 2024", "numbers")
    archive.graded(
        archive.pair(key, "It grew 60% year over year", lithium, marker="[2]", strong=True),
        "unsupported",
        severity="critical",
        suggested_fix="delete sentence",
        rationale="The source gives no growth rate.",
        stratum="strong",
    )
    archive.graded(
        archive.pair(key, "Costs fell to 90 dollars", lithium, marker="[2]", strong=True),
        "wrong-source",
        "costs fell to 90 dollars",
        correct_source_key=permits,
        severity="critical",
        suggested_fix="swap citation",
        rationale="Source 3 says it.",
        stratum="strong",
        checker="openai",
        model="m",
        prompt_version="1",
        request_key="r1",
    )
    archive.graded(
        archive.pair(key, "Permits take years", permits, marker="[3]"),
        "supported",
        "A permit takes years",
        probability=0.5,
    )
    archive.dangling(archive.pair(key, "Nobody counted them", None, marker="[9]"))
    archive.unread(
        archive.pair(key, "Old cells last", cells, marker="[4]", status="uncheckable", reason="no-text"), "no-text"
    )
    archive.unread(archive.pair(key, "Some say more", copy, marker="[5]"), "not-selected", probability=0.5)
    archive.quote(
        key,
        "will double the grid before the decade ends",
        market,
        "altered",
        closest_span="will double the grid before 2030",
        edit_distance=14,
        edits=["the decade ends → 2030"],
    )
    archive.work(
        key,
        "doi:10.5555/bad.1",
        "retracted",
        date=dt.date(2025, 1, 2),
        notice_url="https://doi.org/10.5555/n",
        source_key=permits,
    )
    archive.work(key, f"source:{market}", source_key=market)
    archive.cluster(key, "body", lithium, copy)
    archive.add("uncited_numbers", document_key=key, start=16, end=18, number="42")
