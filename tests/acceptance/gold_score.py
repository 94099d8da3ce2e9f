"""Precision and recall of the extractor on the gold set of cited sentences (GOLD.md).

    python tests/acceptance/gold_score.py CORPORA

CORPORA is the folder of corpora. Counted are (sentence, source) couples. A predicted pair belongs to a gold sentence
when the two spans share more than half of the shorter; what it cites there beyond the gold is a false positive.
Every mismatch is listed by document and offsets, with a little of the text around it.
"""

from __future__ import annotations

import json
import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import py3langid

from tests.acceptance.gold_draw import normal_form, read_documents, sha256
from verification_pipeline.citations import SourceCatalogue, extract
from verification_pipeline.config import Settings
from verification_pipeline.keys import document_key, source_key, text_sha256
from verification_pipeline.records import Citations, Document, Pair, Source
from verification_pipeline.text.addresses import canonical_url

GOLD = Path(__file__).with_name("gold_citations.jsonl")
LANGUAGE_CHARS = 3_000
SHOWN = 60
_MARKERS = re.compile(r"\[\[?[^\]]*\]\]?(?:\([^)\s]*\))?")


@dataclass(frozen=True)
class Outcome:
    """A gold sentence and what the extractor cites in it."""

    gold: dict[str, Any]
    text: str
    cited: frozenset[str]
    dangling: frozenset[str]
    spans: frozenset[tuple[int, int]]

    @property
    def expected(self) -> frozenset[str]:
        """The source ids that the gold has."""
        return frozenset(self.gold["targets"])

    @property
    def faulty(self) -> bool:
        """Whether the extractor cites anything else than the gold."""
        return self.cited != self.expected or self.dangling != frozenset(self.gold["dangling"])

    @property
    def same_span(self) -> bool:
        """Whether the extractor's sentence is the gold's, but for markers and markup at its ends."""
        start, end = self.gold["start"], self.gold["end"]
        return all(
            self._no_words(min(first, start), max(first, start)) and self._no_words(min(last, end), max(last, end))
            for first, last in self.spans
        )

    def _no_words(self, start: int, end: int) -> bool:
        return not any(character.isalnum() for character in _MARKERS.sub("", self.text[start:end]))


