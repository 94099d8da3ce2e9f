"""The LLM checker: any server that speaks the OpenAI chat API, read with bounded concurrency.

One request holds up to a batch of pairs of one source. An answer row is taken only if it is for a pair of its
request, comes once, has a known verdict and rests on words that stand in the text it names; all other pairs are
not checked, with the reason. Nothing here decides what is sampled.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from openai import APIError, AsyncOpenAI
from pydantic import BaseModel, ValidationError

from verification_pipeline.checkers import prompts
from verification_pipeline.checkers.evidence import locate
from verification_pipeline.checkers.protocol import Item, Judgement, NotChecked, Outcome, Passage, Retriever, Verdict
from verification_pipeline.config import OpenAI
from verification_pipeline.errors import CheckerError
from verification_pipeline.keys import hash_of
from verification_pipeline.records import Evidence

_BATCH = 25
_OTHERS = 2


class _Row(BaseModel):
    pair: str
    verdict: Verdict
    contradicted: bool
    evidence: str
    correct_source: str | None
    rationale: str


class _Answer(BaseModel):
    rows: list[_Row]


@dataclass(frozen=True, slots=True)
class _Request:
    """Pairs of one source, what is shown of it, and which other sources were offered under which label."""

    items: Sequence[Item]
    message: str
    others: dict[str, Evidence]
    key: str


@dataclass(frozen=True, slots=True)
class OpenAIChecker:
    """Grades with a model behind an OpenAI-compatible server."""

    rules: OpenAI
    secret: str
    name: str = "openai"

    @property
    def identity(self) -> str:
        """Moves with model, server and prompt version."""
        return hash_of("openai", self.rules.model, self.rules.base_url or "", prompts.VERSION)

    def check(self, items: Sequence[Item], retriever: Retriever) -> list[Outcome]:
        """One outcome an item. CheckerError when the key is missing."""
        key = os.environ.get(self.rules.api_key_env)
        if not key:
            raise CheckerError(
                f"the openai checker needs a key in the environment variable {self.rules.api_key_env} "
                "(any word will do for a local server that asks for none)"
            )
        requests = [self._request(group, retriever) for group in _by_source(items)]
        outcomes = asyncio.run(self._ask_all(requests, key))
        by_pair = {outcome.pair_id: outcome for outcome in outcomes}
        return [by_pair[item.pair.pair_id] for item in items]

    def _request(self, items: Sequence[Item], retriever: Retriever) -> _Request:
        evidence = items[0].evidence
        body, complete = self._body(items, evidence, retriever)
        others: dict[str, Evidence] = {}
        offered: dict[str, list[tuple[str, Passage]]] = {}
        for item in items:
            for passage in retriever.elsewhere(item, _OTHERS):
                label = f"s{sorted(item.own).index(passage.span.source_key) + 1}"
                others[label] = item.own[passage.span.source_key]
                offered.setdefault(item.pair.pair_id, []).append((label, passage))
        shown = prompts.Shown(body, complete, len(evidence.body.text), offered)
        message = prompts.user_message(evidence.source, shown, items, self.secret)
        return _Request(items, message, others, hash_of("request", self.identity, message))

    def _body(self, items: Sequence[Item], evidence: Evidence, retriever: Retriever) -> tuple[str, bool]:
        text, limit = evidence.body.text, self.rules.max_source_chars
        if len(text) <= limit:
            return text, True
        spans = sorted(
            {
                (passage.span.start, passage.span.end)
                for item in items
                for passage in retriever.passages(item.pair.claim, evidence, 3)
            }
        )
        return "\n[…]\n".join(text[start:end] for start, end in spans)[:limit], False

    async def _ask_all(self, requests: Sequence[_Request], key: str) -> list[Outcome]:
        gate = asyncio.Semaphore(self.rules.concurrency)
        async with AsyncOpenAI(api_key=key, base_url=self.rules.base_url, timeout=self.rules.timeout_seconds) as client:
            answers = await asyncio.gather(*(self._ask(client, gate, request) for request in requests))
        return [outcome for outcomes in answers for outcome in outcomes]

    async def _ask(self, client: AsyncOpenAI, gate: asyncio.Semaphore, request: _Request) -> list[Outcome]:
        async with gate:
            try:
                completion = await client.chat.completions.create(
                    model=self.rules.model,
                    temperature=0,
                    messages=[
                        {"role": "system", "content": prompts.INSTRUCTIONS},
                        {"role": "user", "content": request.message},
                    ],
                    response_format={
                        "type": "json_schema",
                        "json_schema": {"name": "verdicts", "strict": True, "schema": prompts.answer_schema()},
                    },
                )
            except APIError:
                return [NotChecked(item.pair.pair_id, "provider-error") for item in request.items]
        choice = completion.choices[0] if completion.choices else None
        if choice is None or choice.finish_reason == "length":
            return [NotChecked(item.pair.pair_id, "invalid-answer") for item in request.items]
        return outcomes_of(choice.message.content or "", request, self.rules.model)


def outcomes_of(content: str, request: _Request, model: str) -> list[Outcome]:
    """Outcomes of one answer. An answer with a foreign or repeated pair id is refused as a whole."""
    pair_ids = {f"p{number}": item for number, item in enumerate(request.items, 1)}
    try:
        rows = _Answer.model_validate_json(content).rows
    except ValidationError:
        return [NotChecked(item.pair.pair_id, "invalid-answer", request_key=request.key) for item in request.items]
    named = [row.pair for row in rows]
    if len(set(named)) < len(named) or not set(named) <= pair_ids.keys():
        return [NotChecked(item.pair.pair_id, "invalid-answer", request_key=request.key) for item in request.items]
    by_pair = {row.pair: row for row in rows}
    return [
        _judged(item, by_pair[number], request, model)
        if number in by_pair
        else NotChecked(item.pair.pair_id, "missing-answer", request_key=request.key)
        for number, item in pair_ids.items()
    ]


def _judged(item: Item, row: _Row, request: _Request, model: str) -> Outcome:
    pair_id = item.pair.pair_id
    correct = request.others.get(row.correct_source or "")
    if (row.verdict == "wrong-source") != (correct is not None) or (row.contradicted and row.verdict == "supported"):
        return NotChecked(pair_id, "invalid-answer", request_key=request.key)
    holder = correct or item.evidence
    span = locate(row.evidence, holder)
    if span is None and (row.verdict != "unsupported" or row.contradicted):
        return NotChecked(pair_id, "evidence-not-in-source", request_key=request.key)
    return Judgement(
        pair_id,
        row.verdict,
        row.rationale.strip(),
        span,
        row.contradicted,
        correct.source.source_key if correct else None,
        model=model,
        prompt_version=prompts.VERSION,
        request_key=request.key,
    )


def _by_source(items: Sequence[Item]) -> list[list[Item]]:
    """Items in groups of one document and source, at most a batch each."""
    ordered = sorted(items, key=lambda item: (item.document.document_key, item.evidence.source.source_key))
    groups = [
        list(group)
        for _, group in groupby(ordered, lambda item: (item.document.document_key, item.evidence.source.source_key))
    ]
    return [group[start : start + _BATCH] for group in groups for start in range(0, len(group), _BATCH)]
