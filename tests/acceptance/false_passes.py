"""Triage against human labels: the share of claims passed among those not labelled supported, per set.

Usage: python tests/acceptance/false_passes.py BENCHMARKS [all|tune|report]. Sources are split by a hash of their text:
thresholds and word lists are chosen on `tune` only, `report` is the other half.
"""

from __future__ import annotations

import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson

from verification_pipeline.citations.strength import strong_markers
from verification_pipeline.config import Settings
from verification_pipeline.keys import pair_id, text_sha256
from verification_pipeline.records import Evidence, Pair, Source
from verification_pipeline.text.index import IndexedText
from verification_pipeline.text.numbers import parse
from verification_pipeline.triage import TriageRow, triage

_MARK = r"\[+(?:\d+(?:\s*[,;–-]\s*\d+)*|CIT|OTHER)\]+"
_MARKERS = re.compile(rf"\s*(?:\((?:[^()]{{0,40}}{_MARK})+[^()]{{0,20}}\)|{_MARK}(?:\s?[,;–-]\s?{_MARK})*)")
"""Numbered markers, and the words that `citation_integrity` has in the place of its own, with brackets round them."""


def labelled(benchmarks: Path, half: str) -> Iterator[tuple[str, dict[str, Any], str]]:
    """Every labelled claim: its set, its row, the text of its source."""
    for path in sorted(benchmarks.glob("*/*.claims.jsonl")):
        texts = {}
        for line in path.with_name(path.name.replace(".claims.", ".sources.")).read_bytes().splitlines():
            row = orjson.loads(line)
            texts[row["id"]] = row["text"]
        for line in path.read_bytes().split(b"\n"):
            claim = orjson.loads(line) if line.strip() else None  # its markers are no part of the claim
            if claim is None or claim["verdict"] is None or not texts.get(claim["source_id"]):
                continue
            text = texts[claim["source_id"]]
            part = "tune" if int(text_sha256(text[:200])[:2], 16) % 2 else "report"
            if half in ("all", part):
                yield path.parent.name, {**claim, "claim": _MARKERS.sub("", claim["claim"])}, text


def pair_of(claim: str, language: str | None, settings: Settings) -> Pair:
    """A bound pair that makes this claim."""
    numbers = parse(claim, language)
    strong = strong_markers(claim, numbers, language, settings.strong)
    return Pair(
        pair_id=pair_id("d", claim, "s", 0),
        document_key="d",
        pair_index=0,
        sentence=claim,
        sentence_start=0,
        sentence_end=len(claim),
        claim=claim,
        claim_spans=((0, len(claim)),),
        context=None,
        marker="[1]",
        n="1",
        note_id=None,
        target="s",
        source_key="s",
        locator=None,
        scope="sentence",
        status="bound",
        reason=None,
        strong=bool(strong),
        strong_markers=strong,
        numbers=tuple(number.text for number in numbers),
    )


def judged(name: str, claim: dict[str, Any], text: str, settings: Settings) -> TriageRow:
    """What triage makes of one labelled claim."""
    language = "zh" if name.endswith("_zh") else None
    evidence = Evidence(Source("s", "s"), IndexedText(text_sha256(text), text))
    return triage([pair_of(claim["claim"], language, settings)], {"s": evidence}, settings, language)[0]


def main(benchmarks: Path, half: str) -> None:
    """Print the table."""
    settings = Settings()
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for name, claim, text in labelled(benchmarks, half):
        row = judged(name, claim, text, settings)
        good = claim["verdict"] == "supported"
        for key in (name, "all sets"):
            counts[key]["supported" if good else "not supported"] += 1
            if row.outcome == "auto-passed":
                counts[key]["passed" if good else "false"] += 1
    print(f"{'set':20} {'not supported':>14} {'passed':>7} {'rate':>7} {'supported':>10} {'passed':>7} {'rate':>7}")
    for name, c in sorted(counts.items(), key=lambda item: (item[0] == "all sets", item[0])):
        false, share = c["false"] / max(1, c["not supported"]), c["passed"] / max(1, c["supported"])
        bad, good = c["not supported"], c["supported"]
        print(f"{name:20} {bad:14} {c['false']:7} {false:7.2%} {good:10} {c['passed']:7} {share:7.2%}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else "all")
