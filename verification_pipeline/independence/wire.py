"""News agencies and release services: which one a text credits, and which one a source belongs to.

Belongs here: datelines and credit lines at a text's head and end. Does not belong here: whether two texts share agency
copy (`clusters`): a credit alone joins nothing.
"""

from __future__ import annotations

import re
from functools import lru_cache
from urllib.parse import urlsplit

from verification_pipeline.config import Independence
from verification_pipeline.records import Source

_HEAD, _TAIL = 700, 900  # code points of a text in which datelines and credits stand
_DASH = r"(?:--|[-–—―])"


def agency_in_text(text: str, settings: Independence) -> str | None:
    """The agency that the text's dateline, byline or closing credit names; None for a mere mention."""
    patterns = _patterns(tuple(sorted((name, tuple(forms)) for name, forms in settings.agencies.items())))
    for pattern, part in ((patterns.head, text[:_HEAD]), (patterns.tail, text[-_TAIL:])):
        match = pattern.search(part)
        if match is not None:
            return patterns.agency_of(match)
    return None


def agency_of_source(source: Source, settings: Independence) -> str | None:
    """The agency whose own site or feed the source is: by host of its address, else by publisher."""
    host = (urlsplit(source.canonical_url).hostname or "") if source.canonical_url else ""
    for name, hosts in settings.agency_hosts.items():
        if any(host == known or host.endswith(f".{known}") for known in hosts):
            return name
    publisher = source.publisher or ""
    for name, forms in sorted(settings.agencies.items()):
        if any(re.match(rf"{re.escape(form)}\b", publisher) for form in forms):
            return name
    return None


class _Patterns:
    """Head and tail patterns over all names of all agencies."""

    def __init__(self, agencies: tuple[tuple[str, tuple[str, ...]], ...]) -> None:
        self._canonical = {form: name for name, forms in agencies for form in forms}
        longest_first = sorted(self._canonical, key=lambda form: (-len(form), form))
        name = "(?:" + "|".join(re.escape(form) for form in longest_first) + ")"
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

    def agency_of(self, match: re.Match[str]) -> str:
        group = match.lastgroup or ""
        return self._canonical.get(match[group], group)


@lru_cache(maxsize=8)
def _patterns(agencies: tuple[tuple[str, tuple[str, ...]], ...]) -> _Patterns:
    return _Patterns(agencies)
