"""Drives clustering on small sources with invented prose."""

from __future__ import annotations

import random

from tests.builders import DOCUMENT, evidence
from verification_pipeline import tables
from verification_pipeline.config import Independence
from verification_pipeline.independence import ClusterRow, Member, cluster_archive, cluster_document, measuring, sketch
from verification_pipeline.records import Evidence
from verification_pipeline.stages.voices import SketchRow
from verification_pipeline.text.addresses import canonical_url
from verification_pipeline.text.index import IndexedText

_WORDS = """
the harbour ferry winter council bridge old stone keeper water light paper market of and to in on by with river boat
mill flour rail lock gate diver crack wheat barge canal summer week office clerk night desk garden reed otter weir
crane spring autumn baker bread lamp tower road field sheep wall nettle stream dusk flock glass furnace crown brick
"""
PROSE = _WORDS.split()
_NAMES: dict[str, str] = {}


def text_of(seed: int, words: int) -> str:
    """Sentences of a dozen invented words each, the same for the same seed; a longer text begins with the shorter."""
    rng = random.Random(seed)
    sentences = []
    for _ in range(-(-words // 12)):
        sentence = " ".join(rng.choice(PROSE) for _ in range(12))
        sentences.append(sentence[0].upper() + sentence[1:] + ".")
    return " ".join(" ".join(sentences).split(" ")[:words]).rstrip(".") + "."


def source(source_id: str, text: str | None, **fields) -> Evidence:
    """A source; without text its body is empty and it counts as unreadable."""
    if "url" in fields:
        fields["canonical_url"] = canonical_url(fields["url"])
    made = evidence(source_id, text or "", **fields)
    _NAMES[made.source.source_key] = source_id
    return made if text is not None else Evidence(made.source, IndexedText("", ""))


def clusters_of(*members: Evidence, settings: Independence | None = None) -> list[ClusterRow]:
    settings = settings or Independence()
    own = {one.source.source_key: one for one in members if one.body.sha256}
    sketches = {key: sketch(one, settings) for key, one in own.items()}
    return cluster_document(DOCUMENT, [one.source for one in members], own, sketches, settings)


def archive_of(*members: Evidence) -> tuple[list[ClusterRow], set[str]]:
    """Rows of the whole archive and the keys of the texts that were fetched for them."""
    settings = Independence()
    own = {one.source.source_key: one for one in members}
    rows = [SketchRow.of(sketch(one, settings), None) for one in members]
    fetched: set[str] = set()

    def fetch(key: str) -> IndexedText:
        fetched.add(key)
        return own[key].body

    sources = (Member.of(one.source, settings) for one in members)
    return cluster_archive(sources, tables.frame("sketches", rows), measuring(fetch, settings), settings), fetched


def groups(rows: list[ClusterRow]) -> list[tuple[str, list[str]]]:
    """Kind and source ids of each cluster."""
    found: dict[str, tuple[str, list[str]]] = {}
    for row in rows:
        found.setdefault(row.cluster_id, (row.kind, []))[1].append(_NAMES[row.source_key])
    return sorted((kind, sorted(names)) for kind, names in found.values())
