"""A stored row of an answer as the outcome of a question: its evidence is looked up in the text it must stand in."""

from __future__ import annotations

from verification_pipeline.checkers.evidence import locate
from verification_pipeline.checkers.fences import visible
from verification_pipeline.checkers.llm.answers import Row
from verification_pipeline.checkers.llm.questions import Question
from verification_pipeline.checkers.protocol import Judgement, NotChecked, Outcome
from verification_pipeline.text.index import WordIndex

_LONGEST_RATIONALE = 600


def outcome(
    question: Question, row: Row, correct_sha256: str | None, *, model: str, prompt: str, least: int
) -> Outcome:
    """The verdict of a row, on the exact span that its evidence is; or why it cannot be given.

    `correct_sha256` is the text that the row names as the right source, `least` the fewest words evidence may have.
    """
    item, pair_id = question.item, question.item.pair.pair_id
    holder, shown = item.evidence, question.stretches
    if row.verdict == "wrong-source":
        passages = [one for _, one in question.offered if one.span.text_sha256 == correct_sha256]
        if not passages:
            return NotChecked(pair_id, "invalid-answer", rationale="it names a source that was not shown")
        holder = item.own[passages[0].span.source_key]
        shown = tuple((one.span.start, one.span.end) for one in passages)
    rationale = " ".join(visible(row.rationale).split())[:_LONGEST_RATIONALE]
    span = locate(row.evidence, holder, shown)
    if row.verdict != "unsupported":
        if span is None:
            return NotChecked(pair_id, "evidence-not-in-source", rationale=rationale)
        words = len(WordIndex.build(span.text))
        if words < least and words < len(holder.body.index):
            return NotChecked(pair_id, "invalid-answer", rationale="its evidence is too short to show anything")
    elif (read := sum(end - start for start, end in question.stretches)) < (whole := len(item.evidence.body.text)):
        rationale = f"{rationale} (Read: {read:,} of {whole:,} characters, chosen by the claim's words.)"
    contradicted = row.verdict == "contradicted"
    return Judgement(
        pair_id,
        "unsupported" if row.verdict == "contradicted" else row.verdict,
        rationale,
        span,
        contradicted,
        holder.source.source_key if row.verdict == "wrong-source" else None,
        model=model,
        prompt_version=prompt,
    )
