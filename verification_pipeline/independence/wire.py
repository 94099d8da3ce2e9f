"""News agencies and release services: which one a text credits, and which one a source belongs to.

Belongs here: datelines and credit lines at a text's head and end. Does not belong here: whether two texts share agency
copy (`clusters`): a credit alone joins nothing.
"""

from __future__ import annotations

import re
from urllib.parse import urlsplit

import numpy as np

from verification_pipeline.config import Independence
from verification_pipeline.records import Source
from verification_pipeline.text.index import U64, IndexedText, WordIndex

_HEAD, _TAIL = 600, 800  # code points of a text in which datelines and credits stand
_WORDS = 200  # words at least as far
_REPORTING = "Reporting", "reporting"  # begins a credit line that is one agency's without its name
_LOW_BITS = np.uint64(0xFFFF)
_DASH = r"(?:--|[-–—―])"


def agency_in_text(body: IndexedText, settings: Independence) -> str | None:
    """The agency that the text's dateline, byline or closing credit names; None for a mere mention."""
    patterns = _patterns(settings)
    text, words = body.text, body.index.words
    parts = ((patterns.head, words[:_WORDS], text[:_HEAD]), (patterns.tail, words[-_WORDS:], text[-_TAIL:]))
    for pattern, near, part in parts:
        if patterns.may_name(near, part) and (match := pattern.search(part)):
            return patterns.agency_of(match)
    return None


def agency_of_source(source: Source, settings: Independence) -> str | None:
    """The agency whose own site or feed the source is: by host of its address, else by publisher."""
    patterns = _patterns(settings)
    host = (urlsplit(source.canonical_url).hostname or "") if source.canonical_url else ""
    while host:
        if host in patterns.hosts:
            return patterns.hosts[host]
        host = host.partition(".")[2]
    match = patterns.publisher.match(source.publisher) if source.publisher else None
    return patterns.agency_of(match) if match else None


class _Patterns:
    """Head and tail patterns over all names of all agencies, and the names by the hash of their first word."""

    def __init__(self, settings: Independence) -> None:
        canonical = {form: name for name, forms in settings.agencies.items() for form in forms}
        self._canonical = canonical
        self.hosts = {host: name for name, hosts in settings.agency_hosts.items() for host in hosts}
        self._forms: dict[int, list[str]] = {}
        for form in (*canonical, *_REPORTING):
            for first_word in WordIndex.build(form).words[:1].tolist():
                self._forms.setdefault(first_word, []).append(form)
        self._table = np.zeros(int(_LOW_BITS) + 1, dtype=bool)
        """By the low bits of a word, whether it may be one of them."""
        self._table[np.array(list(self._forms), np.uint64) & _LOW_BITS] = True
        longest_first = sorted(self._canonical, key=lambda form: (-len(form), form))
        name = "(?:" + "|".join(re.escape(form) for form in longest_first) + ")"
        self.publisher = re.compile(rf"(?P<publisher>{name})(?!\w)")
        self.head = re.compile(
            rf"[(\[（【/]\s?(?P<bracketed>{name})(?:\s?/\s?\w{{2,12}})?\s?[)\]）】/]"
            rf"(?=\s{{0,2}}(?:{_DASH}|[:.：。]|$)|\s?\n|\s+[A-ZÀ-Þ]|[\u3040-\u9fff])"
            rf"|[,.]\s(?P<dateline>{name})\s?(?:{_DASH}|:)"
            rf"|^(?:By|Von|Par|Por|Di|By:)\s[^\n]{{0,60}}?\b(?P<byline>{name})\s*$"
            rf"|^(?P<alone>{name})(?:\s*$|\s?(?:{_DASH}|\|)\s)"
            rf"|(?P<cjk>{name})[^\s，。,]{{0,12}}(?:电|電)",
            re.MULTILINE,
        )
        self.tail = re.compile(
            rf"(?:[Rr]eporting|[Ww]riting)\s+by\s[^\n]{{0,160}}?\b(?P<reporting>{name})\b"
            rf"|(?:©|\([cC]\)|[Cc]opyright)\s*(?:©\s*)?(?:\d{{4}}\s)?(?:by\s)?(?:[Tt]he\s)?(?P<copyright>{name})"
            rf"|^\W{{0,3}}(?:Source|SOURCE|Credit|Via|Quelle|Fuente|Fonte|Avec|Con información de|Mit Material von|Com"
            rf"|Bron|Источник|来源|來源|出典)\s?[:：]?\s*(?:[Tt]he\s)?(?P<source>{name})(?!\w)"
            rf"|\((?P<closing>{name})\)\W*$(?!\n)"
            rf"|^\s*(?:{_DASH}\s*)?\(?(?P<line>{name})\)?\.?\s*$"
            rf"|(?:produced|provided|distributed|published)\s(?:by|in)\s(?:[Tt]he\s)?(?P<made>{name})(?!\w)"
            r"|(?P<Reuters>\([Rr]eporting\sby\s[^()\n]{3,200};\s?[Ee]diting\sby\s[^()\n]{3,100}\))",
            re.MULTILINE,
        )

    def may_name(self, words: U64, text: str) -> bool:
        """Whether a text with these words holds a name of an agency, or the credit that needs none."""
        nearby = words[self._table.take(words & _LOW_BITS)].tolist()
        return any(form in text for word in nearby for form in self._forms.get(word, ()))

    def agency_of(self, match: re.Match[str]) -> str:
        group = match.lastgroup or ""
        return self._canonical.get(match[group], group)


_made: tuple[Independence, _Patterns] | None = None


def _patterns(settings: Independence) -> _Patterns:
    """The patterns of these settings; those of the last settings are kept (a mapping cannot be a cache key)."""
    global _made
    if _made is None or _made[0] is not settings:
        _made = (settings, _Patterns(settings))
    return _made[1]
