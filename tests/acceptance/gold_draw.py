"""The places at which the gold set of cited sentences was read, drawn by a fixed seed from the raw markdown alone.

    python tests/acceptance/gold_draw.py CORPORA

CORPORA is the folder of corpora. Every document is drawn at most once. Five places of six stand at an opening
square bracket, which may open a citation or anything else; the sixth stands in text with no bracket near it. The
extractor has no part in the draw. For each place the surrounding text is printed with its offset, for reading.
"""

from __future__ import annotations

import hashlib
import json
import random
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

DRAWS = {
    "expertqa_answers": 42,
    "scholarqabench_human": 42,
    "deepscholar_related_work": 42,
    "drb_onyx": 42,
    "freshwiki": 42,
    "drb_langchain_odr_gpt-5": 30,
}
SEED = 20260731
BARE_EVERY = 6
BARE_RADIUS = 90
SHOWN_BEFORE = 700
SHOWN_AFTER = 700


@dataclass(frozen=True)
class Place:
    """A drawn place: an offset into the normal form of a document's text."""

    corpus: str
    number: int
    document_id: str
    text: str
    offset: int
    source_ids: tuple[str, ...]


def normal_form(markdown: str) -> str:
    r"""The text that offsets count in: \r\n as \n, no leading byte order mark."""
    return markdown.removeprefix("\ufeff").replace("\r\n", "\n")


def sha256(text: str) -> str:
    """The hex SHA-256 of the UTF-8 of a text."""
    return hashlib.sha256(text.encode()).hexdigest()


def read_documents(corpora: Path, corpus: str) -> list[dict[str, Any]]:
    """The documents of a corpus, in file order."""
    lines = (corpora / f"{corpus}.jsonl").read_text("utf-8").split("\n")
    return [json.loads(line) for line in lines if line.strip()]


def draw(corpora: Path, corpus: str, count: int) -> Iterator[Place]:
    """Draw the places of one corpus."""
    chance = random.Random(f"{SEED} {corpus}")
    documents = read_documents(corpora, corpus)
    chance.shuffle(documents)
    number = 0
    for document in documents:
        if number == count:
            return
        text = normal_form(document["markdown"])
        bare = number % BARE_EVERY == BARE_EVERY - 1
        offsets = [
            offset
            for offset, character in enumerate(text)
            if (
                character.isalnum() and "[" not in text[max(offset - BARE_RADIUS, 0) : offset + BARE_RADIUS]
                if bare
                else character == "["
            )
        ]
        if not offsets:
            continue
        ids = tuple(str(source["id"]) for source in document["sources"])
        yield Place(corpus, number, document["id"], text, chance.choice(offsets), ids)
        number += 1


def main(corpora: Path) -> None:
    """Print every drawn place for reading."""
    for corpus, count in DRAWS.items():
        for place in draw(corpora, corpus, count):
            before = place.text[max(place.offset - SHOWN_BEFORE, 0) : place.offset]
            after = place.text[place.offset : place.offset + SHOWN_AFTER]
            print(f"### {corpus} {place.number}: {place.document_id} at {place.offset} of {len(place.text)}")
            print(f"{before}<<<HERE>>>{after}\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
