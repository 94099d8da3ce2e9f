"""Quotes and voices on the planted archive, and on pairs of real sources that share some text."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.planted_quotes_voices import read_lines, run
from verification_pipeline import keys
from verification_pipeline.config import Settings
from verification_pipeline.independence import cluster_document, sketch
from verification_pipeline.records import Evidence, Source
from verification_pipeline.text.addresses import canonical_url
from verification_pipeline.text.index import IndexedText

GOLD = Path(__file__).with_name("voices_gold.jsonl")


@pytest.fixture(scope="module")
def figures(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return run(shared, 30, 1_307, tmp_path_factory.mktemp("planted"))


@pytest.mark.acceptance
@pytest.mark.parametrize("scope", ["no scare quotes", "with scare quotes", "ALL"])
def test_quotes_of_the_planted_archive(figures: dict[str, Any], scope: str) -> None:
    summary = figures["quotes"][scope]["_summary"]
    assert summary["flag_precision"] >= 0.995
    assert summary["flag_recall"] >= 0.995
    assert summary["honest quotes blocked"] == 0
    assert summary["misattributed: right source named"] >= 0.99
    assert summary["examined but no planted quote (inverted)"] == 0


@pytest.mark.acceptance
@pytest.mark.parametrize("scope", ["pred_clusters_doc", "pred_clusters_all"])
def test_clusters_of_the_planted_archive(figures: dict[str, Any], scope: str) -> None:
    found = figures[scope]
    assert found["precision"] >= 0.99
    assert found["recall"] >= 0.97
    assert all(share == 0 for name, share in found.items() if name.startswith("joined wrongly"))
    assert all(share >= 0.97 for name, share in found.items() if name.startswith("recall"))


def _texts(shared: Path) -> Iterator[tuple[str, str | None]]:
    """Text and address of every source of the shared sets."""
    for path in sorted((shared / "corpora").glob("*.jsonl")):
        for document in read_lines(path):
            yield from ((s["text"], s.get("url")) for s in document["sources"] if isinstance(s.get("text"), str))
    for path in sorted((shared / "benchmarks").glob("*/*.sources.jsonl")):
        yield from ((s["text"], s.get("url")) for s in read_lines(path) if isinstance(s.get("text"), str))


@pytest.mark.acceptance
def test_real_sources_that_share_some_text(shared: Path) -> None:
    """Pairs read by eye. Two voices are never joined; one voice is, where half of a text long enough is shared."""
    gold = [json.loads(line) for line in GOLD.read_text("utf-8").splitlines()]
    wanted = {side["text_sha256"] for pair in gold for side in (pair["a"], pair["b"])}
    own: dict[str, Evidence] = {}
    for text, url in _texts(shared):
        sha = hashlib.sha256(text.encode()).hexdigest()
        key = keys.source_key("gold", None, sha)
        if sha in wanted and key not in own:
            canonical = canonical_url(url) if url else None
            own[key] = Evidence(Source(key, sha, url=url, canonical_url=canonical), IndexedText(sha, text))
    assert len(own) == len(wanted)
    settings = Settings().independence
    sketches = {key: sketch(one, settings) for key, one in own.items()}
    rows = cluster_document("gold", [one.source for one in own.values()], own, sketches, settings)
    cluster = {own[row.source_key].source.source_id: row.cluster_id for row in rows}
    joined = [cluster.get(pair["a"]["text_sha256"], "a") == cluster.get(pair["b"]["text_sha256"], "b") for pair in gold]
    two = [found for pair, found in zip(gold, joined, strict=True) if pair["voices"] == 2]
    long_enough = {
        own[key].source.source_id for key, one in sketches.items() if one.n_shingles >= settings.min_shingles
    }
    alike = [
        found
        for pair, found in zip(gold, joined, strict=True)
        if pair["voices"] == 1
        and pair["containment"] >= settings.body_share
        and long_enough >= {pair["a"]["text_sha256"], pair["b"]["text_sha256"]}
    ]
    assert not any(two)
    assert sum(alike) >= 0.9 * len(alike)
