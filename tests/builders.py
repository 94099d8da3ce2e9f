"""Small records for tests, with the fields that a test does not care about filled in."""

from __future__ import annotations

from verification_pipeline import keys
from verification_pipeline.checkers.protocol import Item
from verification_pipeline.records import Document, Evidence, Pair, Source
from verification_pipeline.text.index import IndexedText

DOCUMENT = keys.document_key("corpus", "doc")


def document(text: str = "Text.", **fields) -> Document:
    return Document(DOCUMENT, "corpus", "doc", text, keys.text_sha256(text), **fields)


def evidence(source_id: str, text: str, **fields) -> Evidence:
    source = Source(
        keys.source_key("corpus", "doc", source_id),
        source_id,
        "doc",
        text_sha256=keys.text_sha256(text),
        **fields,
    )
    return Evidence(source, IndexedText(keys.text_sha256(text), text))


def pair(claim: str, *, strong: bool = False, index: int = 0, source_key: str | None = None, **fields) -> Pair:
    defaults = {
        "pair_id": keys.pair_id(DOCUMENT, claim, "1", 0),
        "document_key": DOCUMENT,
        "pair_index": index,
        "sentence": claim,
        "sentence_start": 0,
        "sentence_end": len(claim),
        "claim": claim,
        "claim_spans": ((0, len(claim)),),
        "context": None,
        "marker": "[1]",
        "n": "1",
        "note_id": None,
        "target": "1",
        "source_key": source_key,
        "locator": None,
        "scope": "sentence",
        "status": "bound",
        "reason": None,
        "strong": strong,
        "strong_markers": (),
        "numbers": (),
    }
    return Pair(**{**defaults, **fields})


def item(claim: str, cited: Evidence, *others: Evidence, **fields) -> Item:
    own = {one.source.source_key: one for one in (cited, *others)}
    return Item(pair(claim, source_key=cited.source.source_key, **fields), document(), cited, own)
