"""Questions packed into requests: one source a request, up to 25 pairs, within the token budget.

Two sources never share a request, however small they are: text of the one could then speak to the pairs of the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import orjson

from verification_pipeline.checkers import prompts
from verification_pipeline.checkers.llm import tokens
from verification_pipeline.checkers.llm.questions import Question, Range, merged
from verification_pipeline.config import OpenAI
from verification_pipeline.keys import hash_of

FORMATS = ("json_schema", "json_object", "text")
"""How the answer's form is asked for, the strictest first."""
_MESSAGE_TOKENS = 40
"""What the chat format and the schema add, roughly."""
_ROW_TOKENS = 110
"""Output tokens of a typical row: what an estimate counts with."""


@dataclass(frozen=True)
class Request:
    """Pairs of one source that are asked together. `key` names exactly what is sent (but for the answer format)."""

    questions: tuple[Question, ...]
    message: str
    key: str
    source: str

    @cached_property
    def input_tokens(self) -> int:
        """Tokens of the prompt, by the offline tokenizer."""
        return _static_tokens() + _source_tokens(self.source) + sum(question.tokens for question in self.questions)

    @property
    def likely_output_tokens(self) -> int:
        """Output tokens to expect, for estimates."""
        return _ROW_TOKENS * len(self.questions)


class Packer:
    """Packs questions into requests under one set of settings."""

    def __init__(self, rules: OpenAI, secret: str) -> None:
        self._rules = rules
        self._secret = secret
        self._tokens: dict[tuple[str, Range], int] = {}

    def requests(self, questions: Sequence[Question], limits: Mapping[str, int] | None = None) -> Iterator[Request]:
        """Requests for these questions, each made when it is taken: prompts of a whole night never lie side by side.

        `limits` caps the size of a request that holds a key that failed before. Deterministic; questions keep their
        order within a source.
        """
        groups: dict[tuple[str, str, str], list[Question]] = {}
        for question in questions:
            source = question.item.evidence.source
            groups.setdefault((question.source_sha256, source.title or "", source.url or ""), []).append(question)
        return (self._request(part) for group in groups.values() for part in self._parts(group, limits or {}))

    def _parts(self, group: Sequence[Question], limits: Mapping[str, int]) -> Iterator[list[Question]]:
        """Runs of one group that respect size and token limits; failed questions stay among their like."""
        most = self._rules.pairs_per_request
        part: list[Question] = []
        for question in sorted(group, key=lambda one: limits.get(one.key, most)):
            size = min(most, limits.get(question.key, most))
            full = part and (
                len(part) >= size
                or size != min(most, limits.get(part[0].key, most))
                or any(question.label == other.label for other in part)
                or not self._affordable([*part, question])
            )
            if full:
                yield part
                part = []
            part.append(question)
        if part:
            yield part

    def _affordable(self, part: Sequence[Question]) -> bool:
        """Whether what these questions show of their source together stays within the budget (overlaps count twice)."""
        ranges = sorted({one for question in part for one in question.stretches})
        if len(ranges) == 1:
            return True
        return sum(self._cost(part[0], one) for one in ranges) <= self._rules.max_source_tokens

    def _cost(self, question: Question, stretch: Range) -> int:
        key = question.source_sha256, stretch
        if key not in self._tokens:
            self._tokens[key] = tokens.count(question.item.evidence.body.text[slice(*stretch)])
        return self._tokens[key]

    def _request(self, part: Sequence[Question]) -> Request:
        source = prompts.source_part(_shown(part), self._secret)
        message = prompts.user_message(source, [question.text for question in part])
        return Request(tuple(part), message, hash_of("request", prompts.VERSION, message), source)


def _shown(part: Sequence[Question]) -> prompts.ShownSource:
    evidence = part[0].item.evidence
    text = evidence.body.text
    ranges = merged([one for question in part for one in question.stretches])
    edges = [0, *(offset for one in ranges for offset in one), len(text)]
    return prompts.ShownSource(
        evidence.source.title or "",
        evidence.source.url or "",
        evidence.body.sha256,
        tuple(text[start:end] for start, end in ranges),
        tuple(end - start for start, end in zip(edges[0::2], edges[1::2], strict=True)),
    )


def body(request: Request, rules: OpenAI, answer_format: str) -> dict[str, Any]:
    """The body of a chat completion, as the API takes it."""
    most = rules.answer_tokens_base + rules.answer_tokens_per_pair * len(request.questions)
    made: dict[str, Any] = {
        "model": rules.model,
        "messages": [
            {"role": "system", "content": prompts.INSTRUCTIONS},
            {"role": "user", "content": request.message},
        ],
        rules.answer_limit_field: most,
        **rules.parameters,
    }
    if answer_format == "json_schema":
        schema = {"name": "verdicts", "strict": True, "schema": prompts.SCHEMA}
        made["response_format"] = {"type": "json_schema", "json_schema": schema}
    elif answer_format == "json_object":
        made["response_format"] = {"type": "json_object"}
    return made


def line(request: Request, rules: OpenAI, answer_format: str | None = None) -> bytes:
    """The request as one line of a batch file, as the Batch API and `vllm run-batch` take it.

    In the format of the settings, unless another is given.
    """
    made = {
        "custom_id": request.key,
        "method": "POST",
        "url": "/v1/chat/completions",
        "body": body(request, rules, answer_format or rules.answer_format),
    }
    return orjson.dumps(made) + b"\n"


@lru_cache(16)
def _source_tokens(source: str) -> int:
    """Of a source's part of a prompt; requests about one source follow each other."""
    return tokens.count(source)


@lru_cache(1)
def _static_tokens() -> int:
    return tokens.count(prompts.INSTRUCTIONS) + _MESSAGE_TOKENS