@dataclass(frozen=True)
class Score:
    """Couples found, couples too many, couples missed."""

    right: int
    extra: int
    missed: int

    @property
    def precision(self) -> float:
        """Of the predicted couples, the share that the gold has."""
        return self.right / (self.right + self.extra) if self.right + self.extra else 1.0

    @property
    def recall(self) -> float:
        """Of the gold's couples, the share predicted."""
        return self.right / (self.right + self.missed) if self.right + self.missed else 1.0

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall."""
        total = 2 * self.right + self.extra + self.missed
        return 2 * self.right / total if total else 1.0


def outcomes(corpora: Path) -> Iterator[Outcome]:
    """Every gold sentence with what the extractor cites there, in the order of the gold."""
    wanted: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for line in GOLD.read_text("utf-8").split("\n"):
        if line:
            row = json.loads(line)
            wanted[row["corpus"]].append(row)
    for corpus, rows in wanted.items():
        documents = {document["id"]: document for document in read_documents(corpora, corpus)}
        for row in rows:
            given = documents[row["document_id"]]
            text = normal_form(given["markdown"])
            assert sha256(text) == row["text_sha256"], f"{row['document_id']}: another text than the one read"
            assert sha256(text[row["start"] : row["end"]]) == row["sentence_sha256"], row["document_id"]
            citations, ids = cite(corpus, given, text)
            pairs = [pair for pair in citations.pairs if _same(pair, row)]
            yield Outcome(
                gold=row,
                text=text,
                cited=frozenset(ids[pair.source_key] for pair in pairs if pair.source_key is not None),
                dangling=frozenset(pair.n or pair.marker.strip("[]") for pair in pairs if pair.source_key is None),
                spans=frozenset((pair.sentence_start, pair.sentence_end) for pair in pairs),
            )


def cite(corpus: str, given: dict[str, Any], text: str) -> tuple[Citations, dict[str, str]]:
    """A document through the extractor alone, and the id of each of its source keys."""
    document_id = given["id"]
    language, _ = py3langid.classify(text[:LANGUAGE_CHARS])
    document = Document(
        document_key=document_key(corpus, document_id),
        corpus=corpus,
        document_id=document_id,
        text=text,
        text_sha256=text_sha256(text),
        language=str(language),
    )
    sources = [source_of(corpus, document_id, row) for row in given["sources"]]
    citations = extract(document, sources, SourceCatalogue.build(()), Settings())
    return citations, {source.source_key: source.source_id for source in sources}


def source_of(corpus: str, document_id: str, row: dict[str, Any]) -> Source:
    """A source of a document as the reader would hand it over."""
    source_id, url, text = str(row["id"]), row.get("url"), row.get("text")
    text = text if isinstance(text, str) else ""  # two texts are the bare word NaN
    return Source(
        source_key=source_key(corpus, document_id, source_id),
        source_id=source_id,
        document_id=document_id,
        n=row.get("n"),
        url=url,
        canonical_url=canonical_url(url) if url else None,
        title=row.get("title"),
        status="ok" if text else "empty",
        text_sha256=text_sha256(text) if text else None,
    )


def _same(pair: Pair, row: dict[str, Any]) -> bool:
    start: int = row["start"]
    end: int = row["end"]
    shared = min(pair.sentence_end, end) - max(pair.sentence_start, start)
    return 2 * shared > min(pair.sentence_end - pair.sentence_start, end - start)


def score(found: Iterable[Outcome]) -> Score:
    """The couples of these sentences, counted."""
    right = extra = missed = 0
    for outcome in found:
        right += len(outcome.cited & outcome.expected)
        extra += len(outcome.cited - outcome.expected)
        missed += len(outcome.expected - outcome.cited)
    return Score(right, extra, missed)


def report(found: list[Outcome]) -> Iterator[str]:
    """The figures with and without the disputed sentences, and every mismatch."""
    yield f"{'':34}{'sentences':>10}{'right':>7}{'extra':>7}{'missed':>7}{'P':>8}{'R':>8}{'F1':>8}"
    undisputed = [outcome for outcome in found if not outcome.gold["disputed"]]
    for title, group in (("without the disputed", undisputed), ("with the disputed", found)):
        yield _line(title, group)
        for corpus in dict.fromkeys(outcome.gold["corpus"] for outcome in group):
            yield _line(f"  {corpus}", [outcome for outcome in group if outcome.gold["corpus"] == corpus])
    cited = [outcome for outcome in undisputed if outcome.spans]
    same = sum(outcome.same_span for outcome in cited)
    yield f"undisputed cited sentences with the gold's span, end markers and markup aside: {same} of {len(cited)}"
    for outcome in found:
        if outcome.faulty:
            yield from _mismatch(outcome)


def _line(title: str, group: list[Outcome]) -> str:
    counted = score(group)
    return (
        f"{title:34}{len(group):>10}{counted.right:>7}{counted.extra:>7}{counted.missed:>7}"
        f"{counted.precision:>8.4f}{counted.recall:>8.4f}{counted.f1:>8.4f}"
    )


def _mismatch(outcome: Outcome) -> Iterator[str]:
    row, text = outcome.gold, outcome.text
    yield f"{row['corpus']} {row['document_id']} {row['start']}-{row['end']} {'(disputed)' if row['disputed'] else ''}"
    yield f"  missed {sorted(outcome.expected - outcome.cited)}, extra {sorted(outcome.cited - outcome.expected)}"
    if outcome.dangling != frozenset(row["dangling"]):
        yield f"  dangling {sorted(outcome.dangling)}, in the gold {row['dangling']}"
    yield f"  spans {sorted(outcome.spans)}"
    yield f"  {text[row['start'] : row['start'] + SHOWN]!r} … {text[row['end'] - SHOWN : row['end'] + SHOWN]!r}"


def main(corpora: Path) -> None:
    """Print the report."""
    for line in report(list(outcomes(corpora))):
        print(line)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
