"""Leaked scaffolding: what a generator left in a document that was never meant for its reader.

Prompt headers, chat-template tokens, tool tags, template placeholders and providers' private citation tokens. What
stands in code or mathematics is the document's subject and not a leak. Precision comes first: a finding fails the
gate. Rows go to `findings_in_text`; markers in any readable style are the citations' affair.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import pyromark

from verification_pipeline.records import Document

KIND = "scaffold-leak"
_SHOWN = 60

_TOOL_TAGS = (
    "antml:[a-z_]+|tool_calls?|tool_use|tool_results?|tool_response|function_calls?|function_results?|function_response|"
    "invoke|scratchpad|thinking|think|inner_monologue|system[-_]prompt|system[-_]reminder|user_query|search_results?|"
    "retrieved_context|search_quality_(?:reflection|score)|begin_of_(?:solution|thought)|end_of_(?:solution|thought)"
)
_TURN = r"turn\d{1,3}(?:search|view|news|image|file|fetch|reddit|product|academia|finance|forecast|calculator)\d{1,3}"

_BRACKETED = (
    *("INSERT", "PLACEHOLDER", "TODO", "TBD", "FILL IN", "ADD", "YOUR", "COMPANY", "AUTHOR", "DATE"),
    *("CITATION NEEDED", "SOURCE NEEDED"),
)


@dataclass(frozen=True, slots=True)
class _Kind:
    """One kind of leak. The pattern is linear (bounded repetition, classes that exclude what follows them) and runs
    only on texts that hold one of the triggers: looking for a literal is a hundred times faster."""

    what: str
    triggers: tuple[str, ...]
    pattern: re.Pattern[str]


_KINDS = (
    _Kind(
        "private-use citation token",
        (
            *(chr(point) for point in range(0xE200, 0xE210)),
            *(f"turn{digit}" for digit in range(10)),
            *("oaicite:", "oai_citation:", "†"),
        ),
        re.compile(
            rf"[\ue200-\ue20f](?:[\ue200-\ue20f]|[a-z]{{0,12}}{_TURN}|(?:file)?cite|navlist|video|image|entity|L\d+)*"
            rf"|\b(?:file)?cite{_TURN}(?:{_TURN})*|\b{_TURN}\b"
            r"|:contentReference\[oaicite:\d{1,6}\](?:\{index=\d{1,6}\})?|\[?oai_citation:\d{1,6}[‡\x5b]?"
            r"|【(?:\d{1,4}:\d{1,4}†[^】\n]{0,80}|\d{1,4}†source)】"
        ),
    ),
    _Kind(
        "chat-template token",
        ("<|", "[INST]", "[/INST]", "<<SYS", "<</SYS", "_of_turn>"),
        re.compile(
            r"<\|(?:im_start|im_end|im_sep|endoftext|endofprompt|begin_of_text|end_of_text|eot_id|start_header_id"
            r"|end_header_id|system|user|assistant|end|channel|message|return|call)\|>|\[/?INST\]|<</?SYS>>"
            r"|<(?:start|end)_of_turn>"
        ),
    ),
    _Kind(
        "tool tag",
        ("<",),
        re.compile(rf"</?(?:{_TOOL_TAGS})(?=[\s/>])[^<>\n]{{0,200}}>", re.IGNORECASE),
    ),
    _Kind(
        "prompt header",
        ("",),
        re.compile(
            r"^(?:\#{1,6}[ \t]*|\*\*)?(?:system prompt|system message|developer message|user prompt"
            r"|user query|assistant response|assistant message|(?:original |verbatim )?research query|your task)"
            r"(?:[ \t]*\([^()\n]{0,60}\))?(?:[ \t]*:)?(?:\*\*)?(?:[ \t]*:)?[ \t]*$"
            r"|^\#{2,4}[ \t]*(?:Instruction|Input|Response):[ \t]*$"
            r"|^(?:You are (?:a|an|the) (?:helpful|expert|world-class|professional|senior|AI|large language model)\b"
            r"|Do not (?:reveal|mention) (?:these|this) (?:instructions?|prompt)\b)[^\n]{0,160}",
            re.IGNORECASE | re.MULTILINE,
        ),
    ),
    _Kind(
        "template placeholder",
        (
            *("{{", "{%", "${", "orem ipsum", "<INSERT", "<PLACEHOLDER", "<YOUR"),
            *(f"[{words}" for words in _BRACKETED),
        ),
        re.compile(
            r"(?<![\\{}\w^_])\{\{[ \t]*[A-Za-z_][\w .\-]{1,40}(?:\|[\w ]{1,30})?[ \t]*\}\}(?!\})"
            r"|\{%-?[ \t]*(?:if|for|endif|endfor|block|include|set)\b[^%\n]{0,80}%\}"
            r"|(?<![\\\w$])\$\{[A-Za-z_][\w.]{1,40}\}"
            rf"|\[(?:{'|'.join(_BRACKETED)})(?:[ :_-][^\[\]\n]{{0,80}})?\](?!\()"
            r"|<(?:INSERT|PLACEHOLDER|YOUR)[ _-][^<>\n]{0,80}>|\b[Ll]orem ipsum dolor sit amet\b"
        ),
    ),
)


@dataclass(frozen=True, slots=True)
class TextFinding:
    """A row of `findings_in_text`: exactly `document[start:end]` is `text`."""

    document_key: str
    kind: str
    start: int
    end: int
    text: str
    detail: str | None


def find_leaks(document: Document) -> list[TextFinding]:
    """Leaked scaffolding of a document's body, in order, without overlaps; linear in its length."""
    text = document.text
    found = [
        (match.start(), match.end(), kind.what)
        for kind in _KINDS
        if any(trigger in text for trigger in kind.triggers)
        for match in kind.pattern.finditer(text, document.body_start)
    ]
    kept = _outside(text, _apart(sorted(found)))
    return [
        TextFinding(document.document_key, KIND, start, end, text[start:end], f"{what}: {_shown(text[start:end])}")
        for start, end, what in kept
    ]


