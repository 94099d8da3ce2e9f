"""What one pair is asked as, and the key under which its answer is stored: everything that can change the answer.

In the key: claim and context, the source's text, title and address as shown, the stretches of it that were chosen for
this claim, the passages of other sources put beside it, model, server, parameters, prompt, schema and parser. Left
out on purpose: the other pairs of the request (or one edited sentence would pay for its 24 companions), the document,
and keys of sources: the same claim on the same text is one question in every document and every night.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from verification_pipeline.checkers import prompts
from verification_pipeline.checkers.fences import code
from verification_pipeline.checkers.llm import answers, tokens
from verification_pipeline.checkers.protocol import Item, NotChecked, Passage, Retriever
from verification_pipeline.config import OpenAI
from verification_pipeline.keys import hash_of

_PASSAGES = 12
"""Passages of a long source that are considered for one claim."""

Range = tuple[int, int]


@dataclass(frozen=True)
class Question:
    """One pair as it is asked. `stretches` are what is shown of the source for it; `offered` is label → passage."""

    key: str
    label: str
    item: Item
    stretches: tuple[Range, ...]
    offered: tuple[tuple[str, Passage], ...]
    text: str
    """The part of the prompt that asks for this pair."""

    @property
    def source_sha256(self) -> str:
        """The text it is asked about."""
        return self.item.evidence.body.sha256

    @cached_property
    def tokens(self) -> int:
        """Tokens of `text`."""
        return tokens.count(self.text)


class Questioner:
    """Turns items into questions under one set of settings; remembers which sources are short enough to show whole."""

    def __init__(self, rules: OpenAI, secret: str, retriever: Retriever) -> None:
        self._rules = rules
        self._secret = secret
        self._retriever = retriever
        self._asking = asking(rules)
        self._fits: dict[str, bool] = {}

    def question(self, item: Item) -> Question | NotChecked:
        """The question of one item, or why it cannot be asked."""
        rules, pair = self._rules, item.pair
        if not pair.claim.strip():
            return NotChecked(pair.pair_id, "no-text", rationale="the claim has no words")
        if len(pair.claim) > rules.max_claim_chars:
            return NotChecked(pair.pair_id, "too-large", rationale="the claim is longer than a model is asked")
        context = (pair.context or "")[: rules.context_chars]
        stretches = self._stretches(item)
        passages = self._retriever.elsewhere(item, rules.candidates) if rules.candidates else []
        passages = [one for one in passages if one.score >= rules.candidate_min_score]
        text, source = item.evidence.body.text, item.evidence.source
        key = hash_of(
            "answer",
            self._asking,
            pair.claim,
            context,
            item.evidence.body.sha256,
            source.title or "",
            source.url or "",
            json.dumps(stretches if stretches != ((0, len(text)),) else "whole"),
            *(part for one in passages for part in (one.span.text_sha256, one.span.text)),
        )
        label = f"p{code(self._secret, key)[:8]}"
        offered = tuple((f"o{code(self._secret, label + one.span.text_sha256)[:8]}", one) for one in passages)
        shown = tuple(prompts.ShownPassage(name, one.span.text) for name, one in offered)
        part = prompts.pair_part(prompts.ShownPair(label, pair.claim, context, shown), self._secret)
        return Question(key, label, item, stretches, offered, part)

    def _stretches(self, item: Item) -> tuple[Range, ...]:
        """The whole text where it is short enough; else the best passages for the claim, in text order."""
        text, sha = item.evidence.body.text, item.evidence.body.sha256
        if sha not in self._fits:
            self._fits[sha] = _fits(text, self._rules.max_source_tokens)
        if self._fits[sha]:
            return ((0, len(text)),)
        left = self._rules.passage_tokens
        chosen: list[Range] = []
        for passage in self._retriever.passages(item.pair.claim, item.evidence, _PASSAGES):
            cost = tokens.count(passage.span.text)
            if cost <= left:
                left -= cost
                chosen.append((passage.span.start, passage.span.end))
        return merged(chosen) or ((0, min(len(text), 2 * self._rules.passage_tokens)),)


_ASKED_WITH = ("model", "base_url", "parameters", "answer_format", "answer_tokens_base", "answer_tokens_per_pair")
"""Settings that go into every request. The others show in what is shown, which is in the key itself."""
_CHOSEN_BY = (
    *("max_source_tokens", "passage_tokens", "max_claim_chars", "context_chars", "candidates", "candidate_min_score"),
    "min_evidence_words",
)


def asking(rules: OpenAI) -> str:
    """Hash of everything but the pair, and what is shown with it, that can change an answer or what is read in it."""
    return hash_of("openai", prompts.VERSION, answers.VERSION, *_values(rules, _ASKED_WITH))


def identity(rules: OpenAI) -> str:
    """Hash of everything but the pair that can change an outcome."""
    return hash_of(asking(rules), *_values(rules, _CHOSEN_BY))


def _values(rules: OpenAI, names: Sequence[str]) -> list[str]:
    return [json.dumps(getattr(rules, name), sort_keys=True, default=str) for name in names]


def merged(ranges: Sequence[Range]) -> tuple[Range, ...]:
    """Ranges in order, those that touch or overlap joined."""
    joined: list[Range] = []
    for start, end in sorted(ranges):
        if joined and start <= joined[-1][1]:
            joined[-1] = joined[-1][0], max(end, joined[-1][1])
        else:
            joined.append((start, end))
    return tuple(joined)


def _fits(text: str, limit: int) -> bool:
    """Whether a text has at most `limit` tokens. A token is at least one byte and at most a few dozen."""
    size = len(text.encode("utf-8", "replace"))
    return size <= limit or (size <= 40 * limit and tokens.count(text) <= limit)
