"""The receipt's parts from the rows of one document: every table with its counters. Nothing here judges."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from verification_pipeline.receipts.models import SCHEMA_VERSION
from verification_pipeline.receipts.rows import NEVER_ASKED, DocumentRows, Row


def content_of(parts: DocumentRows, registers: Sequence[str]) -> Row:
    """The receipt of a document without its judgement and without what the run adds."""
    document = parts.document
    return {
        "version": SCHEMA_VERSION,
        "corpus": document["corpus"],
        "document_id": document["document_id"],
        "document": {name: document[name] for name in _DOCUMENT_FIELDS},
        "cite_check": _cite_check(parts.rows("pairs")),
        "quote_integrity": _quote_integrity(parts.rows("quotes")),
        "retraction_sweep": _retraction_sweep(parts.rows("works"), registers),
        "independence": _independence(parts.rows("clusters"), len(parts.rows("sources"))),
        "markers": _markers(parts.rows("markers")),
        "references": _references(parts.rows("references")),
        "uncited_numbers": parts.rows("numbers"),
        "text_findings": parts.rows("findings"),
        "sources": parts.rows("sources"),
    }


_DOCUMENT_FIELDS = ("document_key", "title", "date", "url", "language", "status", "reason", "text_sha256", "n_chars")


def _cite_check(pairs: list[Row]) -> Row:
    outcomes = Counter(pair["outcome"] for pair in pairs)
    graded = [pair for pair in pairs if pair["checked"]]
    verdicts = Counter(pair["verdict"] for pair in graded)
    readable = len(pairs) - outcomes["auto-passed"] - outcomes["dangling"]
    return {
        "pairs": len(pairs),
        "auto_passed": outcomes["auto-passed"],
        "dangling": outcomes["dangling"],
        "sampled_for_llm": sum(pair["selected"] is True for pair in pairs),
        "checked": outcomes["checked"],
        "not_checked": outcomes["not-checked"],
        "verdicts": {v: verdicts[v] for v in ("supported", "partially-supported", "unsupported", "wrong-source")},
        "contradicted": sum(pair["contradicted"] for pair in graded),
        "coverage": {
            "settled": _share(outcomes["auto-passed"] + outcomes["checked"], len(pairs)),
            "read": _share(outcomes["checked"], readable),
            "not_checked_reasons": dict(Counter(p["reason"] for p in pairs if p["outcome"] == "not-checked")),
        },
        "rows": pairs,
    }


def _quote_integrity(quotes: list[Row]) -> Row:
    statuses = Counter(quote["status"] for quote in quotes)
    return {
        "quotes": len(quotes),
        "verified": statuses["verified"],
        "altered": statuses["altered"],
        "not_found": statuses["not-found"],
        "not_checked": statuses["not-checked"],
        "misattributed": sum(_misattributed(quote) for quote in quotes),
        "rows": quotes,
    }


def _misattributed(quote: Row) -> bool:
    return quote["status"] == "not-found" and quote["found_in_source_key"] is not None


def _retraction_sweep(works: list[Row], known: Sequence[str]) -> Row:
    asked = [work for work in works if work["status"] != "unavailable" or work["reason"] not in NEVER_ASKED]
    statuses = Counter(work["status"] for work in asked)
    answered = sorted({register for work in asked for register in work["registers"]})
    return {
        "works": len(works),
        "dois_checked": len(asked) - statuses["unavailable"],
        "retracted": statuses["retracted"],
        "concerns": statuses["expression-of-concern"],
        "corrected": statuses["corrected"],
        "unavailable": statuses["unavailable"],
        "unchecked": len(works) - len(asked),
        "registers": answered,
        "registers_not_asked": sorted(set(known) - set(answered)),
        "rows": works,
    }


def _independence(clusters: list[Row], sources: int) -> Row:
    repeats = sum(len(cluster["members"]) - 1 for cluster in clusters)
    return {
        "sources": sources,
        "clusters": len(clusters),
        "effective_sources": sources - repeats,
        "rows": clusters,
    }


def _markers(markers: list[Row]) -> Row:
    statuses = Counter(marker["status"] for marker in markers)
    return {
        "total": len(markers),
        "bound": statuses["bound"],
        "dangling": statuses["dangling"],
        "unsupported_style": statuses["unsupported-style"],
        "not_a_citation": statuses["not-a-citation"],
        "rows": markers,
    }


def _references(entries: list[Row]) -> Row:
    conflicts = [entry for entry in entries if entry["conflict"] is not None]
    return {
        "entries": len(entries),
        "resolved": sum(entry["source_key"] is not None for entry in entries),
        "conflicts": len(conflicts),
        "rows": [{name: entry[name] for name in ("n", "entry", "start", "end", "conflict")} for entry in conflicts],
    }


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None
