"""Speed of extraction and triage on one core: pairs a second, and memory, on documents made here and on planted ones.

    python -m tests.benchmarks.extraction_triage [documents]

Word indexes are in place; CPU time is counted. Planted documents are left out where the shared folder is absent.
"""

from __future__ import annotations

import random
import resource
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.benchmarks.word_index import measure
from tests.support.planted import made
from verification_pipeline.citations import SourceCatalogue, extract
from verification_pipeline.config import Settings
from verification_pipeline.keys import document_key, source_key, text_sha256
from verification_pipeline.records import Document, Evidence, Source
from verification_pipeline.text.index import IndexedText
from verification_pipeline.triage import triage, uncited_numbers

_WORDS = [
    "pipeline",
    "turbine",
    "ledger",
    "corridor",
    "council",
    "sensor",
    "harvest",
    "contract",
    "vessel",
    "permit",
    "channel",
    "forest",
    "tariff",
    "module",
    "clinic",
    "survey",
    "regional",
    "stable",
    "seasonal",
    "coastal",
    "federal",
    "costly",
    "narrow",
    "durable",
    "remote",
    "partial",
    "reshaped",
    "delayed",
    "improved",
    "supported",
]
_SOURCES, _PAIRS, _SENTENCES = 30, 67, 130


def one(seed: int) -> tuple[Document, list[Source], dict[str, Evidence]]:
    """A document of 67 citing sentences over 30 sources of about 1,500 words."""
    chance = random.Random(seed)

    def sentence() -> str:
        return " ".join(chance.choices(_WORDS, k=11)).capitalize() + "."

    name = f"d{seed}"
    facts = [
        f"{chance.choice(_WORDS).title()} {chance.choice(_WORDS).title()} Mill {n} reported output of"
        f" {chance.randint(11, 99):,} tonnes in {chance.randint(1990, 2024)}"
        for n in range(_PAIRS)
    ]
    bodies = [[sentence() for _ in range(_SENTENCES)] for _ in range(_SOURCES)]
    cited = [chance.randrange(_SOURCES) for _ in facts]
    for fact, source in zip(facts, cited, strict=True):
        bodies[source].insert(chance.randrange(_SENTENCES), fact + ".")
    paragraphs = [
        " ".join(f"{facts[n]} [{cited[n] + 1}]. {sentence()}" for n in range(first, min(first + 5, _PAIRS)))
        for first in range(0, _PAIRS, 5)
    ]
    sources, evidence = [], {}
    for n, body in enumerate(bodies):
        text, url = " ".join(body), f"https://example.org/{name}/{n}"
        source = Source(source_key("b", name, str(n)), f"s{n}", name, url=url, canonical_url=url, title=f"Report {n}")
        sources.append(source)
        evidence[source.source_key] = Evidence(source, IndexedText(text_sha256(text), text))
    entries = "\n".join(f"[{n + 1}] {source.title}. {source.url}" for n, source in enumerate(sources))
    text = "# Report\n\n" + "\n\n".join(paragraphs) + f"\n\n## Sources\n\n{entries}\n"
    return Document(document_key("b", name), "b", name, text, text_sha256(text)), sources, evidence


def planted(count: int) -> None:
    """Print pairs a second over so many documents of a planted archive."""
    with TemporaryDirectory() as folder:
        archive = made(Path(folder) / "archive", count)
        if archive is None:
            print("planted documents left out: the shared folder is not beside this checkout")
            return
        found = measure(archive, count)
    both = found.extraction + found.triage
    print(f"planted: {found.pairs} pairs; {found.pairs / both:,.0f} pairs a second in extraction and triage")


def main(documents: int) -> None:
    """Print pairs a second of each step over documents made here."""
    settings, shared = Settings(), SourceCatalogue.build(())
    spent = {"extract": 0.0, "triage": 0.0, "uncited numbers": 0.0}
    pairs = passed = 0
    for seed in range(documents):
        document, sources, evidence = one(seed)
        for held in evidence.values():
            len(held.body.index)
        clock = time.process_time()
        citations = extract(document, sources, shared, settings)
        spent["extract"] += time.process_time() - clock
        clock = time.process_time()
        rows = triage(citations.pairs, evidence, settings)
        spent["triage"] += time.process_time() - clock
        clock = time.process_time()
        uncited_numbers(document, citations, evidence, settings)
        spent["uncited numbers"] += time.process_time() - clock
        pairs += len(rows)
        passed += sum(row.outcome == "auto-passed" for row in rows)
    for name, seconds in spent.items():
        print(f"{name:16} {seconds / pairs * 1e6:7.1f} microseconds a pair")
    both = spent["extract"] + spent["triage"]
    print(f"{pairs} pairs, {passed} passed; {pairs / both:,.0f} pairs a second in extraction and triage")
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 50)
    planted(int(sys.argv[1]) if len(sys.argv) > 1 else 50)
