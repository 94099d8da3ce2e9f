"""Whether words say that a publication was retracted or withdrawn.

`never retracted`, `should be retracted`, a retractable roof, a witness who retracted a statement and retracted landing
gear do not say so. The rules look at one sentence, entry or remark at a time and in several languages at once
(a document quotes in any); which work the words are about is decided in `mentions`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from verification_pipeline.config import Acknowledgement

_CLAUSE = 60
"""How far before the words a denial or a subject is looked for, code points."""

_ADVERBS = (
    r"(?:(?:both|all|each|\w+ly|since|now|later|soon|then|also|already"
    r"|inzwischen|später|mittlerweile|depuis|ensuite|posteriormente|più tardi|later|позже|позднее|已|已被|后)[\s-]*)"
)
_CLAUSE_BREAK = re.compile(
    r"[;:。；]|(?<!\d)\.\s|,\s+(?:but|while|whereas|although|though|aber|während|mais|pero|ma|mas|maar|но)\s|[，]"
)
_SUBJECT_BEFORE = re.compile(
    r"(?:[\]）)】]|\b(?:it|which|that|this|these|those|they|both|et\s+al\.?))\s*$", re.IGNORECASE
)
_AUXILIARY = re.compile(
    r"(?:\b(?:was|were|is|are|(?:has|have|had)(?:\s+\w+){0,2}\s+been|(?:had|has|have)\s+to\s+be|got|been|being|wurden?|worden|ist|sind|a\s+été|ont\s+été"
    r"|fut|fue|fueron|ha\s+sido|han\s+sido|è\s+stat[oa]|foi|foram|werd(?:en)?|is|была?|были|被|已|后被)\s*)"
    rf"{_ADVERBS}{{0,3}}$",
    re.IGNORECASE,
)
_BRACKET_BEFORE = re.compile(
    rf"[(\[（【]\W{{0,3}}(?:(?:which|and|but)\s+)?(?:was\s+|wurde\s+)?{_ADVERBS}{{0,3}}$", re.IGNORECASE
)
_ALONE_BEFORE = re.compile(r"(?:^|[.:;!?\])*_|>–—-])[\W_]*(?:(?:now|since|later)\s+)?$", re.IGNORECASE)
_ALONE_AFTER = re.compile(
    r"[\s*_]*(?:[:.!)\]|]|$|(?:in\s+)?(?:19|20)\d\d\b|by\s+(?:the|its)\s+(?:journal|publisher|authors?|editors?))"
)
_SHOUTED_WORDS = "RETRACTED", "WITHDRAWN"
_SHOUTED = re.compile(rf"\b(?:{'|'.join(_SHOUTED_WORDS)})\b(?:\s+(?:ARTICLE|PAPER|PUBLICATION))?\s*[:\])]?")
_LETTERS = re.compile(r"[^\W\d_]+")
_ODD_CASE = "\u0130\u0131"
"""Letters i that patterns without case take for one another and case folding does not."""
_ACTIVE_OBJECT = re.compile(r"\s+(?:it|them|this|the|that|their|his|her|its)\b", re.IGNORECASE)
_OWNED_NOUN_BEFORE = re.compile(
    r"(?:\b(?:its|their|whose|seine|ihre|sa|su)\s+|['’]s\s+|\bnotice\s+of\s+)$", re.IGNORECASE
)
_NOUN_AFTER = re.compile(r"\s+(?:notices?|statement|note|of\b|in\s+\d{4}|on\s+\d)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Patterns:
    participle: re.Pattern[str]
    withdrawn: re.Pattern[str]
    noun: re.Pattern[str]
    work: re.Pattern[str]
    denial: re.Pattern[str]
    stems: tuple[str, ...]


def may_remark(text: str, words: Acknowledgement) -> bool:
    """False only where none of the words stands in a text: most documents need no closer look."""
    folded = text.casefold()
    return any(stem in folded for stem in _patterns(words).stems) or any(letter in text for letter in _ODD_CASE)


def remarks(text: str, words: Acknowledgement) -> list[tuple[int, int]]:
    """The ranges of `text` (one sentence, entry or cell) that say of a publication that it was retracted."""
    if not may_remark(text, words):
        return []
    patterns = _patterns(words)
    found = [(match.start(), match.end()) for match in _SHOUTED.finditer(text)]
    found += [
        match.span()
        for match in patterns.participle.finditer(text)
        if not _denied(text, match.start(), patterns)
        and _said_of_a_work(text, match, patterns, weak=patterns.withdrawn.fullmatch(match[0]) is not None)
    ]
    found += [
        match.span()
        for match in patterns.noun.finditer(text)
        if not _denied(text, match.start(), patterns)
        and (_OWNED_NOUN_BEFORE.search(text, 0, match.start()) or _NOUN_AFTER.match(text, match.end()))
    ]
    return sorted(set(found))


def _said_of_a_work(text: str, match: re.Match[str], patterns: _Patterns, weak: bool) -> bool:
    start, end = match.span()
    before = text[_clause_start(text, start) : start]
    after = text[end : end + _CLAUSE]
    if _BRACKET_BEFORE.search(before):
        return not weak or _closes(after) or patterns.work.search(before) is not None
    if not weak and _ALONE_BEFORE.search(before) and _ALONE_AFTER.match(after):
        return True
    if patterns.work.search(" ".join(after.split()[:4])):
        return True
    auxiliary = _AUXILIARY.search(before)
    if auxiliary:
        subject = before[: auxiliary.start()]
        if _SUBJECT_BEFORE.search(subject):
            return not weak or patterns.work.search(text) is not None
        return patterns.work.search(subject) is not None
    if _ACTIVE_OBJECT.match(after):
        return re.match(r"\s+(?:it|them|this)\b", after) is not None and patterns.work.search(before) is not None
    return not match[0].isascii() and patterns.work.search(before) is not None


def _closes(after: str) -> bool:
    return re.match(r"[^()\[\]]{0,30}[)\]）】]", after) is not None


def _clause_start(text: str, position: int) -> int:
    first = max(0, position - 2 * _CLAUSE)
    breaks = [match.end() for match in _CLAUSE_BREAK.finditer(text, first, position)]
    return breaks[-1] if breaks else first


def _denied(text: str, start: int, patterns: _Patterns) -> bool:
    """Whether a denial or a supposition stands before the words, in their clause."""
    clause = text[max(_clause_start(text, start), start - _CLAUSE) : start]
    return patterns.denial.search(clause) is not None


@lru_cache(maxsize=8)
def _patterns(words: Acknowledgement) -> _Patterns:
    def any_of(*lists: tuple[str, ...]) -> str:
        return "|".join(word for words_of in lists for word in words_of)

    cjk = "".join(
        {character for word in (*words.retracted, *words.works) for character in word if ord(character) > 0x2E80}
    )
    edge, far = rf"(?:(?<![\w])|(?=[{cjk}]))", rf"(?:(?![\w])|(?<=[{cjk}]))"
    denials = any_of(words.denials, words.suppositions)
    return _Patterns(
        re.compile(rf"{edge}(?:{any_of(words.retracted, words.withdrawn)}){far}", re.IGNORECASE),
        re.compile(any_of(words.withdrawn), re.IGNORECASE),
        re.compile(rf"\b(?:{any_of(words.nouns)})\b", re.IGNORECASE),
        re.compile(rf"{edge}(?:{any_of(words.works)}){far}", re.IGNORECASE),
        re.compile(
            rf"(?:(?<![^\W_])|(?<=n)(?=['’]t)|(?<=\w)(?=n['’]t)|(?=[未没沒從从]))(?:{denials})(?![^\W_])|[未没沒]",
            re.IGNORECASE,
        ),
        tuple(sorted({_stem(word) for word in (*words.retracted, *words.withdrawn, *words.nouns, *_SHOUTED_WORDS)})),
    )


def _stem(word: str) -> str:
    """Letters, case folded, that every form of a word begins with; of one that is an alternation none."""
    letters = _LETTERS.match(word)
    if letters is None or "|" in word:
        return ""
    optional = word[letters.end() : letters.end() + 1] in ("?", "*", "{")
    return (letters[0][:-1] if optional else letters[0]).casefold()
