"""The LLM checker behind the Checker protocol: questions, stored answers, and one of three ways to ask the rest."""

from __future__ import annotations

import secrets
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from verification_pipeline.checkers import prompts
from verification_pipeline.checkers.llm import batch, judging, money, offline, online
from verification_pipeline.checkers.llm.credentials import key_of
from verification_pipeline.checkers.llm.ledger import Answer, Ledger
from verification_pipeline.checkers.llm.online import Job, Left
from verification_pipeline.checkers.llm.questions import Question, Questioner, identity
from verification_pipeline.checkers.llm.requests import Packer
from verification_pipeline.checkers.protocol import Item, NotChecked, Outcome, Retriever, Run
from verification_pipeline.config import OpenAI
from verification_pipeline.errors import CheckerError

_REASONS = {"missing": "missing-answer", "too-large": "too-large"}
"""Not-checked reasons of final faults; every other one is an invalid answer."""


def new_run() -> Run:
    """A run of its own, from now on."""
    return Run(secrets.token_hex(8), time.time())


@dataclass(frozen=True, slots=True)
class LLMChecker:
    """Grades with a model. `folder` is OUT/llm."""

    rules: OpenAI
    secret: str
    folder: Path
    run: Run = field(default_factory=new_run)
    name: str = "openai"

    @property
    def identity(self) -> str:
        """Moves with everything that can change an answer: model, server, parameters, prompt, parser."""
        return identity(self.rules)

    def check(self, items: Sequence[Item], retriever: Retriever) -> list[Outcome]:
        """One outcome an item. CheckerError when the key is missing or refused."""
        if not items:
            return []
        asked = self._questions(items, retriever)
        with Ledger(self.folder) as ledger:
            left = self._ask(asked, ledger)
            stored = ledger.answers(question.key for question in asked if isinstance(question, Question))
        return [one if isinstance(one, NotChecked) else self._outcome(one, stored, left) for one in asked]

    def estimate(self, items: Sequence[Item], retriever: Retriever) -> money.Estimate:
        """What `check` would send and cost for these items, from what is stored now. Sends nothing, needs no key."""
        asked = self._questions(items, retriever)
        with Ledger(self.folder) as ledger:
            keys = {one.key for one in asked if isinstance(one, Question)}
            stored = set() if self.run.recheck else ledger.answered(keys)
            pending = set(ledger.pending(keys))
            unasked = {one.key: one for one in asked if isinstance(one, Question) and one.key not in stored | pending}
            requests = list(Packer(self.rules, self.secret).requests(list(unasked.values()), ledger.sizes(unasked)))
        counts = Counter(one.key for one in asked if isinstance(one, Question))
        return money.likely(
            requests,
            self.rules,
            pairs=len(items),
            answered=sum(counts[key] for key in stored),
            pending=sum(counts[key] for key in pending - stored),
        )

    def _questions(self, items: Sequence[Item], retriever: Retriever) -> list[Question | NotChecked]:
        questioner = Questioner(self.rules, self.secret, retriever)
        return [questioner.question(item) for item in items]

    def _ask(self, asked: Sequence[Question | NotChecked], ledger: Ledger) -> dict[str, Left]:
        questions = [one for one in asked if isinstance(one, Question)]
        unique = {question.key: question for question in questions}
        if self.run.recheck:
            ledger.forget(unique.keys(), self.run.started_at)
        if self.rules.mode != "offline-file":
            batch.advance(ledger, self.rules)
        offline.collect(ledger, self.rules)
        done = ledger.answered(unique)
        left = {key: Left("pending", request_key=out) for key, out in ledger.pending(unique).items()}
        askers: dict[str, Counter[str]] = {}
        for question in questions:
            askers.setdefault(question.key, Counter())[question.item.pair.document_key] += 1
        unanswered = [question for key, question in unique.items() if key not in done and key not in left]
        if not unanswered:
            return left
        if self.rules.budget_cents is not None and money.price_of(self.rules) is None:
            raise CheckerError(f"a budget needs a price: give checker.openai.prices an entry for {self.rules.model}")
        job = Job(self.rules, ledger, Packer(self.rules, self.secret), self.run, askers)
        if self.rules.mode == "batch":
            return left | batch.submit(unanswered, job)
        if self.rules.mode == "offline-file":
            return left | offline.export(unanswered, job)
        return left | online.ask(unanswered, job, key_of(self.rules))

    def _outcome(self, question: Question, stored: dict[str, Answer], left: dict[str, Left]) -> Outcome:
        pair_id = question.item.pair.pair_id
        answer = stored.get(question.key)
        if answer is None:
            why = left.get(question.key, Left("provider-error"))
            return NotChecked(pair_id, why.reason, request_key=why.request_key, rationale=why.detail)
        if answer.row is None:
            fault = answer.fault or "missing"
            reason = _REASONS.get(fault, "invalid-answer")
            return NotChecked(pair_id, reason, request_key=answer.request_key, rationale=f"answer refused: {fault}")
        found = judging.outcome(
            question,
            answer.row,
            answer.correct_sha256,
            model=self.rules.model,
            prompt=prompts.VERSION,
            least=self.rules.min_evidence_words,
        )
        return replace(found, request_key=answer.request_key)