def _apart(found: Iterable[tuple[int, int, str]]) -> list[tuple[int, int, str]]:
    """The first of findings that overlap."""
    kept: list[tuple[int, int, str]] = []
    for place in found:
        if place[1] > place[0] and (not kept or place[0] >= kept[-1][1]):
            kept.append(place)
    return kept


def _outside(text: str, found: list[tuple[int, int, str]]) -> list[tuple[int, int, str]]:
    """Findings that stand neither in code nor in mathematics."""
    if not found:
        return []
    spans = list(_code_spans(text))
    starts = [start for start, _ in spans]
    ends = [end for _, end in spans]
    kept = []
    for place, offset in zip(found, _byte_offsets(text, [start for start, _, _ in found]), strict=True):
        before = bisect_right(starts, offset) - 1
        if before < 0 or offset >= ends[before]:
            kept.append(place)
    return kept


def _code_spans(text: str) -> Iterator[tuple[int, int]]:
    """Byte ranges of code blocks, code spans and mathematics, in order."""
    for event, place in pyromark.events_with_range(text, options=pyromark.Options.ENABLE_MATH):
        if _is_code(event):
            yield place["start"], place["end"]


def _is_code(event: object) -> bool:
    if not isinstance(event, dict):
        return False
    started = event.get("Start")
    is_block = isinstance(started, dict) and "CodeBlock" in started
    return is_block or not event.keys().isdisjoint(("Code", "InlineMath", "DisplayMath"))


def _byte_offsets(text: str, offsets: Sequence[int]) -> Iterator[int]:
    """UTF-8 offsets of ascending code-point offsets."""
    at = done = 0
    for offset in offsets:
        done += len(text[at:offset].encode("utf-8", "surrogatepass"))
        at = offset
        yield done


def _shown(words: str) -> str:
    visible = "".join(c if c.isprintable() else f"U+{ord(c):04X} " for c in words[:_SHOWN])
    return visible + ("…" if len(words) > _SHOWN else "")
