"""The public failure cases about models: what they answer, how they are attacked, and what may be believed.

The model is the scripted server: it judges plainly, or answers what a case says that a model answered.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.cases import Tables, write_corpora
from tests.builders import evidence, item
from tests.servers.reader import Prompt, row
from tests.servers.scripted import KEY, Script, Server, serving
from tests.support.nights import verify
from verification_pipeline.checkers.llm.checker import LLMChecker
from verification_pipeline.checkers.protocol import Item, Judgement, Outcome
from verification_pipeline.checkers.retrieval import WordRetriever
from verification_pipeline.config import OpenAI

pytestmark = pytest.mark.acceptance

VERDICT = ("LLM verdict", "prompt injection")
INPUT_OUTPUT = ("LLM I/O",)


def cases(shared: Path, *categories: str) -> list[dict[str, Any]]:
    found = [json.loads(text) for text in (shared / "cases" / "cases.jsonl").read_text("utf-8").splitlines()]
    return [case for case in found if case["category"] in categories]


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with serving() as server:
        yield server


def items_of(case: dict[str, Any]) -> list[Item]:
    """The pairs of a case's document, in document order: p1, p2, p3."""
    sources = {one["id"]: evidence(one["id"], one["body"], title=one["title"]) for one in case["input"]["sources"]}
    body = case["input"]["document"].split("\n\n## Sources")[0]
    found = re.findall(r"([^.\[\]]+?) \[(\d+)\]\.", body)
    own = list(sources.values())
    return [item(f"{text.strip()}.", sources[n], *(one for one in own if one is not sources[n])) for text, n in found]


def outcomes(case: dict[str, Any], server: Server, folder: Path, **settings: Any) -> dict[str, Outcome]:
    rules = OpenAI(base_url=server.base_url, backoff_seconds=0.01, batch_settle_seconds=0, **settings)
    pairs = items_of(case)
    found = LLMChecker(rules, "5a" * 32, folder).check(pairs, WordRetriever())
    return {f"p{number}": one for number, one in enumerate(found, 1)}


def verdicts(found: dict[str, Outcome]) -> dict[str, str | None]:
    return {name: one.verdict if isinstance(one, Judgement) else None for name, one in found.items()}


