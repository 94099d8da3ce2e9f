"""Sentences of one paragraph, with exact offsets, in any language.

The splitter is sentencex; this module feeds it pieces it can read in linear time and mends the boundaries that matter
for citations: an abbreviation before a number, a single letter that does end a sentence, a full stop inside closing
brackets or quotation marks. Callers blank code and citation markers with spaces of the same length first. What belongs
elsewhere: finding paragraphs (`citations.markdown`) and binding markers to sentences (`citations.claims`).
"""

from __future__ import annotations

import re
from itertools import pairwise

import sentencex

_CHUNK = 1_200
"""Longest piece given to the splitter, code points: it is quadratic on brackets and on scripts without spaces."""

_LINE_BREAKS = re.compile(r"[\r\n\u2028\u2029\u0085]")
_CHUNK_END = re.compile(r"[.!?…](?=\s)|[。！？؟।]")

# The text before a boundary ends so, and what follows is a number (or a lower-case word, for the second group).
_BEFORE_NUMBER = re.compile(
    r"(?:^|[\s(\[„“\"«])(?:approx|appx|ca|cca|circa|est|max|min|avg|vols?|nos?|nr|núm|núms|figs?|figures?|eqs?|refs?|secs?"
    r"|tabs?|chaps?|chs?|pp?|pt|pts|art|arts|abs|bd|bl|anm|kap|abb|tab|ziff|rn|rz|st|ver|v|col|cols|para|paras|n°"
    r"|рис|табл|стр|с|гл|ст|п|№|εικ|πίν|σελ|αρ|гг?)\.\s*$",
    re.IGNORECASE,
)
_BEFORE_ANY = re.compile(
    r"(?:^|[\s(\[„“\"«])(?:e\.\s?g|i\.\s?e|cf|viz|et al|al|vs|u\.\s?a|d\.\s?h|z\.\s?b|bzw|vgl|inkl|sog|ggf|p\. ex"
    r"|p\.\s?ej|figs|vols|eqs|refs|secs|approx|resp|incl|т\.\s?е|т\.\s?д|т\.\s?п|др|им|ул|г|см|напр|π\.\s?χ|κ\.\s?λ\.\s?π)\.\s*$",
    re.IGNORECASE,
)
_A_WORD = 7
"""So many letters before a full stop are no abbreviation."""
_ENDS = frozenset("!?…。！？؟।;;:\"'”’»」』*_")
_LIST_NUMBER = re.compile(r"\s*[(\[]?(?:\d{1,3}|[a-zA-Z]|[ivxIVX]{1,5})[.)]\s*$")
_DAY_ORDINAL = re.compile(r"(?:^|\s)(?:[12]?\d|3[01])\.\s*$")
_ORDINAL_LANGUAGES = frozenset(
    {"de", "da", "nb", "nn", "no", "fi", "cs", "sk", "pl", "hu", "hr", "sl", "et", "is", "lv"}
)
_CLOSERS = re.compile(r"[*_\"'”’»›)\]}」』）】]+(?=\s|$)")
# The patterns below begin with one set of signs: so the scan skips what cannot begin a match.
_CLOSED = re.compile(
    r"[.!?…\"”’»](?:(?<=[.!?…])(?:[)\]\"'”’»*_]{1,4}|(?<=…)|(?<=\.)\.\.|(?<=[.!?])(?=\s{3}))\s+"
    r"(?=[(\[\"'“‘«„¿¡*_]{0,3}[^\W\d_a-zà-öø-ÿ])"
    r"|(?<=[\"”’»])\s{4,}(?=[A-ZÀ-ÖØ-Þ])|(?<=[.!?])\s{4,}(?=[a-zà-öø-ÿ]))"
)
_PLAIN_END = re.compile(
    r"[.!?。！？](?:(?<=[a-zà-öø-ÿ]{4}[.!?])\s+(?=[A-ZÀ-ÖØ-Þ][a-zà-öø-ÿ]*\s)"
    r"|(?<=[。！？])(?![”’」』）)\]。！？…\s]|$))"
)
_QUOTES = (("“", "”"), ("「", "」"), ("『", "』"), ("«", "»"), ("„", "“"))
_SINGLE_LETTER = re.compile(r" [A-Z]\.\s+(?=[A-ZÀ-ÖØ-Þ][a-zà-öø-ÿ]+\s)")
_LETTERED = frozenset(
    (
        "zone", "vitamin", "type", "class", "grade", "group", "plan", "section", "appendix", "annex",
        "hepatitis", "table", "option", "phase", "model", "sector", "block", "level", "schedule", "part",
        "site", "area", "line", "ward", "unit", "case", "category", "figure", "gate", "pier", "dock",
        "platform", "terminal", "team", "variant", "version", "sample", "cohort", "arm", "row", "column",
        "lane", "hall", "wing", "building", "house", "room", "ring", "layer", "tier", "typ", "gruppe",
        "klasse", "abschnitt", "anhang", "groupe", "grupo", "tipo", "zona",
    )
)  # fmt: skip
_LAST_WORD = re.compile(r"[^\W\d_]+$")
_ABBREVIATION_TAIL = re.compile(r"(?:\bal|\bapprox|\bca|\betc|\be\.g|\bi\.e|\b[A-Z])\.[)\]\"'”’»*_]{1,4}$")


