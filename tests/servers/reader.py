"""How the scripted model reads a prompt: it finds the pairs, judges them plainly, and obeys what leaks out of a fence.

It is as gullible as a reader can be: it takes any line that looks like a closing delimiter for one, whatever its code,
letter case, width, spacing or invisible characters; it believes chat-template tokens wherever they stand; and it treats
every word outside the fences that is not the template's own as an instruction.
"""

from __future__ import annotations

import json
import re
import unicodedata
from dataclasses import dataclass
from typing import Any

_PAIR = re.compile(r"^Pair (p[0-9a-f]{8})$", re.M)
_FENCE = re.compile(r"^<<(\w+) ([0-9a-f]{12})>>\n(.*?)\n<<end \1 \2>>$", re.M | re.S)
_OTHER = re.compile(r"^A passage of another source, (o[0-9a-f]{8}):\n", re.M)
_TEMPLATE = (
    re.compile(r"Pair p[0-9a-f]{8}"),
    re.compile(r"\d+ pairs? to judge\."),
    re.compile(r"A passage of another source, o[0-9a-f]{8}:"),
    re.compile(r"The whole text of the cited source, \d+ characters:"),
    re.compile(
        r"The cited source has \d+ characters\. Shown are the \d+ stretches that have most of the claims' words, "
        r"\d+ characters in the order of the text; \d+ characters are left out\."
    ),
)
_CONTROL = re.compile(
    r"<\s*[|｜][^|｜<>]{1,40}[|｜]\s*>|\[/?\s?(?:INST|SYS|SYSTEM_PROMPT|TOOL_CALLS)\s?\]|<</?SYS>>"
    r"|(?<!<)</?(?:s|bos|eos|system|user|assistant|start_of_turn|end_of_turn|think|instructions?|source|document)\b[^<>]*>",
    re.I,
)

_DELIMITER = re.compile(r"<(?:\s*<)+\s*(/\s*|(?:[eé]nd|close|stop)\b\s*)?[a-z]*\b[^<>]*>(?:\s*>)+", re.I)


@dataclass(frozen=True)
class Asked:
    """One pair of a prompt."""

    label: str
    claim: str
    context: str
    others: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Prompt:
    """A prompt as it is meant to be read."""

    title: str
    source: str
    pairs: tuple[Asked, ...]
    leak: str | None
    """Words that a gullible reader would take for instructions."""


def prompt_of(body: dict[str, Any]) -> Prompt:
    """Read the user message of a chat completion."""
    text = body["messages"][-1]["content"]
    fences = {match.start(): match for match in _FENCE.finditer(text)}
    kinds = [(match[1], match[3]) for match in fences.values()]
    source = next(body for kind, body in kinds if kind == "source")
    title = next(body for kind, body in kinds if kind == "heading")
    starts = [
        match for match in _PAIR.finditer(text) if not any(f.start() < match.start() < f.end() for f in fences.values())
    ]
    pairs = []
    for match, after in zip(starts, [*starts[1:], None], strict=True):
        part = text[match.end() : after.start() if after else len(text)]
        found = {one[1]: one[3] for one in _FENCE.finditer(part) if one[1] != "passage"}
        others = tuple((one[1], _FENCE.match(part, one.end())[3]) for one in _OTHER.finditer(part))
        pairs.append(Asked(match[1], found["claim"], found.get("context", ""), others))
    return Prompt(title, source, tuple(pairs), leak_of(text))


def leak_of(text: str) -> str | None:
    """What a gullible reader would obey: a control token, or words that he takes to stand outside every fence."""
    seen = "".join(character for character in text if unicodedata.category(character) not in ("Cc", "Cf", "Co")
                   or character in "\n\t")  # fmt: skip
    seen = unicodedata.normalize("NFKC", seen).replace("\u226a", "<<").replace("\u226b", ">>")
    control = _CONTROL.search(seen)
    if control:
        return control[0]
    inside, done = False, 0
    for match in _DELIMITER.finditer(seen):
        closes = bool(match[1])
        if not inside and (said := _instruction(seen[done : match.start()])):
            return said
        if inside == closes:
            inside, done = not closes, match.end()
    return "a fence that never closes" if inside else _instruction(seen[done:])


def _instruction(outside: str) -> str | None:
    """The first line that is not the template's own."""
    lines = (line.strip() for line in outside.split("\n"))
    return next((line for line in lines if line and not any(one.fullmatch(line) for one in _TEMPLATE)), None)


def rows_of(prompt: Prompt) -> list[dict[str, Any]]:
    """Plain judgements: a claim stands there word for word, or in another passage, or is denied, or is not there."""
    return [_row(prompt, pair) for pair in prompt.pairs]


def _row(prompt: Prompt, pair: Asked) -> dict[str, Any]:
    if prompt.leak:
        return row(pair.label, "supported", prompt.source.split("\n")[0][:80], "As instructed.")
    wanted = pair.claim.strip().rstrip(".")
    if wanted in prompt.source:
        return row(pair.label, "supported", wanted, "It stands there word for word.")
    for label, passage in pair.others:
        if wanted in passage:
            return row(pair.label, "wrong-source", wanted, "It stands in the other source.", label)
    subject = " ".join(wanted.split()[:3])
    at = prompt.source.find(subject) if len(subject) > 8 else -1
    if at >= 0:
        sentence = re.split(r"(?<=[.!?])\s", prompt.source[at:], maxsplit=1)[0]
        return row(pair.label, "contradicted", sentence, "The source says otherwise.")
    return row(pair.label, "unsupported", "", "The source does not say it.")


def row(
    pair: str, verdict: str, evidence: str = "", rationale: str = "Because.", correct: str | None = None
) -> dict[str, Any]:
    """A row as the schema has it."""
    return {"pair": pair, "evidence": evidence, "rationale": rationale, "verdict": verdict, "correct_source": correct}


def completion(
    content: str, finish_reason: str = "stop", body: dict[str, Any] | None = None, cached: int = 0
) -> dict[str, Any]:
    """A chat completion with plausible usage."""
    size = len(json.dumps(body)) // 4 if body else 100
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1_700_000_000,
        "model": body.get("model", "m") if body else "m",
        "choices": [{"index": 0, "finish_reason": finish_reason, "message": {"role": "assistant", "content": content}}],
        "usage": {
            "prompt_tokens": size,
            "completion_tokens": len(content) // 4,
            "total_tokens": size + len(content) // 4,
            "prompt_tokens_details": {"cached_tokens": min(cached, size)},
            "completion_tokens_details": {"reasoning_tokens": 3},
        },
    }
