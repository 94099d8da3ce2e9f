"""What comes back, read strictly: one row a pair of the request, or a fault with its name. Nothing is guessed.

An answer is refused as a whole when it cannot be trusted to speak of these pairs at all: not the one JSON object asked
for, cut off, or a pair missing while another is named that was not asked, or named twice (its rows may have slipped).
Otherwise rows are refused one by one: for a pair that was not asked, twice for one pair, of another form, in
contradiction with itself. Pairs without a good row are asked again in smaller requests; what fails alone is final.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

VERSION = "1"
"""Raise when the same answer may be read otherwise than before."""

_THOUGHTS = re.compile(r"\A\s*<think>.*?</think>", re.DOTALL)
_CODE_BLOCK = re.compile(r"\A\s*```(?:json)?[ \t]*\n(.*)\n\s*```\s*\Z", re.DOTALL)


class Row(BaseModel):
    """One row of an answer, as the schema has it."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    pair: str
    evidence: str
    rationale: str
    verdict: Literal["supported", "partially-supported", "unsupported", "contradicted", "wrong-source"]
    correct_source: str | None


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens that the provider counted; cached ones are part of the input, reasoning ones part of the output."""

    input: int = 0
    cached: int = 0
    output: int = 0
    reasoning: int = 0


@dataclass(frozen=True, slots=True)
class Reply:
    """A chat completion, reduced to what is read."""

    content: str
    fault: str | None = None
    usage: Usage = Usage()


@dataclass(frozen=True, slots=True)
class Reading:
    """Good rows by pair label, and for every other pair asked why it has none."""

    rows: Mapping[str, Row]
    faults: Mapping[str, str] = field(default_factory=dict)


def reply_of(completion: object) -> Reply:
    """A chat completion's content, with its fault when it is cut off, refused or not one at all."""
    if not isinstance(completion, dict):
        return Reply("", "no-completion")
    usage = _usage(completion.get("usage"))
    choices = completion.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(choice, dict) or not isinstance(message, dict):
        return Reply("", "no-completion", usage)
    content = message.get("content")
    content = content if isinstance(content, str) else ""
    reason = choice.get("finish_reason")
    if reason == "length":
        return Reply(content, "truncated", usage)
    if reason == "content_filter" or message.get("refusal"):
        return Reply(content, "refused-by-model", usage)
    return Reply(content, None if content.strip() else "empty", usage)


def read(reply: Reply, labels: Collection[str], offered: Mapping[str, Collection[str]]) -> Reading:
    """The rows of an answer to the pairs `labels`; `offered` are the source labels shown with each pair."""
    if reply.fault:
        return Reading({}, dict.fromkeys(labels, reply.fault))
    rows, bad, fault = _rows(reply.content)
    named = Counter([*(row.pair for row in rows), *bad])
    foreign, twice = named.keys() - labels, {label for label, count in named.items() if count > 1}
    if fault is None and (foreign or twice) and not named.keys() >= set(labels):
        fault = "shifted"
    if fault:
        return Reading({}, dict.fromkeys(labels, fault))
    good: dict[str, Row] = {}
    faults = dict.fromkeys(labels, "missing")
    faults |= dict.fromkeys(set(bad) - foreign, "wrong-row") | dict.fromkeys(twice - foreign, "duplicate-pair")
    for row in rows:
        if row.pair in foreign | twice:
            continue
        wrong = _contradiction(row, offered.get(row.pair, ()))
        if wrong is None:
            good[row.pair] = row
            del faults[row.pair]
        else:
            faults[row.pair] = wrong
    return Reading(good, faults)


def _usage(found: object) -> Usage:
    if not isinstance(found, dict):
        return Usage()

    def number(*path: str) -> int:
        value: Any = found
        for name in path:
            value = value.get(name) if isinstance(value, dict) else None
        return value if isinstance(value, int) and value > 0 else 0

    return Usage(
        number("prompt_tokens"),
        number("prompt_tokens_details", "cached_tokens"),
        number("completion_tokens"),
        number("completion_tokens_details", "reasoning_tokens"),
    )


def _rows(content: str) -> tuple[list[Row], list[str], str | None]:
    """Rows of the one JSON object that the content must be, pairs whose row is malformed, and what is wrong with all.

    A code block around the object, thoughts before it, and raw control characters in strings are allowed (grammars of
    some servers let them through).
    """
    content = _THOUGHTS.sub("", content, count=1)
    block = _CODE_BLOCK.match(content)
    try:
        text = block[1] if block else content
        found = json.loads(text, strict=False, object_pairs_hook=_distinct, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return [], [], "not-json"
    if not isinstance(found, dict) or set(found) != {"rows"} or not isinstance(found["rows"], list):
        return [], [], "wrong-schema"
    rows: list[Row] = []
    bad: list[str] = []
    for row in found["rows"]:
        try:
            rows.append(Row.model_validate(row))
        except ValidationError:
            if not isinstance(row, dict) or not isinstance(row.get("pair"), str):
                return [], [], "wrong-schema"
            bad.append(row["pair"])
    return rows, bad, None


def _contradiction(row: Row, offered: Collection[str]) -> str | None:
    """What is wrong with a row by itself."""
    if row.verdict == "wrong-source":
        if row.correct_source is None:
            return "no-right-source"
        if row.correct_source not in offered:
            return "foreign-source"
    elif row.correct_source is not None:
        return "self-contradicting"
    if not row.rationale.strip():
        return "no-rationale"
    if row.verdict != "unsupported" and not row.evidence.strip():
        return "no-evidence"
    return None


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object whose names differ; half a surrogate pair in a string, which nothing could store, becomes `?`."""
    found = {
        name: value.encode("utf-8", "replace").decode("utf-8") if isinstance(value, str) else value
        for name, value in pairs
    }
    if len(found) < len(pairs):
        raise ValueError("a name stands twice in one object")
    return found


def _refuse(constant: str) -> None:
    raise ValueError(constant)