def split(text: str, language: str | None = None) -> list[tuple[int, int]]:
    """Half-open ranges of the sentences of one paragraph, in order, without surrounding white space.

    A line break inside the paragraph counts as a space. `language` is an ISO 639-1 code; None reads as English,
    whose rules hold for every script with sentence-ending marks. Ranges never overlap and hold every character that
    is not white space.
    """
    flat = _LINE_BREAKS.sub(" ", text)
    code = language or "en"
    pieces: list[tuple[int, int]] = []
    for start, end in _chunks(flat):
        position = start
        for sentence in sentencex.segment(code, flat[start:end] if (start, end) != (0, len(flat)) else flat):
            pieces.append((position, position + len(sentence)))
            position += len(sentence)
    whole = _mended(flat, pieces, code)
    return _trimmed(flat, _with_cuts(whole, [*_missed(flat), *_run_over(flat, whole)]))


def _chunks(text: str) -> list[tuple[int, int]]:
    """The whole text, or runs of at most about `_CHUNK` code points that end at a sentence mark where there is one."""
    if len(text) <= _CHUNK:
        return [(0, len(text))]
    chunks: list[tuple[int, int]] = []
    start = 0
    while len(text) - start > _CHUNK:
        end = start + _CHUNK
        last = None
        for match in _CHUNK_END.finditer(text, start + _CHUNK // 2, end):
            last = match.end()
        cut = last or text.rfind(" ", start + _CHUNK // 2, end) + 1 or end
        chunks.append((start, cut))
        start = cut
    chunks.append((start, len(text)))
    return chunks


def _mended(text: str, pieces: list[tuple[int, int]], code: str) -> list[tuple[int, int]]:
    mended: list[tuple[int, int]] = []
    for start, end in pieces:
        if mended:
            closers = _CLOSERS.match(text, start, end)
            if closers and text[start - 1] in ".!?…。！？" and text[start:end].strip() != text[start : closers.end()]:
                mended[-1] = (mended[-1][0], closers.end())
                start = closers.end()
            elif _joins(text, mended[-1], start, code):
                start = mended.pop()[0]
        mended.append((start, end))
    return mended


def _joins(text: str, before: tuple[int, int], start: int, code: str) -> bool:
    """Whether the boundary at `start` is none."""
    head = text[max(before[0], start - 16) : start].rstrip()
    if not head:
        return True
    if head[-1] not in ".)":
        return head[-1] not in _ENDS
    if before[1] - before[0] <= 8 and _LIST_NUMBER.match(text[before[0] : before[1]]):
        return True
    following = text[start : start + 1]
    if (following.isdigit() or following in "(#") and _BEFORE_NUMBER.search(head):
        return True
    long_word = len(head) > _A_WORD and head[-_A_WORD - 1 : -1].isalpha()
    if not long_word and _BEFORE_ANY.search(head):
        return True
    return code in _ORDINAL_LANGUAGES and bool(_DAY_ORDINAL.search(head))


def _missed(text: str) -> list[int]:
    """Ends of sentences that the splitter runs over: a stop inside closing marks, a letter that names a thing."""
    cuts = [
        match.end()
        for match in _CLOSED.finditer(text)
        if not _ABBREVIATION_TAIL.search(text[max(0, match.start() - 8) : match.end()].rstrip())
        and not _BEFORE_ANY.search(text[max(0, match.start() - 15) : match.start() + 1])
    ]
    for match in _SINGLE_LETTER.finditer(text):
        word = _LAST_WORD.search(text, max(0, match.start() - 16), match.start())
        if word and word.group().lower() in _LETTERED:
            cuts.append(match.end())
    return sorted(cuts)


def _run_over(text: str, pieces: list[tuple[int, int]]) -> list[int]:
    """Plain ends of sentences that the splitter took for none; not inside a quotation, which stays whole."""
    edges = {start for start, _ in pieces}
    cuts: list[int] = []
    for match in _PLAIN_END.finditer(text):
        end = match.end()
        if end in edges or end == len(text):
            continue
        start = max(0, end - _CHUNK)
        before = text[start:end]
        head = text[max(0, match.start() - 15) : match.start() + 1]
        if before.count('"') % 2 or any(before.count(a) > before.count(b) for a, b in _QUOTES):
            continue
        if match.group()[0] in "。！？" or not (_BEFORE_ANY.search(head) or _BEFORE_NUMBER.search(head)):
            cuts.append(end)
    return cuts


def _with_cuts(pieces: list[tuple[int, int]], cuts: list[int]) -> list[tuple[int, int]]:
    """The pieces, cut again at these places."""
    if not cuts:
        return pieces
    edges = sorted({edge for piece in pieces for edge in piece} | set(cuts))
    return list(pairwise(edges))


def _trimmed(text: str, pieces: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Ranges without surrounding white space; what holds no letter or digit goes to the sentence before."""
    sentences: list[tuple[int, int]] = []
    for start, end in pieces:
        piece = text[start:end]
        body = piece.strip()
        if not body:
            continue
        start += len(piece) - len(piece.lstrip())
        end = start + len(body)
        if sentences and not any(map(str.isalnum, body)):
            sentences[-1] = (sentences[-1][0], end)
        else:
            sentences.append((start, end))
    return sentences
