"""Recorded answers instead of a reader: makes tests and the sample deterministic and free.

One JSON object a line: `document_id`, `claim` (compared in normal form), `source_id`, `verdict`, and optionally
`contradicted`, `evidence` (exact words of the source), `correct_source_id`, `rationale`, `confidence`. A pair
without a recorded answer is not checked: missing-answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from verification_pipeline.checkers.evidence import locate
from verification_pipeline.checkers.protocol import Item, Judgement, NotChecked, Outcome, Retriever
from verification_pipeline.errors import CheckerError
from verification_pipeline.keys import hash_of, normalised


class Answer(BaseModel):
    """One recorded answer."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    document_id: str
    claim: str
    source_id: str
    verdict: Literal["supported", "partially-supported", "unsupported", "wrong-source"]
    contradicted: bool = False
    evidence: str | None = None
    correct_source_id: str | None = None
    rationale: str = ""
    confidence: float | None = None


@dataclass(frozen=True, slots=True)
class ReplayChecker:
    """Answers by (document_id, normalised claim, source_id)."""

    answers: Mapping[tuple[str, str, str], Answer]
    identity: str
    name: str = "replay"

    @classmethod
    def read(cls, path: Path) -> ReplayChecker:
        """Read recorded answers. CheckerError names file and line."""
        try:
            text = path.read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise CheckerError(f"recorded answers {path} cannot be read: {error}") from error
        answers: dict[tuple[str, str, str], Answer] = {}
        for number, line in enumerate(text.split("\n"), 1):
            if not line.strip():
                continue
            try:
                answer = Answer.model_validate_json(line)
            except ValidationError as error:
                fault = error.errors()[0]
                where = ".".join(map(str, fault["loc"]))
                raise CheckerError(f"{path}, line {number}: {where}: {fault['msg']}") from error
            answers[answer.document_id, normalised(answer.claim), answer.source_id] = answer
        return cls(answers, hash_of("replay", text))

    def check(self, items: Sequence[Item], retriever: Retriever) -> list[Outcome]:  # noqa: ARG002
        """The recorded outcome of each item."""
        return [self._outcome(item) for item in items]

    def _outcome(self, item: Item) -> Outcome:
        pair = item.pair
        key = (item.document.document_id, normalised(pair.claim), item.evidence.source.source_id)
        answer = self.answers.get(key)
        if answer is None:
            return NotChecked(pair.pair_id, "missing-answer")
        by_id = {other.source.source_id: other for other in item.own.values()}
        correct = by_id.get(answer.correct_source_id) if answer.correct_source_id else None
        span = locate(answer.evidence, correct or item.evidence) if answer.evidence else None
        if answer.evidence and span is None:
            return NotChecked(pair.pair_id, "evidence-not-in-source")
        return Judgement(
            pair.pair_id,
            answer.verdict,
            answer.rationale,
            span,
            answer.contradicted,
            correct.source.source_key if correct else None,
            answer.confidence,
            model="recorded answers",
        )
