"""The files of a receipt: its JSON for programs and its page for people, side by side under `OUT/receipts`.

A file is written only when what it shows changed. The files of documents that are gone stay until they are pruned.
What a page looks like is said in `receipts.page`; which receipt is current, in `assembling`.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import orjson
import polars as pl

from verification_pipeline.receipts import page
from verification_pipeline.shards import Scope
from verification_pipeline.stages import loading
from verification_pipeline.store import Store

_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")
_STEM_CHARS = 60
_HEAD_BYTES = 1_024
_AT_ONCE = 8  # files: flushing one to the disk is waiting, and a disk flushes many in the time of one


def receipt_path(store: Store, corpus: str, document_id: str, key: str) -> Path:
    """The file of a document's receipt: a readable stem and its key, safe and unequal on every file system."""
    stem = _UNSAFE.sub("-", f"{corpus}-{document_id}").strip("-.").lower()[:_STEM_CHARS]
    return store.root / "receipts" / f"{stem or 'document'}-{key}.json"


def write_receipts(store: Store, receipts: pl.DataFrame, documents: pl.DataFrame) -> None:
    """One JSON file for each of `documents` that has a current receipt among `receipts`."""
    current = receipts.filter(pl.col("current")).select("document_key", "receipt")
    with ThreadPoolExecutor(_AT_ONCE) as pool:

        def write(row: tuple[str, str, str, str]) -> None:
            corpus, document_id, key, receipt = row
            store.write_if_other(receipt_path(store, corpus, document_id, key), receipt.encode() + b"\n")

        for _ in pool.map(write, _named(documents, current)):
            pass


def write_pages(store: Store, scope: Scope, shard: int, *, every: bool, moved: Collection[str]) -> int:
    """Bring pages up to date; how many were written.

    With `every`, each document in scope gets one; without, those of `moved` documents that have a page keep it true.
    """
    documents = loading.documents_in_scope(store, scope, shard)
    if not every:
        documents = loading.of_documents(documents, list(moved))
    heads = store.read("receipts", shard, columns=["document_key", "receipt_id", "current"]).filter(pl.col("current"))
    stale = {
        key: path
        for corpus, document_id, key, receipt_id in _named(documents, heads.select("document_key", "receipt_id"))
        if _must_write(
            store, path := receipt_path(store, corpus, document_id, key).with_suffix(".html"), receipt_id, every
        )
    }
    if not stale:
        return 0
    text_of = loading.text_lookup(store, shard)
    receipts = loading.of_documents(store.read("receipts", shard), list(stale)).filter(pl.col("current"))
    for key, receipt in receipts.select("document_key", "receipt").iter_rows():
        store.write_file(stale[key], page.render(orjson.loads(receipt), text_of).encode())
    return len(stale)


def _must_write(store: Store, path: Path, receipt_id: str, every: bool) -> bool:
    """Whether a page is missing (and wanted) or shows another receipt; a page says in its head which one it shows."""
    if not store.fetch(path):
        return every
    with path.open("rb") as file:
        return page.mark(receipt_id).encode() not in file.read(_HEAD_BYTES)


def _named(documents: pl.DataFrame, rows: pl.DataFrame) -> list[tuple[str, str, str, str]]:
    """(corpus, document_id, document_key, the second column of `rows`) of the documents that have a row."""
    names = documents.select("document_key", "corpus", "document_id")
    return names.join(rows, on="document_key").select("corpus", "document_id", "document_key", rows.columns[1]).rows()
