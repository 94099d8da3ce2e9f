"""The tables of a store as the neutral predictions that the planted archive's scorer reads.

    python tests/acceptance/planted.py OUT CORPUS PREDICTIONS

OUT is a store in which the planted archive CORPUS was verified; PREDICTIONS is the folder to write into.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import polars as pl

from verification_pipeline.store import Store

FLAGGED = ("unsupported", "wrong-source")


def main(out: Path, corpus: Path, predictions: Path) -> None:
    store = Store.open(out, create=False)
    predictions.mkdir(parents=True, exist_ok=True)
    documents = store.read_all("documents", ["document_key", "corpus", "document_id"])
    documents = documents.filter(pl.col("corpus") == corpus.resolve().name)
    ids = dict(documents.select("document_key", "document_id").iter_rows())
    sources = dict(store.read_all("sources", ["source_key", "source_id"]).iter_rows())
    _write(predictions / "pred_pairs.jsonl", _pairs(store, ids, sources))
    _write(predictions / "pred_quotes.jsonl", _quotes(store, ids, sources))
    _write(predictions / "pred_numbers.jsonl", _numbers(store, ids))
    _write(predictions / "pred_clusters_doc.jsonl", _clusters(store, ids, sources, whole=False))
    _write(predictions / "pred_clusters_all.jsonl", _clusters(store, ids, sources, whole=True))


def _pairs(store: Store, ids: dict[str, str], sources: dict[str, str]) -> Iterable[dict[str, Any]]:
    verdicts = store.read_all("verdicts", ["pair_id", "checked", "verdict", "correct_source_key"])
    triage = store.read_all("triage", ["pair_id", "outcome"])
    table = store.read_all("pairs").join(triage, on="pair_id").join(verdicts, on="pair_id", how="left")
    for row in table.iter_rows(named=True):
        if row["document_key"] not in ids:
            continue
        supported = row["outcome"] == "auto-passed" or row["verdict"] == "supported"
        flagged = row["outcome"] == "dangling" or row["verdict"] in FLAGGED
        yield {
            "document_id": ids[row["document_key"]],
            "sentence": row["sentence"],
            "source_id": sources.get(row["source_key"]),
            "verdict": "pass" if supported else "flag" if flagged else "review",
            "kind": row["verdict"] or row["outcome"],
            "correct_source_id": sources.get(row["correct_source_key"]),
        }


def _quotes(store: Store, ids: dict[str, str], sources: dict[str, str]) -> Iterable[dict[str, Any]]:
    for row in store.read_all("quotes").filter(pl.col("document_key").is_in(list(ids))).iter_rows(named=True):
        yield {
            "document_id": ids[row["document_key"]],
            "quote": row["quote"],
            "status": row["status"],
            "found_in_source_id": sources.get(row["found_in_source_key"]),
        }


def _numbers(store: Store, ids: dict[str, str]) -> Iterable[dict[str, Any]]:
    for key, number in store.read_all("uncited_numbers", ["document_key", "number"]).iter_rows():
        if key in ids:
            yield {"document_id": ids[key], "number": number}


def _clusters(store: Store, ids: dict[str, str], sources: dict[str, str], *, whole: bool) -> Iterable[dict[str, Any]]:
    table = pl.concat([pl.read_parquet(path) for path in store.files("clusters")])
    table = table.filter(pl.col("document_key").is_null() if whole else pl.col("document_key").is_in(list(ids)))
    for (_, key, kind), part in table.partition_by(["cluster_id", "document_key", "kind"], as_dict=True).items():
        members = [sources[member] for member in part["source_key"]]
        yield {"document_id": None if whole else ids[str(key)], "kind": kind, "members": members}


def _write(path: Path, rows: Iterable[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), "utf-8")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:4]))
