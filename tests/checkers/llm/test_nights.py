"""The checker inside whole nights: what a second night sends, what an edit sends, how a batch is taken up again."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from tests.servers.scripted import KEY
from verification_pipeline.corpus.inventory import take_inventory
from verification_pipeline.night import Options, open_night
from verification_pipeline.shards import run_stage
from verification_pipeline.stages.grading import Grading
from verification_pipeline.stages.reading import Reading
from verification_pipeline.stages.selection import Selection

BODY = """# Mills

The old mill ground rye for nine farms [1]. It burned down in winter [1]. Storks nest on its roof [2].
"""
SOURCES = [
    {
        "id": "1",
        "title": "Mill book",
        "text": "Nobody ground wheat here. It burned down in winter, says the parish book.",
    },
    {"id": "2", "title": "Birds", "text": "A walk by the river. We saw swans and a heron."},
]


@pytest.fixture
def corpus(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    folder = tmp_path / "mills"
    (folder / "documents").mkdir(parents=True)
    (folder / "documents" / "mill.md").write_text(BODY, "utf-8")
    rows = [{**source, "document_id": "mill", "url": f"https://example.org/{source['id']}"} for source in SOURCES]
    (folder / "sources.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return folder


def night(out, corpus, server, **settings):
    """What the verdicts of a night are, by word."""
    rules = {"base_url": server.base_url, "batch_settle_seconds": 0, **settings}
    overrides = {"checker": {"kind": "openai", "openai": rules}, "triage": {"strong": "always-read"}}
    with open_night(Options(out, (corpus,), overrides=overrides)) as run:
        take_inventory(run.store, run.archives, run.scope, run.pool)
        for stage in (Reading(), Selection(), Grading()):
            run_stage(stage, run.store, run.scope, run.pool, run.progress)
        rows = run.store.read_all("verdicts").to_dicts()
    return Counter(row["verdict"] or row["not_checked_reason"] for row in rows)


def test_an_unchanged_night_sends_nothing_and_an_edit_sends_its_pair(serve, corpus, tmp_path):
    server = serve()
    first = night(tmp_path / "out", corpus, server)
    asked = sum(len(prompt.pairs) for prompt in server.script.prompts)
    assert sum(first.values()) == asked >= 2
    assert set(first) <= {"supported", "unsupported"}
    assert night(tmp_path / "out", corpus, server) == first
    assert sum(len(prompt.pairs) for prompt in server.script.prompts) == asked
    edited = BODY.replace("Storks nest on its roof", "Storks breed on its roof")
    (corpus / "documents" / "mill.md").write_text(edited, "utf-8")
    night(tmp_path / "out", corpus, server)
    assert [pair.claim for pair in server.script.prompts[-1].pairs] == ["Storks breed on its roof."]
    assert sum(len(prompt.pairs) for prompt in server.script.prompts) == asked + 1


def test_a_batch_is_pending_one_night_and_judged_the_next(serve, corpus, tmp_path):
    server = serve()
    assert set(night(tmp_path / "out", corpus, server, mode="batch")) == {"pending"}
    assert set(night(tmp_path / "out", corpus, server, mode="batch")) <= {"supported", "unsupported"}
    assert server.script.created == 1