def said(case: dict[str, Any], prompt: Prompt, replies: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows of a case's model, with ids p1, p2, … put into the pair codes of the whole document."""
    claims = [one.pair.claim for one in items_of(case)]
    codes = {f"p{claims.index(pair.claim) + 1}": pair.label for pair in prompt.pairs}
    return [
        row(codes.get(reply["id"], f"pffffff{n:02}"), reply["verdict"], prompt.source.split(". ")[0].rstrip("."))
        for n, reply in enumerate(replies)
    ]


def by_title(shared: Path, words: str) -> dict[str, Any]:
    return next(case for case in cases(shared, *INPUT_OUTPUT) if words in case["title"])


def test_verdicts_and_attacks_through_the_whole_pipeline(shared: Path, server: Server, tmp_path: Path) -> None:
    """A model that judges as a case says: the pipeline brings its verdict through, on words of the source."""
    given = cases(shared, *VERDICT)
    wanted = {(one["sentence"], one["source_id"]): one["verdict"]
              for case in given for one in case["expected"].get("verdicts", ())}  # fmt: skip

    def judge(prompt: Prompt) -> list[dict[str, Any]]:
        assert prompt.leak is None, prompt.leak
        rows = []
        for pair in prompt.pairs:
            verdict = next(v for (sentence, _), v in wanted.items() if sentence.rstrip(".") == pair.claim.rstrip("."))
            words = "" if verdict == "unsupported" else re.split(r"(?<=[a-z0-9])[.;]", prompt.source)[0]
            rows.append(row(pair.label, verdict, words))
        return rows

    server.script = Script(judge=judge)
    folders = write_corpora(given, tmp_path / "corpora")
    checker = {"kind": "openai", "openai": {"base_url": server.base_url}}
    store = verify(tmp_path / "out", *folders, checker=checker)
    tables = Tables(store.root)
    for case in given:
        found = {}
        for pair in tables.pairs(case["id"]):
            found[pair["claim"].rstrip("."), tables.source_id(pair["source_key"])] = pair
        expected = case["expected"]
        for one in expected.get("verdicts", ()):
            pair = found[one["sentence"].rstrip("."), one["source_id"]]
            verdict = "supported" if pair["outcome"] == "auto-passed" else pair["verdict"]
            assert verdict == one["verdict"], case["id"]
        for pair in found.values():
            assert pair["verdict"] not in expected.get("must_not_be", ()), case["id"]
            if expected.get("graded") is False or expected.get("self_citation"):
                assert pair["verdict"] is None, case["id"]
                assert pair["outcome"] != "auto-passed", case["id"]


def test_an_obedient_model_is_not_moved_by_the_source(shared: Path, server: Server, tmp_path: Path) -> None:
    case = next(one for one in cases(shared, "prompt injection") if "tells the judge" in one["title"])
    assert verdicts(outcomes(case, server, tmp_path)) == {"p1": case["expected"]["verdicts"][0]["verdict"]}


@pytest.mark.parametrize("mode", ["online", "batch"])
def test_answers_in_another_order(shared: Path, server: Server, tmp_path: Path, mode: str) -> None:
    case = by_title(shared, "another order")
    found = outcomes(case, server, tmp_path, mode=mode)
    if mode == "batch":
        found = outcomes(case, server, tmp_path, mode=mode)
    assert verdicts(found) == case["expected"]["by_pair"]


def test_another_model_is_asked_anew(shared: Path, server: Server, tmp_path: Path) -> None:
    case = by_title(shared, "keyed by everything")
    for number, run in enumerate(case["input"]["runs"], 1):
        outcomes(case, server, tmp_path, model=run["judge_model"])
        assert len(server.script.requests) == 3 * number
    assert case["expected"]["second_run_cache_hits"] == 0


def test_white_space_until_the_limit(shared: Path, server: Server, tmp_path: Path) -> None:
    case = by_title(shared, "whitespace")
    first = items_of(case)[0].pair.claim
    server.script = Script(fault=lambda _, prompt: "whitespace" if prompt.pairs[0].claim == first else None)
    found = outcomes(case, server, tmp_path)
    assert [name for name, verdict in verdicts(found).items() if verdict is None] == case["expected"]["ungraded"]
    assert "truncated" in (found["p1"].rationale or "")


def test_a_verdict_for_a_pair_of_another_request(shared: Path, server: Server, tmp_path: Path) -> None:
    case = by_title(shared, "not in this request")
    replies = {tuple(one["sent"]): one["reply"] for one in case["input"]["requests"]}
    claims = [one.pair.claim for one in items_of(case)]
    server.script = Script(
        judge=lambda prompt: said(case, prompt, replies[(f"p{claims.index(prompt.pairs[0].claim) + 1}",)])
    )
    found = verdicts(outcomes(case, server, tmp_path))
    assert {name: found[name] for name in case["expected"]["by_pair"]} == case["expected"]["by_pair"]


def test_ids_shifted_by_one(shared: Path, server: Server, tmp_path: Path) -> None:
    """All three claims about one source, so that one answer can shift them."""
    case = by_title(shared, "shifted")
    body = " ".join(one["body"] for one in case["input"]["sources"])
    whole = {**case["input"], "sources": [{**one, "body": body, "title": ""} for one in case["input"]["sources"]]}
    shifted = {**case, "input": whole}
    replies = [{"id": f"p{one['id']}", "verdict": one["verdict"]} for one in case["input"]["judge_reply"]["verdicts"]]
    server.script = Script(judge=lambda prompt: said(shifted, prompt, replies) if len(prompt.pairs) == 3 else [])
    found = outcomes(shifted, server, tmp_path)
    assert len(server.script.prompts[0].pairs) == 3
    assert verdicts(found) == case["expected"]["by_pair"]


@pytest.mark.parametrize("mode", ["online", "batch"])
def test_fewer_verdicts_than_pairs(shared: Path, server: Server, tmp_path: Path, mode: str) -> None:
    case = by_title(shared, "Fewer verdicts")
    first = items_of(case)[0].pair.claim
    answered = Script(judge=lambda prompt: [
        row(pair.label, "supported", prompt.source) for pair in prompt.pairs if pair.claim == first
    ])  # fmt: skip
    answered.batch_faults = lambda number: None if number == 0 else "missing"
    server.script = answered
    found = outcomes(case, server, tmp_path, mode=mode)
    if mode == "batch":
        found = outcomes(case, server, tmp_path, mode=mode)
    assert verdicts(found) == case["expected"]["by_pair"]
    assert [name for name, verdict in verdicts(found).items() if verdict is None] == case["expected"]["ungraded"]
